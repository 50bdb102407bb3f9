"""Make the monitor's pictures in the docs from real runs: docs/images/monitor_*.png.

Usage: python scripts/draw_monitor.py RUNS [--run NAME] [--output FOLDER]

RUNS is a folder of runs, NAME the one that is shown (by default the newest); the pictures are taken in a
headless Chromium, 1280 units wide.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode
from urllib.request import urlopen

from pixelis.envs.web.chromium.browser import Browser

ROOT = Path(__file__).parents[1]
VIEWS: dict[str, tuple[str, Literal["light", "dark"], str]] = {
    "curves": ("Curves", "light", ".card canvas"),
    "episode": ("Episodes", "dark", ".episode"),
}
"""Picture → tab, colours, what must be there."""


def main() -> None:
    """Serve the runs, look at them, end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs")
    parser.add_argument("--run", default="")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", given.runs, "--port", str(port)]
    process, browser = subprocess.Popen(words), Browser()
    try:
        _wait(f"http://127.0.0.1:{port}/")
        for name, (tab, scheme, there) in VIEWS.items():
            asked = urlencode({"tab": tab, "runs": given.run})
            path = given.output / f"monitor_{name}.png"
            browser.run(_take(browser, f"127.0.0.1:{port}", asked, scheme, there, path), 120)
            print(f"{path.name}: written")
    finally:
        browser.close()
        process.terminate()
        process.wait(30)


async def _take(
    browser: Browser, host: str, asked: str, scheme: Literal["light", "dark"], there: str, path: Path
) -> None:
    size = {"width": 1280, "height": 800}
    context = await browser.new_context((host,), viewport=size, color_scheme=scheme)
    page = await context.new_page()
    await page.goto(f"http://{host}/?{asked}")
    await page.locator(there).first.wait_for()
    await page.wait_for_timeout(1_500)
    await page.screenshot(path=path)
    await context.close()


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
