"""How fast the web environments are: steps, resets and requests in process, and what they leave behind.

    python benchmarks/speed/web_speed.py [--episodes 1000]

prints one JSON line a measurement. Times are CPU time of this process, but for the request's, which is wall
time.
"""

from __future__ import annotations

import argparse
import gc
import http.client
import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pixelis.envs.check.playing import play
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.dom.document import served_page
from pixelis.envs.web.families.family import families, open_session
from pixelis.envs.web.sites.levels import DIALS
from pixelis.envs.web.sites.server import COOKIE, SiteServer

PLAIN = {"difficulty": 5, **dict.fromkeys(DIALS, 0)}


def shop(controls: int) -> WebBrowseEnv:
    """Return a shop whose search results hold this many controls, its episode begun."""
    env = WebBrowseEnv(family="shop", max_turns=10**9)
    env.reset(seed=1, options={"difficulty": PLAIN})
    assert env.task is not None  # reset() has set it
    for per_page in range(1, 60):
        task = env.task.to_json()
        task["data"] = {**task["data"], "data": {**task["data"]["data"], "per_page": per_page}}
        env.reset(options={"task": task})
        env.step(write(("GOTO", {"path": "/search"})))
        if sum(1 for _ in env.workspace.snapshot.controls()) >= controls:
            return env
    raise RuntimeError(f"no page has {controls} controls")


def shop_actions(env: WebBrowseEnv) -> Iterator[str]:
    """Yield eight turns on the results: load, type a search, scroll, two filters, a product, back, wait."""
    yield write(("GOTO", {"path": "/search?sort=Price+up"}))
    window = env.workspace.window
    shown = [
        (str(env.workspace.ids.shown_id(piece.key)), piece)
        for line in env.workspace.snapshot.lines[window.first : window.after]
        for piece in line.pieces
        if not isinstance(piece, str)
    ]
    fields = [shown_id for shown_id, control in shown if control.role == "textbox"]
    links = [shown_id for shown_id, control in shown if control.role == "link"]
    yield write(("TYPE", {"id": fields[0], "text": "blue"}))
    yield write(("SCROLL", {"direction": "down"}))
    yield write(("TYPE", {"id": fields[1], "text": "50"}))
    yield write(("TYPE", {"id": fields[2], "text": "3"}))
    yield write(("CLICK", {"id": links[-1]}))
    yield write(("BACK", {}))
    yield write(("WAIT", {}))


def steps_per_second(rounds: int, *, remembered: bool) -> dict[str, Any]:
    """Measure steps with the observation text on a page of 108 controls.

    ``remembered``: whether a page that comes again with the same text is parsed once, as it is in use.
    """
    env = shop(108)
    count = sum(1 for _ in env.workspace.snapshot.controls())
    steps, start = 0, time.process_time()
    for _ in range(rounds):
        for action in shop_actions(env):
            if not remembered:
                served_page.cache_clear()
            info = env.step(action)[4]
            assert info["tool_calls"][0]["ok"], info["tool_calls"][0]["text"]
            steps += 1
    seconds = time.process_time() - start
    what = "dom_steps" if remembered else "dom_steps_every_page_new"
    return {"what": what, "controls": count, "steps": steps, "steps_per_second": round(steps / seconds)}


def reset_milliseconds(rounds: int) -> Iterator[dict[str, Any]]:
    """Measure resets of every family and difficulty with its usual dials."""
    env = WebBrowseEnv()
    for family in families():
        for difficulty in range(6):
            times = []
            for seed in range(rounds):
                start = time.process_time()
                env.reset(seed=seed, options={"family": family, "difficulty": difficulty})
                times.append((time.process_time() - start) * 1e3)
            yield {
                "what": "dom_reset",
                "family": family,
                "difficulty": difficulty,
                "milliseconds": round(statistics.fmean(times), 2),
                "median": round(statistics.median(times), 2),
            }


def request_milliseconds(count: int) -> dict[str, Any]:
    """Measure requests to the loopback server over one connection that is kept alive."""
    env = shop(108)
    with SiteServer() as server:
        session = open_session(env.workspace.level)
        cookie = f"{COOKIE}={server.add(session)}"
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"))
        times = []
        for _ in range(count):
            start = time.perf_counter()
            connection.request("GET", "/cart", headers={"Cookie": cookie})
            response = connection.getresponse()
            response.read()
            times.append((time.perf_counter() - start) * 1e3)
            assert response.status == 200
        connection.close()
    return {"what": "http_request", "requests": count, "milliseconds": round(statistics.median(times), 3)}


def growth(episodes: int) -> dict[str, Any]:
    """Play episodes with the oracle; compare memory, threads and open files after a tenth and at the end."""
    env = WebBrowseEnv()
    first: tuple[int, int, int] | None = None
    for seed in range(episodes):
        play(env, env.players()["oracle"](env), seed, {"difficulty": seed % 6})
        if seed == episodes // 10:
            first = _resources()
    last = _resources()
    assert first is not None  # there is at least one episode
    names = ("kilobytes", "threads", "open_files")
    grown = {f"{name}_grown": now - then for name, now, then in zip(names, last, first, strict=True)}
    return {"what": "growth", "episodes": episodes, **grown}


def _resources() -> tuple[int, int, int]:
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]), int(status["Threads"]), len(os.listdir("/proc/self/fd"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the web environments.")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of eight steps (default 60)")
    parser.add_argument("--episodes", type=int, default=1_000, help="episodes of the growth test")
    options = parser.parse_args(arguments)
    steps_per_second(5, remembered=True)  # compiles templates
    print(json.dumps(steps_per_second(options.rounds, remembered=True)))
    print(json.dumps(steps_per_second(options.rounds, remembered=False)))
    for line in reset_milliseconds(options.rounds):
        print(json.dumps(line))
    print(json.dumps(request_milliseconds(20 * options.rounds)))
    print(json.dumps(growth(options.episodes)))


if __name__ == "__main__":
    main()
