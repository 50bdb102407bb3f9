r"""How fast the real browser is, on a site of ours and on a MiniWoB++ task, and BrowserGym beside it.

    python benchmarks/speed/web_chromium_speed.py [--count 60]
    python benchmarks/speed/web_chromium_speed.py --browsergym FOLDER
    python benchmarks/speed/web_chromium_speed.py --episodes 1000

prints one JSON line a measurement, milliseconds of wall time. FOLDER holds BrowserGym and what it needs,
installed with

    pip install --no-deps --target FOLDER browsergym-core==0.14.3 browsergym-miniwob==0.14.3 \
        beautifulsoup4 soupsieve 'lxml<6' pyparsing

Without it only our own part is measured. BrowserGym is measured with its settings, and with its sleeps off
(`slow_mo=0`, no wait before observations). With `--episodes` nothing is timed: so many episodes of a site of
ours are begun, with three steps each, and what they leave behind is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.chromium.backend import ChromiumBackend
from pixelis.envs.web.chromium.browser import close_shared_browser
from pixelis.envs.web.chromium.browser_files import find_chromium
from pixelis.envs.web.families.family import open_session
from pixelis.envs.web.miniwob.env import MiniWoBEnv, miniwob_server
from pixelis.envs.web.page.backend import Click, Wait

TASK = "click-checkboxes"
WAIT = '<tool_call>{"name": "CLICK", "arguments": {"id": "%s"}}</tool_call>'


def report(what: str, times: list[float]) -> float:
    """Print and return the median of times in seconds."""
    median = statistics.median(times)
    worst = sorted(times)[int(0.9 * len(times))]
    row = {
        "what": what,
        "n": len(times),
        "median_ms": round(median * 1e3, 1),
        "p90_ms": round(worst * 1e3, 1),
    }
    print(json.dumps({**row, "load": round(os.getloadavg()[0], 1)}), flush=True)
    return median


def timed(work: Callable[[int], object], count: int) -> list[float]:
    """Return how long each of ``count`` calls took, after three that are not counted."""
    times = []
    for number in range(-3, count):
        start = time.perf_counter()
        work(number)
        if number >= 0:
            times.append(time.perf_counter() - start)
    return times


def our_site(count: int) -> None:
    """Measure a site of ours: a reset, a step that stays on the page, one that loads another."""
    plain = WebBrowseEnv(family="shop")
    plain.reset(seed=1)
    level = plain.workspace.level
    backend = ChromiumBackend()
    report("site_reset", timed(lambda _: backend.open(open_session(level)), count))
    page = backend.open(open_session(level))
    report("site_step_on_the_page", timed(lambda _: backend.act(Wait()), count))

    def follow(_: int) -> None:
        nonlocal page
        page = backend.act(Click(next(one.key for one in page.controls() if one.role == "link")))

    report("site_step_that_loads", timed(follow, count))
    backend.close()


def growth(episodes: int) -> dict[str, Any]:
    """Compare memory and number of all processes, and threads of this one, in the first and the last fifth.

    The most of each counts: memory rises and falls with collections and with each new page
    (``EPISODES_A_PAGE``).
    """
    env = WebBrowseEnv(backend="chromium", max_turns=50)
    samples: list[tuple[int, int, int]] = []
    start = time.process_time()
    for seed in range(episodes):
        observation, info = env.reset(seed=seed, options={"difficulty": seed % 3})
        oracle = env.players()["oracle"](env)
        for _ in range(3):
            observation, _, terminated, truncated, info = env.step(oracle.act(observation, info))
            if terminated or truncated:
                break
        if seed % max(1, episodes // 50) == 0:
            samples.append(_resources())
    fifth = max(1, len(samples) // 5)
    first, last = (
        [max(one) for one in zip(*part, strict=True)] for part in (samples[:fifth], samples[-fifth:])
    )
    names = ("proportional_kilobytes", "processes", "threads")
    before = {f"{name}_in_the_first_fifth": then for name, then in zip(names, first, strict=True)}
    grown = {f"{name}_grown": now - then for name, now, then in zip(names, last, first, strict=True)}
    env.close()
    seconds = round(time.process_time() - start, 1)
    return {"what": "growth", "episodes": episodes, **before, **grown, "own_cpu_seconds": seconds}


def _resources() -> tuple[int, int, int]:
    gc.collect()
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    ours, found = {os.getpid()}, True
    while found:
        found = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= found
    kilobytes = 0
    for pid in ours:
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1])
    return kilobytes, len(ours), threading.active_count()


def our_miniwob(count: int) -> float:
    """Measure a MiniWoB++ task through the environment, mouse and text included; return seconds a step."""
    env = MiniWoBEnv(task=TASK, max_turns=10**6)
    report("miniwob_reset", timed(lambda number: env.reset(seed=abs(number)), max(10, count // 3)))
    env.reset(seed=0)
    step = report("miniwob_step", timed(lambda _: env.step(WAIT % "e1@v1"), count))
    env.close()
    return step


def browsergym_step(count: int, sleeps: bool) -> float:
    """Measure BrowserGym on the same task; return seconds a step."""
    import browsergym.miniwob  # noqa: F401  # pyright: ignore[reportMissingImports]
    import gymnasium as gym
    from playwright.sync_api import BrowserType

    launch = BrowserType.launch  # its chat opens a second browser, which takes no path
    path = str(find_chromium())
    BrowserType.launch = lambda self, **given: launch(self, **{"executable_path": path, **given})  # type: ignore[method-assign]
    settings: dict[str, Any] = {}
    if not sleeps:
        settings |= {"slow_mo": 0, "pre_observation_delay": 0.0}
    env = gym.make(f"browsergym/miniwob.{TASK}", **settings)
    name = "browsergym" if sleeps else "browsergym_no_sleeps"
    observation: Any = None

    def reset(number: int) -> None:
        nonlocal observation
        observation, _ = env.reset(seed=abs(number))

    start = time.perf_counter()
    reset(0)
    report(f"{name}_reset", [time.perf_counter() - start])
    boxes = [bid for bid, one in observation["extra_element_properties"].items() if one.get("clickable")]
    step = report(f"{name}_step", timed(lambda _: env.step(f"click('{boxes[0]}')"), count))
    env.close()
    BrowserType.launch = launch  # type: ignore[method-assign]
    return step


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the real browser.")
    parser.add_argument("--count", type=int, default=60, help="calls a measurement (default 60)")
    parser.add_argument("--browsergym", help="folder with BrowserGym, to compare with")
    parser.add_argument("--episodes", type=int, default=0, help="count what so many episodes leave behind")
    options = parser.parse_args(arguments)
    if options.episodes:
        print(json.dumps(growth(options.episodes)), flush=True)
        close_shared_browser()
        return
    if not options.browsergym:
        our_site(options.count)
    ours = our_miniwob(options.count)
    close_shared_browser()
    if options.browsergym:
        os.environ["MINIWOB_URL"] = f"http://{miniwob_server().host}/miniwob/"
        sys.path.append(options.browsergym)
        for sleeps in (True, False):
            theirs = browsergym_step(6 if sleeps else 15, sleeps)
            print(json.dumps({"what": "times_as_fast", "sleeps": sleeps, "ratio": round(theirs / ours, 1)}))


if __name__ == "__main__":
    main()
