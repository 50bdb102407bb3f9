"""One page of a real browser: how it loads, settles, hangs, and is looked at. All on the browser's thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pixelis.envs.web.chromium.clipboard import Clipboard
from pixelis.envs.web.chromium.isolated_world import ScriptFailure
from pixelis.envs.web.chromium.scripts import PageSettings, dialog_notices
from pixelis.envs.web.chromium.watched_page import WatchedPage, is_done, is_refusal
from pixelis.envs.web.page.addresses import may_reach
from pixelis.envs.web.page.backend import BackendFailure, PageActionError

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
Raw = dict[str, Any]

_STILL_MILLISECONDS, _LONGEST_MILLISECONDS = 50, 2_000
_REQUEST_SECONDS = 5.0
_CLOSE_SECONDS, _OPEN_SECONDS = 2.0, 20.0
_START_SECONDS = 1.0  # in which a page that is left for another one asks for it
_UNLOADING = (
    "context was destroyed",
    "navigat",
    "Cannot find context",
    "uniqueContextId not found",
    "Promise was collected",
    "Not attached to an active page",
)
_MOST_REDIRECTS = 10  # by pages themselves, after they were loaded; those of servers are the browser's


class LoadedPage(WatchedPage):
    """A page on which documents are loaded and read, whatever they do.

    Attributes:
        generation: number of documents loaded since ``begin``.
        watched: what ``settings.watch`` was after the last action; ``None`` where that is not known.
    """

    def __init__(self, context: BrowserContext, settings: PageSettings, clipboard: Clipboard) -> None:
        super().__init__(context, settings, clipboard)
        self.generation = 0
        self.watched: Any = None
        self._token = ""  # of the document that was shown last
        self._shown_url = self._first_url = "about:blank"
        self._entry = (
            self._floor
        ) = -1  # in the history: what was shown last, and below which BACK does not go

    # ------------------------------------------------------------------ loading

    async def begin(self, url: str) -> Raw:
        """Load the first document of an episode and return what is on it."""
        self.generation, self._first_url = 0, url
        self._happened.clear()
        self.copied = {}
        raw = await self.load(url)
        self._floor = self._entry
        return raw

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
        if not self._is_allowed(url) or urlsplit(url).scheme not in ("http", "https", "file"):
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
            if self._gone.is_set():
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

        refused = ""  # stays said where the page that is gone back to leads on while it is looked at
        for _ in range(_MOST_REDIRECTS):
            try:
                here = await self._wrong_place()
                refused = here or refused
                await (self._return() if here else self._freeze())
                raw = await self._look(said)
                if refused:
                    raise PageActionError(refused)
                return raw
            except Error as error:
                if self._gone.is_set() or not is_unloading(error):
                    raise
            with contextlib.suppress(LoadTimeout):  # then there is as much of it as has come
                await self._page.wait_for_load_state("domcontentloaded", timeout=self._load_milliseconds)
        await self._replace()
        raise PageActionError("timeout", "The page loads another one again and again. Try another one.")

    async def _stop_loading(self) -> None:
        """Make do with what has come of a document that does not end; nothing at all is a timeout."""
        seconds = self.settings.load_seconds
        try:
            await asyncio.wait_for(self._world.stop_loading(), self.settings.action_seconds)
            looking = self._world.evaluate("Boolean(document.body)")
            shown = await asyncio.wait_for(looking, self.settings.action_seconds)
        except asyncio.TimeoutError:
            await self._replace()
            shown = False
        if not shown or self._page.url in ("about:blank", self._shown_url):
            raise PageActionError("timeout", f"The page did not load within {seconds:g} s. Try another one.")
        self._happened.append(f"The page had not loaded completely after {seconds:g} s.")

    async def _refused_load(self, reason: str) -> PageActionError:
        await self._restore()
        if is_refusal(reason):
            return PageActionError("off_site")
        why = reason.splitlines()[0].split(" at ")[0].removeprefix("Page.goto: ")
        return PageActionError("timeout", f"The page could not be loaded ({why}). Try another one.")

    async def _restore(self) -> None:
        """Return from the browser's own error page to what was shown before."""
        if self._page.url.startswith("chrome-error:") and self._shown_url != "about:blank":
            await self._return()
        self._ready.set()

    async def _return(self) -> None:
        """Go back to what was shown before, from a document that cannot or must not be shown.

        By the history, in which the other document is then ahead, so that BACK does not lead to it.
        """
        from playwright.async_api import Error

        self._expect()
        with contextlib.suppress(Error, asyncio.TimeoutError):  # then by its address
            await self._world.go_to(self._entry)
            await asyncio.wait_for(self._ready.wait(), self.settings.load_seconds)
        if self._page.url != self._shown_url:
            await self._page.goto(
                self._shown_url, wait_until="domcontentloaded", timeout=self._load_milliseconds
            )

    async def _freeze(self) -> None:
        """Switch off what moves by itself; a style sheet of the page may say otherwise."""
        if self.settings.step_milliseconds is not None or self.settings.own:
            return
        await self._quiet()

    def _is_allowed(self, url: str) -> bool:
        return may_reach(url, self.settings.hosts)

    async def _wrong_place(self) -> str:
        """Return the code of a place that must not be shown, however it was reached; empty of any other."""
        for _ in range(20):  # the browser's own error page comes a moment after the failure
            if not self._failed or self._page.url.startswith("chrome-error:"):
                break
            await asyncio.sleep(0.05)
        url = self._page.url
        if url.startswith("chrome-error:"):
            return "off_site" if self._blocked else "timeout"
        return "" if self._is_allowed(url) else "off_site"

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
        raw = await self._with_images(await self._evaluate("__pixelis.snapshot()"))
        return await self._seen(raw, said or [])

    async def _with_images(self, raw: Raw) -> Raw:
        """Return a snapshot of a page whose clock stands still, anew if images came: they move the rest."""
        if self.settings.step_milliseconds is None or not await self._came(self._images):
            return raw
        again: Raw = await self._evaluate("__pixelis.snapshot()")
        return {**again, "said": [*raw["said"], *again["said"]]}

    async def _seen(self, raw: Raw, said: list[str]) -> Raw:
        if not self.settings.own and (raw["document"], raw["url"]) != (self._token, self._shown_url):
            entries, here = await self._world.history()
            self._entry = entries[here].id
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
        for event in (self._ready, self._started):
            event.clear()
        self.watched = None
        self._navigating = self._blocked = self._failed = False

    async def _loaded(self) -> bool:
        """Wait for the document that an action leads to; return whether there is one."""
        if not (self.settings.own or self._navigating or self._ready.is_set()):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._started.wait(), _START_SECONDS)
            if not (self._started.is_set() or self._gone.is_set()):
                return False  # a page or the browser has refused it
        try:
            await asyncio.wait_for(self._ready.wait(), self.settings.load_seconds)
        except asyncio.TimeoutError:
            await self._stop_loading()
        return True

    @property
    def _load_milliseconds(self) -> float:
        return 1000 * self.settings.load_seconds

    async def _evaluate(self, expression: str, given: Any = None) -> Any:
        return await self._in_time(self._world.evaluate(expression, given))

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Return what ``work`` returns; a page that hangs is loaded anew and is a ``timeout``."""
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait(
                {task, gone}, timeout=self.settings.action_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            gone.cancel()
            if not task.done():
                task.add_done_callback(is_done)
                task.cancel()
        if task.done() and not task.cancelled():
            return task.result()
        if self._gone.is_set():
            raise await self._crash()
        what = "next page did not load" if self._navigating else "page hung"
        await self._replace()
        raise PageActionError(
            "timeout", f"The {what}; this one was loaded anew. What was entered on it is lost."
        )

    # ------------------------------------------------------------------ pages that cannot be used any more

    async def guarded(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what an action returns, whatever the page does meanwhile.

        Raises:
            PageActionError: also ``timeout``, ``crashed``: the page was loaded anew; ``page_lost``.
            BackendFailure: the page crashed while nothing was done and its clock stood still.
            playwright.async_api.Error: the browser is gone.
        """
        from playwright.async_api import Error

        if self._gone.is_set():
            if self.settings.own or self.settings.step_milliseconds is not None:
                raise BackendFailure("the page crashed between two actions")
            raise await self._crash()
        try:
            return await asyncio.wait_for(act(), self.settings.longest_action)
        except asyncio.TimeoutError:
            await self._replace()
            raise PageActionError("timeout", "The page took too long; it was loaded anew.") from None
        except (Error, ScriptFailure) as error:
            if not self.is_connected:
                raise
            _LOG.warning("a page is loaded anew: %s", error)
            if self._gone.is_set():
                raise await self._crash() from None
            await self._replace()
            raise PageActionError("timeout", "The page could not be read; it was loaded anew.") from None

    async def _crash(self) -> PageActionError:
        await self._replace()
        return PageActionError("crashed")

    async def _replace(self) -> None:
        """Close a page that hangs, crashed or runs away; load its address, or the first, in another one.

        Raises:
            PageActionError: ``page_lost``: neither can be shown.
            playwright.async_api.Error: the browser is gone.
        """
        from playwright.async_api import Error

        for url in dict.fromkeys((self._shown_url, self._first_url)):
            old = self._page
            await asyncio.wait_for(self._open_page(), _OPEN_SECONDS)
            closing = asyncio.ensure_future(old.close())
            closing.add_done_callback(is_done)
            await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)  # one that runs away may take longer
            try:
                await self._page.goto(url, wait_until="domcontentloaded", timeout=self._load_milliseconds)
                looking = self._world.evaluate("__pixelis.snapshot()")
                raw = await asyncio.wait_for(looking, self.settings.action_seconds)
            except (Error, ScriptFailure, asyncio.TimeoutError):
                if not self.is_connected:
                    raise
                continue
            if not raw["url"].startswith("chrome-error:"):
                await self._seen(raw, [])
                self._floor = self._entry
                return
        if self.settings.own:  # no agent brings our pages to that
            raise BackendFailure("the page cannot be shown any more")
        raise PageActionError("page_lost")


def is_unloading(error: Exception) -> bool:
    """Return whether a script was not carried out because its document was left."""
    return any(words in str(error) for words in _UNLOADING)
