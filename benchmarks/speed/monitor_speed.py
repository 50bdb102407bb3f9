"""The live monitor in a real Chromium on a long run: ``python benchmarks/speed/monitor_speed.py``.

Writes a run of 100,000 steps into a temporary folder (rows of about a hundred metrics, and a file of four
episodes every ten steps, as training writes them), starts ``pixelis monitor`` on it as a process of its own,
opens the tab of curves in a headless Chromium without a network, and measures: until the charts are drawn;
until the whole file has been read; with rows being added, from the button *refresh* to the drawn frame, there
and on the tab of episodes; and until each of the other tabs shows something. Memory is the process's largest.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from pixelis.envs.web.chromium.browser import Browser
from pixelis.monitor.app.page import TAB_NAMES

TARGETS = {"open_seconds": 2.0, "refresh_ms": 300.0}
METRICS = 96
EVERY = 10
"""Steps between two files of episodes."""
SHOWN = {"Runs": ".run-table td", "Episodes": ".episode"}
"""What a tab shows when it is there; the others show charts."""
_DRAWN = "document.querySelectorAll('.card canvas').length >= 3"
_REFRESH = """async () => {
  const told = document.querySelector("[role=status]"), before = told.textContent;
  const start = performance.now();
  const changed = new Promise((done) => {
    const seen = () => { if (told.textContent !== before) { watch.disconnect(); done(); } };
    const watch = new MutationObserver(seen);
    watch.observe(told, {childList: true, characterData: true, subtree: true});
  });
  [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === 'refresh').click();
  await changed;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - start;
}"""


def row_of(step: int, steps: int, generator: random.Random) -> dict[str, float]:
    """Return the metrics of a step: a success that rises, an entropy that falls, and many more."""
    share = step / steps
    row = {
        "step": step,
        "success/rate": min(max(0.9 * share + generator.gauss(0, 0.08), 0.0), 1.0),
        "reward/mean": share + generator.gauss(0, 0.1),
        "policy/entropy": 1.5 * math.exp(-2 * share) + generator.gauss(0, 0.05),
        "completion/mean": 25 + generator.gauss(0, 3),
        "turns/mean": 2.5,
        "episodes/count": 64,
        "tokens/sampled": 1_500,
        "time/elapsed": 3.0 * step,
        "reward_parts/task/weighted": share,
        "reward_parts/penalty/weighted": -0.1,
        "actions/ZOOM": 0.5,
        "groups/filter_rate": 0.25,
        "levels/difficulty=1/success": share,
    }
    return row | {f"more/metric{number}": generator.random() for number in range(METRICS - len(row))}


def write_run(folder: Path, steps: int) -> Path:
    """Write a run; return its metrics file."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"env: Pixelis/ZoomRead-v0\nmodel: long\nsteps: {steps}\n")
    generator, path = random.Random(0), folder / "metrics.jsonl"
    with path.open("w") as file:
        for step in range(1, steps + 1):
            file.write(json.dumps(row_of(step, steps, generator)) + "\n")
    (folder / "trajectories").mkdir()
    turn = {"action": "look", "heard": "nothing", "calls": 0, "sampled": [["look", -0.5, 0.7]]}
    row = {"group": 0, "reward": 0.5, "success": True, "asked": "Which?", "exchanges": [turn] * 3}
    for step in range(EVERY, steps + 1, EVERY):
        rows = (json.dumps(row | {"seed": step, "member": member}) + "\n" for member in range(4))
        (folder / "trajectories" / f"step-{step:08d}.jsonl").write_text("".join(rows))
    return path


@contextmanager
def monitor(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve a folder; yield the address and the process."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", str(folder), "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/"
        deadline = time.monotonic() + 60
        while True:
            try:
                urlopen(address, timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the monitor did not start") from None
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(30)


async def measure(browser: Browser, address: str, path: Path, repeats: int) -> dict[str, Any]:
    """Return seconds to open the curves, to have read all, and milliseconds of refreshes."""
    host = address.split("/")[2]
    context = await browser.new_context((host,), viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    foreign: list[str] = []
    page.on(
        "request",
        lambda r: None if host in r.url or r.url[:5] in ("data:", "blob:") else foreign.append(r.url),
    )
    opened = []
    start = time.perf_counter()
    for _ in range(3):
        begun = time.perf_counter()
        await page.goto(f"{address}?{urlencode({'tab': 'Curves'})}")
        await page.wait_for_function(_DRAWN)
        opened.append(time.perf_counter() - begun)
    await page.wait_for_function(
        "!document.querySelector('[role=status]').textContent.includes('% of')", timeout=0
    )
    read = time.perf_counter() - start
    # Else the page may have shown the new row by itself, and nothing changes when it is asked to refresh.
    await page.locator(".q-toggle").first.click()
    refreshes, generator, step = [], random.Random(1), sum(1 for _ in path.open("rb"))
    for _ in range(repeats):
        with path.open("a") as file:
            step += 1
            file.write(json.dumps(row_of(step, step, generator)) + "\n")
        await asyncio.sleep(2.2)
        refreshes.append(await page.evaluate(_REFRESH))
    tabs = {}
    for tab in TAB_NAMES:
        begun = time.perf_counter()
        await page.goto(f"{address}?{urlencode({'tab': tab})}")
        await page.locator(SHOWN.get(tab, ".card canvas")).first.wait_for()
        tabs[tab] = round(time.perf_counter() - begun, 2)
    episodes = []
    for _ in range(repeats):
        await asyncio.sleep(1.1)  # the time of day that the page tells is another one
        episodes.append(await page.evaluate(_REFRESH))
    await context.close()
    return {
        "first_open_seconds": round(opened[0], 2),
        "open_seconds": round(statistics.median(opened[1:]), 2),
        "all_read_seconds": round(read, 1),
        "refresh_ms": round(statistics.median(refreshes)),
        "refresh_ms_worst": round(max(refreshes)),
        "open_tab_seconds": tabs,
        "refresh_episodes_ms": round(statistics.median(episodes)),
        "foreign_requests": len(foreign),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=10, help="refreshes that are measured")
    parser.add_argument("--output", help="also write the numbers to this JSON file")
    given = parser.parse_args()
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        path = write_run(Path(folder) / "runs" / "long", given.steps)
        with monitor(path.parents[1]) as (address, process):
            found = browser.run(measure(browser, address, path, given.repeats), 600)
            status = Path(f"/proc/{process}/status")
            if status.exists():
                lines = status.read_text().splitlines()
                found["largest_mb"] = next(int(x.split()[1]) // 1024 for x in lines if x.startswith("VmHWM"))
        found["steps"], found["file_mb"] = given.steps, path.stat().st_size >> 20
    browser.close()
    print(json.dumps(found, indent=1))
    print(", ".join(f"{name} {found[name]} (target {target})" for name, target in TARGETS.items()))
    if given.output:
        Path(given.output).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
