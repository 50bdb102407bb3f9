"""One Chromium for a process: started on first use, on its own thread, and again when it has died."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import socket
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pixelis.envs.web.chromium.browser_files import check_playwright, find_chromium
from pixelis.envs.web.chromium.clipboard import Clipboard
from pixelis.envs.web.page.backend import BackendFailure
from pixelis.errors import BrowserUnavailableError

if TYPE_CHECKING:
    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, Playwright

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

FLAGS = (
    "--no-sandbox",  # containers rarely allow it; pages of strangers belong into a container
    "--disable-gpu",
    "--disable-partial-raster",  # else rounded corners differ by what was painted there before
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
START_SECONDS = 60.0
_CLOSE_SECONDS = 20.0  # a busy machine takes a while; a dead browser is noticed at once


class Browser:
    """Playwright and one Chromium, driven from a thread with its own event loop.

    Playwright's objects belong to the loop they were made in, so everything is done there: ``run`` hands a
    coroutine over and waits. Threads of the process may share one ``Browser``. A process that is
    forked from it has not its thread, and would disturb its connection: it is refused.

    No page reaches the network by itself. Every context gets a proxy at which nobody listens, and a list of
    hosts that go around it; the browser's network process keeps to that whatever a page does.

    Attributes:
        clipboard: all pages share it: it is lent to one at a time.
    """

    def __init__(self) -> None:
        check_playwright()
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._playwright: Playwright | None = None
        self._chromium: PlaywrightBrowser | None = None
        self._nobody = socket.socket()  # bound and never listening: connections to it are refused
        self._nobody.bind(("127.0.0.1", 0))
        self._starting: asyncio.Lock | None = None
        self.clipboard = Clipboard(self.new_context)
        self._thread = threading.Thread(target=self._loop.run_forever, name="pixelis-browser", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout_seconds: float) -> T:
        """Return what ``work`` returns, done on the browser's thread.

        Raises:
            BackendFailure: it took longer than ``timeout_seconds``, the browser is gone, or it is that of the
                process that this one was forked from.
            Exception: whatever else ``work`` raises.
        """
        from playwright.async_api import Error

        if self._process != os.getpid() or self._loop.is_closed():
            work.close()
            raise BackendFailure("the browser is closed, or another process's; reset opens another page")
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_seconds), self._loop)
        try:
            return future.result(timeout_seconds + _CLOSE_SECONDS)
        except (TimeoutError, asyncio.TimeoutError):
            future.cancel()
            raise BackendFailure(f"the browser did not answer within {timeout_seconds:g} s") from None
        except Error as error:
            raise BackendFailure(f"the browser failed: {str(error).splitlines()[0]}") from None
        except KeyboardInterrupt:  # else it would go on beside whatever is asked for next
            future.cancel()
            raise

    async def new_context(self, hosts: tuple[str, ...], **options: Any) -> BrowserContext:
        """Return a new context (cookies and storage of its own) that reaches ``hosts`` and nothing else.

        Args:
            hosts: ``host``, ``host:port`` or ``*.host``; ``*`` for any.
            options: for Playwright's ``new_context``.
        """
        from playwright.async_api import Error

        if "*" not in hosts:
            server = f"http://127.0.0.1:{self._nobody.getsockname()[1]}"
            options["proxy"] = {"server": server, "bypass": ",".join(hosts) or "nowhere.invalid"}
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            try:
                return await (await self._running()).new_context(**options)
            except Error as error:
                _LOG.warning("the browser is started again: %s", str(error).splitlines()[0])
                await self._stop()
                return await (await self._running()).new_context(**options)

    async def pid(self) -> int:
        """Return the process id of the browser."""
        session = await (await self._running()).new_browser_cdp_session()
        processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        await session.detach()
        return next(one["id"] for one in processes if one["type"] == "browser")

    def close(self) -> None:
        """End the browser and its thread; a second call, or one in a forked process, does nothing."""
        if self._process != os.getpid() or self._loop.is_closed():
            return
        try:
            self.run(self._stop(), _CLOSE_SECONDS)
        except BackendFailure as failure:
            _LOG.warning("%s", failure)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()
        self._nobody.close()

    # ------------------------------------------------------------------ on the thread

    async def _running(self) -> PlaywrightBrowser:
        if self._chromium is not None and not self._chromium.is_connected():
            await self._stop()
        if self._chromium is None:
            await self._start()
        assert self._chromium is not None  # _start() has set it or raised
        return self._chromium

    async def _start(self) -> None:
        from playwright.async_api import Error, async_playwright

        self._playwright = await async_playwright().start()
        executable: Path | None = None
        try:
            executable = find_chromium(self._playwright.chromium.executable_path)
            self._chromium = await self._playwright.chromium.launch(
                executable_path=executable, args=list(FLAGS), timeout=1000 * START_SECONDS
            )
        except BrowserUnavailableError:
            await self._stop()
            raise
        except Error as error:
            await self._stop()
            reason = str(error).splitlines()[0]
            raise BrowserUnavailableError(
                f"{executable} could not be started as a headless Chromium ({reason}); "
                "see that it runs on this machine, or install another"
            ) from None

    async def _stop(self) -> None:
        chromium, playwright = self._chromium, self._playwright
        self._chromium = self._playwright = None
        for part in (chromium.close if chromium else None, playwright.stop if playwright else None):
            if part is None:
                continue
            try:
                await asyncio.wait_for(part(), _CLOSE_SECONDS / 2)
            except Exception as error:  # it is being thrown away, and may be dead already
                _LOG.debug("closing the browser: %s", error)


_SHARED: dict[int, Browser] = {}
_LOCK = threading.Lock()


def shared_browser() -> Browser:
    """Return the browser of this process, which is started on first use and ends with the process.

    A forked process gets one of its own.
    """
    with _LOCK:
        if os.getpid() not in _SHARED:
            _SHARED[os.getpid()] = Browser()
        return _SHARED[os.getpid()]


def close_shared_browser() -> None:
    """End the browser of this process; the next use starts another."""
    with _LOCK:
        browser = _SHARED.pop(os.getpid(), None)
    if browser is not None:
        browser.close()


def _release_after_fork() -> None:
    global _LOCK
    _LOCK = threading.Lock()  # another thread may have held it, which this process does not have


atexit.register(close_shared_browser)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_after_fork)
