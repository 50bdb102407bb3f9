"""The real command serving a folder, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from pixelis.envs.web.chromium.browser import Browser


@dataclass(frozen=True)
class Server:
    """A monitor.

    Attributes:
        address: of its page, without a slash at the end.
        process: its number.
    """

    address: str
    process: int


Served = Callable[[Path], Server]
Visit = Callable[..., Any]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve a folder by ``pixelis monitor``, end it by Ctrl-C, and hold it to saying nothing of an error."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", str(folder), "--port", str(port)]
    # NiceGUI would take a server that a test starts for one of its own tests
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=outside
    )
    base, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while True:
            try:
                urlopen(base, timeout=30).close()
                break
            except OSError:
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.2)
        yield Server(base, process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert "Traceback" not in said, said


def visited(
    browser: Browser,
    address: str,
    work: Callable[[Any], Any],
    width: int = 1280,
    scheme: str = "light",
    **asked: str,
) -> Any:
    """Open the page, do the work on it, and hold it to what must never happen."""
    host = address.removeprefix("http://")

    async def go() -> Any:
        context = await browser.new_context(
            (host,), viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        page = await context.new_page()
        foreign, errors = [], []
        ours = (f"{address}/", "data:", "blob:")
        page.on("request", lambda one: None if one.url.startswith(ours) else foreign.append(one.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        try:
            await page.goto(f"{address}/?{urlencode(asked)}")
            await page.get_by_role("status").filter(has_text="runs").wait_for(timeout=60_000)
            found = await work(page)
            assert not await page.evaluate("window.hurt")
        finally:
            await context.close()
        assert (foreign, errors) == ([], [])
        return found

    return browser.run(go(), 150)
