"""Make the docs' pictures of looking at runs: docs/images/monitor_*.png and look_*.png.

Usage: python scripts/draw_looking.py RUNS [--runs NAMES] [--played FILE] [--failed NAME] [--pictures NAMES]
                                      [--output FOLDER]

RUNS is a folder of real runs. NAMES, with commas between, are those that are shown (by default the newest);
episodes, the replayed page and the report are of the first, alarms of the run --failed. The pictures are
taken in a headless Chromium.
``--pictures every`` takes each tab wide and narrow, light and dark, for the eyes alone.
"""

from __future__ import annotations

import argparse
import io
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlencode
from urllib.request import urlopen

from PIL import Image

from pixelis.envs.web.chromium.browser import Browser

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class View:
    """A picture: a tab of the monitor or a page, its colours, the width, and how much height is kept.

    Attributes:
        failed: whether it is of the run that failed.
    """

    what: str
    scheme: Literal["light", "dark"] = "light"
    width: int = 1280
    height: int = 900
    failed: bool = False


TABS = ("Runs", "Curves", "Reward", "Tools", "Groups", "Health", "Levels", "Episodes")
PAGES = {
    "replay": "replay {run} --html {page} --file before --diff {run}/trajectories/evaluation-after.jsonl",
    "report": "analyze {run} --output {folder}",
}
"""Page → the command that writes it."""
VIEWS = {
    "monitor_curves": View("Curves", height=800),
    "monitor_alarm": View("Curves", height=800, failed=True),
    "monitor_groups": View("Groups", "dark", height=700),
    "monitor_episode": View("Episodes", height=1400),
    "monitor_curves_narrow": View("Curves", "dark", 390, 1000),
    "monitor_episode_narrow": View("Episodes", "light", 390, 1000),
    "look_replay": View("replay", "light", 1280, 1700),
    "look_replay_narrow": View("replay", "dark", 390, 1000),
    "look_report": View("report", "light", 1280, 1300),
}
EVERY = {
    f"{what.lower()}_{width}_{scheme}": View(what, scheme, width, 2_000)
    for what in (*TABS, *PAGES)
    for width in (1280, 390)
    for scheme in ("light", "dark")
}
THERE = {"Runs": ".run-table", "Episodes": ".episode"} | dict.fromkeys(PAGES, "body")
"""What must be there before a picture is taken; a chart on the other tabs."""


def main() -> None:
    """Serve the runs, write the pages, look at them, end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="RUNS", type=Path)
    parser.add_argument("--runs", default="")
    parser.add_argument("--played", default="", help="file of episodes, such as step-00000010")
    parser.add_argument("--failed", default="", help="run of the picture of alarms; none: it is not made")
    parser.add_argument("--pictures", default=",".join(VIEWS))
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    views = EVERY if given.pictures == "every" else {name: VIEWS[name] for name in given.pictures.split(",")}
    runs = given.runs.split(",")
    with TemporaryDirectory() as place, _monitor(given.folder) as address:
        browser = Browser()
        pages = {view.what for view in views.values()} & set(PAGES)
        written = {what: _written(what, given.folder / runs[0], Path(place)) for what in pages}
        for name, view in views.items():
            if view.failed and not given.failed:
                continue
            shown = [given.failed] if view.failed else runs[:1] if view.what == "Episodes" else runs
            asked = urlencode({"tab": view.what, "runs": "\n".join(shown), "played": given.played})
            work = _take(browser, written.get(view.what, f"{address}?{asked}"), view)
            (given.output / f"{name}.png").write_bytes(_cut(browser.run(work, 120), view.height))
            print(f"{name}.png: written")
        browser.close()


@contextmanager
def _monitor(folder: Path) -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", str(folder), "--port", str(port)]
    process = subprocess.Popen(words)
    try:
        _wait(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(30)


def _written(what: str, run: Path, folder: Path) -> str:
    """Write a page and return its address."""
    page = folder / f"{what}.html"
    words = PAGES[what].split()
    subprocess.run(
        [sys.executable, "-m", "pixelis"]
        + [word.format(run=run, page=page, folder=folder) for word in words],
        check=True,
    )
    return page.as_uri()


async def _take(browser: Browser, address: str, view: View) -> bytes:
    window = {"width": view.width, "height": 900}
    context = await browser.new_context((address.split("/")[2],), viewport=window, color_scheme=view.scheme)
    page = await context.new_page()
    await page.goto(address)
    await page.locator(THERE.get(view.what, ".card canvas")).first.wait_for()
    side_by_side = page.get_by_role("button", name="its group side by side")
    if await side_by_side.count():
        await side_by_side.click()
    await page.wait_for_timeout(2_000)  # pictures are fetched, charts drawn
    data = await page.screenshot(full_page=True)
    await context.close()
    return data


def _cut(data: bytes, height: int) -> bytes:
    """Return the upper part of a picture, in 256 colours: the docs need no more."""
    whole = Image.open(io.BytesIO(data)).convert("RGB")
    part = whole.crop((0, 0, whole.width, min(height, whole.height)))
    small = part.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
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
