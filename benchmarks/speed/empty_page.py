"""How long NiceGUI and Gradio take to serve an empty page, and their memory, each in a process of its own.

Usage: python benchmarks/speed/empty_page.py [--python PATH] [--rounds 5] [--output FILE]

Those of the two that ``--python`` has installed are measured, by turns: from the start of the process until
the page comes, and what the process then holds of the machine's memory. Medians of the rounds are told.
Gradio and this repository's lock want different versions of pillow, so it needs an environment of its own:
``python -m venv gradio; gradio/bin/pip install gradio nicegui``, then ``--python gradio/bin/python``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil

PAGES = {
    "nicegui": """
import sys
from nicegui import ui
@ui.page("/")
def page():
    ui.label("empty")
ui.run(host="127.0.0.1", port=int(sys.argv[1]), show=False, reload=False)
""",
    "gradio": """
import sys
import gradio
with gradio.Blocks() as page:
    gradio.Markdown("empty")
page.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]))
""",
}
VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
START_SECONDS = 120.0
"""How long a page may take to come."""


def version_of(python: str, name: str) -> str | None:
    """Return the version of a package that an interpreter has, None where it has none."""
    done = subprocess.run([python, "-c", VERSION, name], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def served(python: str, code: str) -> tuple[float, float]:
    """Return the seconds until the page came, and the megabytes that its process then has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [python, "-c", code, str(port)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"},
    )
    try:
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
                return time.perf_counter() - begun, psutil.Process(process.pid).memory_info().rss / 2**20
            except OSError:
                if process.poll() is not None or time.perf_counter() - begun > START_SECONDS:
                    raise SystemExit("the page did not come") from None
                time.sleep(0.02)
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter whose packages are measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    given = parser.parse_args()
    versions = {name: version for name in PAGES if (version := version_of(given.python, name))}
    rounds = [{name: served(given.python, PAGES[name]) for name in versions} for _ in range(given.rounds)]
    found: dict[str, dict[str, Any]] = {}
    for name, version in versions.items():
        seconds, megabytes = zip(*(each[name] for each in rounds), strict=True)
        found[name] = {
            "version": version,
            "seconds": round(statistics.median(seconds), 2),
            "seconds_range": [round(min(seconds), 2), round(max(seconds), 2)],
            "megabytes": round(statistics.median(megabytes)),
        }
    print(json.dumps(found, indent=1))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
