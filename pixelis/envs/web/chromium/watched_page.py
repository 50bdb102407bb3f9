"""One page of a real browser, and what the browser reports of it. All on the browser's thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from pixelis.envs.web.chromium.browser import Browser
from pixelis.envs.web.chromium.clipboard import Clipboard, Copied
from pixelis.envs.web.chromium.isolated_world import IsolatedWorld
from pixelis.envs.web.chromium.scripts import PageSettings, init_script
from pixelis.envs.web.page.addresses import may_reach

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Request

PageT = TypeVar("PageT", bound="WatchedPage")

_IMAGE_SECONDS = 2.0  # for which images are waited for


class WatchedPage:
    """A context of its own with one page in it, which can be replaced by another one.

    Attributes:
        settings: how it is seen and driven.
        mouse: where the mouse is, in pixels of the window.
        copied: what was copied on it in this episode.
    """

    def __init__(self, context: BrowserContext, settings: PageSettings, clipboard: Clipboard) -> None:
        self.settings = settings
        self.copied: Copied = {}
        self._clipboard = clipboard
        self._context = context
        self._ready, self._started = asyncio.Event(), asyncio.Event()
        self._navigating = self._blocked = self._failed = False
        self._requests: set[Request] = set()
        self._images: set[Request] = set()
        self._idle, self._painted = asyncio.Event(), asyncio.Event()
        self._happened: list[str] = []

    @classmethod
    async def make(cls: type[PageT], browser: Browser, settings: PageSettings) -> PageT:
        """Return a blank page in a new context."""
        context = await browser.new_context(
            settings.hosts,
            viewport={"width": settings.width, "height": settings.height},
            accept_downloads=False,
            reduced_motion="reduce",
            locale="en-US",
            timezone_id="UTC",
            service_workers="block",
        )
        if any(host.startswith("file:") for host in settings.hosts):  # else no page may load a file anyway
            await context.route(
                lambda url: not may_reach(url, settings.hosts), lambda route: route.abort("accessdenied")
            )
        await context.add_init_script(init_script(settings))
        made = cls(context, settings, browser.clipboard)
        await made._open_page()
        return made

    async def _open_page(self) -> None:
        """Open a blank page of the context and make it the one that is driven."""
        self._page = await self._context.new_page()
        self._gone = asyncio.Event()  # it crashed, or was closed
        self._requests.clear()
        self._images.clear()
        self.mouse = (0.0, 0.0)
        self._listen()
        self._world = await IsolatedWorld.of(self._page, self.settings)

    async def close(self) -> None:
        """Close the context."""
        await self._context.close()

    async def set_cookie(self, url: str, name: str, value: str) -> None:
        """Make this the only cookie."""
        await self._context.clear_cookies()
        await self._context.add_cookies(
            [{"name": name, "value": value, "url": url, "httpOnly": True, "sameSite": "Strict"}]
        )

    @property
    def is_connected(self) -> bool:
        """Whether the browser is there."""
        browser = self._context.browser
        return browser is not None and browser.is_connected()

    async def _came(self, images: set[Request]) -> bool:
        """Wait for images that decide how the page looks; return whether there were any.

        An icon has no size before its image is there: at first, and again where the mouse brings another one.
        One that does not come in time is not waited for again.
        """
        waiting = set(images)

        async def come() -> None:
            while waiting & self._images:
                self._painted.clear()
                await self._painted.wait()

        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(come(), _IMAGE_SECONDS)
        self._images -= waiting
        return bool(waiting)

    # ------------------------------------------------------------------ what the browser reports

    def _listen(self) -> None:
        page = self._page
        watched: dict[str, Callable[..., Any]] = {
            "domcontentloaded": lambda _: self._on_ready(page),
            "crash": lambda _: self._on_gone(page),
            "close": lambda _: self._on_gone(page),
            "dialog": lambda dialog: _in_passing(dialog.accept()),
            "download": self._on_download,
            "popup": self._on_popup,
        }
        if not self.settings.own:
            watched |= {
                "request": self._on_request,
                "requestfinished": self._on_finished,
                "requestfailed": self._on_failed,
            }
        for name, handler in watched.items():
            page.on(name, handler)  # type: ignore[call-overload]  # one overload an event name

    def _on_ready(self, page: Page) -> None:
        if page is self._page:  # not one that was replaced
            self._started.set()
            self._ready.set()

    def _on_gone(self, page: Page) -> None:
        if page is self._page:
            self._gone.set()
            self._on_ready(page)

    def _on_download(self, _: Any) -> None:
        self._happened.append("A file was offered for download and refused.")
        self._ready.set()

    def _downloaded(self) -> bool:
        return any("download" in what for what in self._happened)

    def _on_popup(self, popup: Page) -> None:
        self._happened.append("A new window was closed.")
        _in_passing(popup.close())

    def _on_request(self, request: Request) -> None:
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            self._navigating = True
            self._started.set()
        elif request.resource_type in ("fetch", "xhr", "script", "stylesheet"):
            self._requests.add(request)
        elif request.resource_type == "image":
            self._images.add(request)

    def _on_finished(self, request: Request) -> None:
        self._requests.discard(request)
        if not self._requests:
            self._idle.set()
        self._images.discard(request)
        self._painted.set()

    def _on_failed(self, request: Request) -> None:
        self._on_finished(request)
        if self._navigating and request.is_navigation_request() and request.frame == self._page.main_frame:
            why = request.failure or ""
            self._blocked, self._failed = is_refusal(why), "ABORTED" not in why
            self._ready.set()


def is_refusal(why: str) -> bool:
    """Return whether a request failed because its host must not be reached."""
    return "ERR_PROXY_CONNECTION_FAILED" in why or "ERR_ACCESS_DENIED" in why


def _in_passing(work: Coroutine[Any, Any, Any]) -> None:
    """Do what nothing waits for, and what may fail."""
    asyncio.ensure_future(work).add_done_callback(is_done)


def is_done(closing: asyncio.Future[Any]) -> None:
    """Take note of how it ended, or asyncio complains that nobody did."""
    if not closing.cancelled():
        closing.exception()
