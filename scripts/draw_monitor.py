"""Make the monitor's pictures in the docs from real runs: docs/images/monitor_*.png.

Usage: python scripts/draw_monitor.py RUNS [--run NAME] [--played FILE] [--views NAMES] [--output FOLDER]

RUNS is a folder of runs, NAME the one that is shown (by default the newest); the pictures are taken in a
headless Chromium. ``--views every`` takes each tab wide and narrow, light and dark, for the eyes alone.
"""

from __future__ import annotations

import argparse
import io
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode
from urllib.request import urlopen

from PIL import Image

from pixelis.envs.web.chromium.browser import Browser

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class View:
    """A picture: a tab, its colours, the browser's width and how much of the height is kept."""

    tab: str
    scheme: Literal["light", "dark"]
    width: int
    height: int


VIEWS = {
    "curves": View("Curves", "light", 1280, 900),
    "groups": View("Groups", "dark", 1280, 900),
    "episode": View("Episodes", "light", 1280, 1240),
    "curves_narrow": View("Curves", "dark", 390, 1000),
    "episode_narrow": View("Episodes", "light", 390, 1000),
}
TABS = ("Runs", "Curves", "Reward", "Tools", "Groups", "Health", "Levels", "Episodes")
EVERY = {
    f"{tab.lower()}_{width}_{scheme}": View(tab, scheme, width, 2_000)
    for tab in TABS
    for width in (1280, 390)
    for scheme in ("light", "dark")
}
THERE = {"Runs": ".run-table", "Episodes": ".episode"}
"""Tab → what must be there; a chart for the others."""


def main() -> None:
    """Serve the runs, look at them, end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs")
    parser.add_argument("--run", default="")
    parser.add_argument("--views", default=",".join(VIEWS), help="which pictures")
    parser.add_argument("--played", default="", help="file of episodes, such as step-00000010")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", given.runs, "--port", str(port)]
    process, browser = subprocess.Popen(words), Browser()
    try:
        _wait(f"http://127.0.0.1:{port}/")
        views = EVERY if given.views == "every" else {name: VIEWS[name] for name in given.views.split(",")}
        for name, view in views.items():
            asked = urlencode({"tab": view.tab, "runs": given.run, "played": given.played})
            path = given.output / f"monitor_{name}.png"
            work = _take(browser, f"http://127.0.0.1:{port}/?{asked}", view)
            path.write_bytes(_cut(browser.run(work, 120), view.height))
            print(f"{path.name}: written")
    finally:
        browser.close()
        process.terminate()
        process.wait(30)


async def _take(browser: Browser, address: str, view: View) -> bytes:
    window = {"width": view.width, "height": 900}
    context = await browser.new_context((address.split("/")[2],), viewport=window, color_scheme=view.scheme)
    page = await context.new_page()
    await page.goto(address)
    await page.locator(THERE.get(view.tab, ".card canvas")).first.wait_for()
    side_by_side = page.get_by_role("button", name="its group side by side")
    if await side_by_side.count():
        await side_by_side.click()
    await page.wait_for_timeout(2_000)  # pictures are fetched, charts drawn
    data = await page.screenshot(full_page=True)
    await context.close()
    return data


def _cut(data: bytes, height: int) -> bytes:
    """Return the upper part of a picture, in few colours: the docs need no more."""
    whole = Image.open(io.BytesIO(data)).convert("RGB")
    small = whole.crop((0, 0, whole.width, min(height, whole.height))).quantize(192)
    found = io.BytesIO()
    small.save(found, "PNG", optimize=True)
    return found.getvalue()


def _wait(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urlopen(address, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise SystemExit("the monitor did not start") from None
            time.sleep(0.2)


if __name__ == "__main__":
    main()
