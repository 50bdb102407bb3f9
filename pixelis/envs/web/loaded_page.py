"""One page of a real browser: how it loads, settles, hangs, and is looked at. All on the browser's thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pixelis.envs.web.addresses import may_reach
from pixelis.envs.web.backend import BackendFailure, PageActionError
from pixelis.envs.web.browser import Browser
from pixelis.envs.web.page_scripts import PageSettings, dialog_notices, init_script

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Request

T = TypeVar("T")
PageT = TypeVar("PageT", bound="LoadedPage")
Raw = dict[str, Any]

_STILL_MILLISECONDS, _LONGEST_MILLISECONDS = 50, 2_000
_REQUEST_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_MOST_REDIRECTS = 10  # by pages themselves, after they were loaded; those of servers are the browser's


class LoadedPage:
    """A context of its own with one page in it.

    Attributes:
        generation: number of documents loaded since ``begin``.
        watched: what ``settings.watch`` was after the last action; ``None`` where that is not known.
    """

    def __init__(self, context: BrowserContext, page: Page, settings: PageSettings) -> None:
        self.settings = settings
        self.generation = 0
        self.watched: Any = None
        self._context, self._page = context, page
        self._token = ""  # of the document that was shown last
        self._shown_url = "about:blank"
        self._ready = asyncio.Event()
        self._navigating = self._blocked = self._failed = False
        self._requests: set[Request] = set()
        self._idle = asyncio.Event()
        self._happened: list[str] = []
        self._crashed = False

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
        made = cls(context, await context.new_page(), settings)
        made._listen()
        return made

    async def close(self) -> None:
        """Close the context."""
        await self._context.close()

    async def set_cookie(self, url: str, name: str, value: str) -> None:
        """Make this the only cookie."""
        await self._context.clear_cookies()
        await self._context.add_cookies(
            [{"name": name, "value": value, "url": url, "httpOnly": True, "sameSite": "Strict"}]
        )

    # ------------------------------------------------------------------ loading

    async def begin(self, url: str) -> Raw:
        """Load the first document of an episode and return what is on it."""
        self.generation = 0
        self._happened.clear()
        return await self.load(url)

    async def load(self, url: str) -> Raw:
        """Load an address and return what is on the page.

        Raises:
            PageActionError: ``timeout``: it does not load; ``off_site``: it is not to be reached.
        """
        await self._load(url)
        return await self._arrived()

    async def follow(self, url: str) -> Raw:
        """Load an address as an agent asks for it.

        Raises:
            PageActionError: ``off_site``: not of the hosts that may be reached; ``timeout``.
        """
        if urlsplit(url).scheme not in ("http", "https", "file") or not self._is_allowed(url):
            raise PageActionError("off_site")
        return await self.load(url)

    @property
    def url(self) -> str:
        """The address of what was shown last."""
        return self._shown_url

    async def _load(self, url: str) -> None:
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as LoadTimeout

        self._expect()
        try:
            await self._page.goto(url, wait_until="domcontentloaded", timeout=self._load_milliseconds)
        except LoadTimeout:
            await self._stop_loading()
        except Error as error:
            if self._crashed or self._page.is_closed():
                raise
            if self._downloaded():
                await self._restore()
            else:
                raise await self._refused_load(str(error)) from None

    async def _arrived(self, said: list[str] | None = None) -> Raw:
        """Return what is on the page that was loaded, or on the one that it leads to at once by itself.

        Raises:
            PageActionError: ``timeout``, also where pages lead on without end; ``off_site``.
        """
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as LoadTimeout

        for _ in range(_MOST_REDIRECTS):
            try:
                await self._check_place()
                await self._freeze()
                return await self._look(said)
            except Error as error:
                if self._page.is_closed() or self._crashed or not is_unloading(error):
                    raise
            with contextlib.suppress(LoadTimeout):  # then there is as much of it as has come
                await self._page.wait_for_load_state("domcontentloaded", timeout=self._load_milliseconds)
        await self._replace()
        raise PageActionError("timeout", "The page loads another one again and again. Try another one.")

    async def _stop_loading(self) -> None:
        """Make do with what has come of a document that does not end; nothing at all is a timeout."""
        seconds = self.settings.load_seconds
        try:
            await asyncio.wait_for(self._page.evaluate("window.stop()"), self.settings.action_seconds)
            shown = await asyncio.wait_for(
                self._page.evaluate("Boolean(document.body)"), self.settings.action_seconds
            )
        except asyncio.TimeoutError:
            await self._replace()
            shown = False
        if not shown or self._page.url in ("about:blank", self._shown_url):
            raise PageActionError("timeout", f"The page did not load within {seconds:g} s. Try another one.")
        self._happened.append(f"The page had not loaded completely after {seconds:g} s.")

    async def _refused_load(self, reason: str) -> PageActionError:
        await self._restore()
        if _is_refusal(reason):
            return PageActionError("off_site")
        why = reason.splitlines()[0].split(" at ")[0].removeprefix("Page.goto: ")
        return PageActionError("timeout", f"The page could not be loaded ({why}). Try another one.")

    async def _restore(self) -> None:
        """Return from the browser's own error page to what was shown before."""
        if self._page.url.startswith("chrome-error:") and self._shown_url != "about:blank":
            self._expect()
            await self._page.goto(
                self._shown_url, wait_until="domcontentloaded", timeout=self._load_milliseconds
            )
        self._ready.set()

    async def _freeze(self) -> None:
        """Switch off what moves by itself; a style sheet of the page may say otherwise."""
        if self.settings.step_milliseconds is not None or self.settings.own:
            return
        await self._quiet()

    def _is_allowed(self, url: str) -> bool:
        return may_reach(url, self.settings.hosts)

    async def _check_place(self) -> None:
        """Leave a place that must not be reached, however it was reached."""
        for _ in range(20):  # the browser's own error page comes a moment after the failure
            if not self._failed or self._page.url.startswith("chrome-error:"):
                break
            await asyncio.sleep(0.05)
        url = self._page.url
        if url.startswith("chrome-error:") or not self._is_allowed(url):
            blocked = not url.startswith("chrome-error:") or self._blocked
            await self._page.goto(
                self._shown_url, wait_until="domcontentloaded", timeout=self._load_milliseconds
            )
            await self._look()
            raise PageActionError("off_site" if blocked else "timeout")

    async def _quiet(self) -> None:
        """Wait until nothing is being fetched and the page has not changed for a moment."""
        for _ in range(3):
            await self._evaluate("__pixelis.quiet(...given)", [_STILL_MILLISECONDS, _LONGEST_MILLISECONDS])
            if not self._requests or self._navigating:
                return
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), _REQUEST_SECONDS)
            except asyncio.TimeoutError:
                return

    async def _look(self, said: list[str] | None = None) -> Raw:
        raw = await self._evaluate("__pixelis.snapshot()", None)
        return self._seen(raw, said or [])

    def _seen(self, raw: Raw, said: list[str]) -> Raw:
        if raw["document"] != self._token:
            self._token = raw["document"]
            self.generation += 1
        self._shown_url = raw["url"]
        counts = Counter([*filter(None, said), *dialog_notices(raw["said"]), *self._happened])
        self._happened.clear()
        notices = [what if count == 1 else f"{what} ({count} times)" for what, count in counts.items()]
        return {**raw, "notice": " ".join(notices)}

    # ------------------------------------------------------------------ waiting

    def _expect(self) -> None:
        if self._crashed:
            raise BackendFailure("the page crashed")
        self._ready.clear()
        self.watched = None
        self._navigating = self._blocked = self._failed = False

    async def _loaded(self) -> None:
        try:
            await asyncio.wait_for(self._ready.wait(), self.settings.load_seconds)
        except asyncio.TimeoutError:
            await self._stop_loading()
        if self._crashed:
            raise BackendFailure("the page crashed")

    @property
    def _load_milliseconds(self) -> float:
        return 1000 * self.settings.load_seconds

    async def _evaluate(self, expression: str, given: Any) -> Any:
        return await self._in_time(self._page.evaluate(f"given => {expression}", given))

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Return what ``work`` returns; a page that hangs is loaded anew and is a ``timeout``."""
        try:
            return await asyncio.wait_for(work, self.settings.action_seconds)
        except asyncio.TimeoutError:
            what = "next page did not load" if self._navigating else "page hung"
            await self._replace()
            raise PageActionError(
                "timeout", f"The {what}; this one was loaded anew. What was entered on it is lost."
            ) from None

    async def _replace(self) -> None:
        """Close a page that hangs or runs away, open another and load the same address there."""
        from playwright.async_api import Error

        old, self._page = self._page, await self._context.new_page()
        self._listen()
        self._requests.clear()
        url = self._shown_url
        try:
            closing = asyncio.ensure_future(old.close())
            closing.add_done_callback(_is_done)
            await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)  # one that runs away may take longer
            if url.startswith(("http:", "https:", "file:")):
                await asyncio.wait_for(
                    self._page.goto(url, wait_until="domcontentloaded"), self.settings.load_seconds
                )
                await asyncio.wait_for(self._look(), self.settings.action_seconds)
        except (Error, asyncio.TimeoutError):
            raise BackendFailure("the page hangs, also when it is loaded anew") from None

    # ------------------------------------------------------------------ what the browser reports

    def _listen(self) -> None:
        page = self._page
        watched: dict[str, Callable[..., Any]] = {
            "domcontentloaded": lambda _: self._ready.set(),
            "crash": self._on_crash,
            "dialog": lambda dialog: asyncio.ensure_future(dialog.accept()),
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

    def _on_crash(self, _: Any) -> None:
        self._crashed = True
        self._ready.set()

    def _on_download(self, _: Any) -> None:
        self._happened.append("A file was offered for download and refused.")
        self._ready.set()

    def _downloaded(self) -> bool:
        return any("download" in what for what in self._happened)

    def _on_popup(self, popup: Page) -> None:
        self._happened.append("A new window was closed.")
        asyncio.ensure_future(popup.close())  # noqa: RUF006  # nothing waits for it

    def _on_request(self, request: Request) -> None:
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            self._navigating = True
        elif request.resource_type in ("fetch", "xhr", "script", "stylesheet"):
            self._requests.add(request)

    def _on_finished(self, request: Request) -> None:
        self._requests.discard(request)
        if not self._requests:
            self._idle.set()

    def _on_failed(self, request: Request) -> None:
        self._on_finished(request)
        if self._navigating and request.is_navigation_request() and request.frame == self._page.main_frame:
            why = request.failure or ""
            self._blocked, self._failed = _is_refusal(why), "ABORTED" not in why
            self._ready.set()


def is_unloading(error: Exception) -> bool:
    """Return whether a script was not carried out because its document was left."""
    return any(words in str(error) for words in ("context was destroyed", "navigat", "Cannot find context"))


def _is_refusal(why: str) -> bool:
    return "ERR_PROXY_CONNECTION_FAILED" in why or "ERR_ACCESS_DENIED" in why


def _is_done(closing: asyncio.Future[None]) -> None:
    """Take note of how it ended, or asyncio complains that nobody did."""
    if not closing.cancelled():
        closing.exception()
