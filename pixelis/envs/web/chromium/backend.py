"""The real browser as a backend: our own sites over HTTP on this machine, and any page by its address."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin

import numpy as np

from pixelis.envs.web.chromium.browser import START_SECONDS, Browser, shared_browser
from pixelis.envs.web.chromium.hand_actions import (
    ClickAt,
    Drag,
    ForeignAction,
    Hover,
    Mark,
    Pause,
    Point,
    Press,
    Wheel,
)
from pixelis.envs.web.chromium.loaded_page import Raw
from pixelis.envs.web.chromium.page import ChromiumPage
from pixelis.envs.web.chromium.scripts import PageSettings, snapshot_of
from pixelis.envs.web.page.addresses import resolve
from pixelis.envs.web.page.backend import (
    Back,
    BackendFailure,
    Click,
    Goto,
    PageActionError,
    Select,
    Type,
    Wait,
)
from pixelis.envs.web.page.snapshot import NO_PREVIOUS_PAGE, Snapshot
from pixelis.envs.web.sites.server import COOKIE, shared_server

if TYPE_CHECKING:
    from pixelis.envs.web.sites.site import SiteSession

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

_START_SECONDS = START_SECONDS + 10.0  # a browser may have to be started
EPISODES_A_PAGE = 200
"""How many episodes share a page. Playwright keeps every request of a page until the page is closed."""
_STEP_SECONDS = 20.0  # besides what a step may wait for, which has limits of its own
_RECOVERY_LOADS = 3  # a page that went wrong is loaded anew: its address, then the first one


class ChromiumBackend:
    """Plays our own sites and any other page in a real Chromium (``backend.Backend``).

    Our own sites reuse one page: a new episode is a new session cookie and a fresh document. A page of
    others gets a new context (no cookies, no storage) each episode.

    A page stays with the backend and in the process that opened it: for a copy, and in a forked process,
    it is gone, and ``open`` opens another.

    Args:
        settings: how pages of others are seen and driven, and what they may reach.
        fresh: a new context each episode; without it pages of others share one, as MiniWoB++ wants.
        browser: the browser to use; ``None``: that of this process.
    """

    def __init__(
        self,
        settings: PageSettings | None = None,
        *,
        fresh: bool = True,
        browser: Browser | None = None,
    ) -> None:
        self.settings = settings if settings is not None else PageSettings()
        self._fresh = fresh
        self._browser = browser
        self._page: ChromiumPage | None = None
        self._home: Browser | None = None  # of the page
        self._episodes = 0  # begun on the page
        self._base = ""  # of our own server, while one of our sites is open
        self._session: SiteSession | None = None
        self._history: list[str] = []

    # ------------------------------------------------------------------ Backend

    def open(self, source: SiteSession | str) -> Snapshot:
        """Begin an episode on a site of ours, or at an address.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``: the page cannot be loaded.
        """
        try:
            return self._open(source)
        except BackendFailure as failure:  # what is left of an earlier episode may be dead: once more, afresh
            _LOG.warning("opening a page again: %s", failure)
            self.close()
            return self._open(source)

    def act(self, action: ForeignAction) -> Snapshot:
        """Carry out one action.

        Raises:
            PageActionError: it cannot be carried out.
            BackendFailure: the browser failed.
        """
        how = self._act_on_site if self._base else self._act_on_page
        raw = self._guarded(partial(how, action))
        page = self._snapshot(raw)
        if (missed := raw.get("missed")) is not None:
            raise PageActionError("missed", _missed(*missed), page)
        return page

    def screenshot(self) -> np.ndarray | None:
        """Return the visible part of the page, uint8 ``(H, W, 3)``.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``: the page did not paint in time; it stays as it is.
        """
        from PIL import Image

        with Image.open(io.BytesIO(self._guarded(self._current.screenshot))) as picture:
            return np.asarray(picture.convert("RGB"))

    def reveal(self, key: int | None) -> None:
        """Scroll the window to the control ``key`` of the last snapshot, or to the top; for ``screenshot``.

        Raises:
            BackendFailure: the browser failed.
        """
        with contextlib.suppress(PageActionError):  # it hangs, of which the next action tells the agent
            self._guarded(partial(self._current.reveal, key))

    def accessibility(self) -> str | None:
        """Return Playwright's ARIA snapshot of the page: roles, names and states as YAML.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``.
        """
        return self._guarded(self._current.accessibility)

    def evaluate(self, expression: str, given: Any = None) -> Any:
        """Return what a JavaScript expression of ``given`` is; for environments, not for agents."""
        return self._ask(self._current.evaluate(expression, given))

    @property
    def watched(self) -> Any:
        """What ``settings.watch`` was after the last action; ``None`` where that is not known."""
        return self._page.watched if self._page is not None else None

    def look(self) -> Snapshot:
        """Return what is on the page now, without acting."""
        return self._snapshot(self._guarded(partial(self._current.after, step=0)))

    @property
    def document(self) -> str:
        """A name of the document that was shown last, which no other document has; empty: none was."""
        return self._page.document if self._page is not None else ""

    def close(self) -> None:
        """Close the page; the browser stays for others."""
        page, self._page, self._episodes = self._page, None, 0
        self._end_session()
        if page is not None and self._home is not None:
            with contextlib.suppress(BackendFailure):  # then there is nothing to close
                self._home.run(page.close(), _STEP_SECONDS)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what cannot be copied: the page, its session and the browser."""
        gone = dict.fromkeys(("_page", "_home", "_session", "_browser"))
        return {**vars(self), **gone, "_base": "", "_history": []}

    # ------------------------------------------------------------------ opening

    def _open(self, source: SiteSession | str) -> Snapshot:
        if self._episodes >= EPISODES_A_PAGE:
            self.close()
        snapshot = self._open_page(source) if isinstance(source, str) else self._open_site(source)
        self._episodes += 1
        return snapshot

    def _open_page(self, url: str) -> Snapshot:
        if self._base or self._fresh:
            self.close()
        self._base = ""
        page = self._page or self._make(self.settings)
        return self._snapshot(self._run(page.begin(url)))

    def _open_site(self, session: SiteSession) -> Snapshot:
        server = shared_server()
        if self._base != server.origin:
            self.close()
            self._base = server.origin
        self._end_session()
        server.add(session)
        self._session = session
        own = PageSettings(hosts=(server.origin.removeprefix("http://"),), own=True)
        page = self._page or self._make(own)
        raw = self._run(self._begin_session(page, session))
        self._history = [_path(raw["url"], self._base)]
        return self._snapshot(raw)

    async def _begin_session(self, page: ChromiumPage, session: SiteSession) -> Raw:
        await page.set_cookie(self._base, COOKIE, session.token)
        return await page.begin(self._base + session.start)

    def _end_session(self) -> None:
        if self._session is not None:
            shared_server().remove(self._session)
            self._session = None

    def _make(self, settings: PageSettings) -> ChromiumPage:
        self._home = self._browser if self._browser is not None else shared_browser()
        self._page = self._home.run(ChromiumPage.make(self._home, settings), _START_SECONDS)
        return self._page

    # ------------------------------------------------------------------ acting

    async def _act_on_site(self, action: ForeignAction) -> Raw:
        page = self._current
        match action:
            case Click(key):
                raw = await page.act({"kind": "click", "key": key, "origin": self._base})
            case Type(key, text, submit):
                raw = await page.act({"kind": "type", "key": key, "text": text, "submit": submit})
            case Select(key, option):
                raw = await page.act({"kind": "select", "key": key, "option": option})
            case Wait():
                raw = await page.act({"kind": "wait"})
            case Goto(url):
                raw = await self._goto(url)
            case Back():
                raw = await self._back()
            case _:
                raise PageActionError("not_editable", "This action is for pages of others.")
        path = _path(raw["url"], self._base)
        if self._history[-1] != path:
            self._history.append(path)
        return raw

    async def _goto(self, url: str) -> Raw:
        target = resolve(self._history[-1], url)
        if target is None:
            raise PageActionError("off_site")
        if "#" in url and target[0] == self._history[-1]:  # a place on this page
            return await self._current.act({"kind": "wait"})
        return await self._current.load(self._base + target[0])

    async def _back(self) -> Raw:
        if len(self._history) < 2:
            raw = await self._current.act({"kind": "wait"})
            return {**raw, "notice": NO_PREVIOUS_PAGE}
        self._history.pop()
        return await self._current.load(self._base + self._history[-1])

    async def _act_on_page(self, action: ForeignAction) -> Raw:
        page = self._current
        match action:
            case Click(key):
                return await page.click(key)
            case ClickAt(key, at):
                return await page.click(key, (at.across, at.down))
            case Type(key, text, submit):
                return await page.type(key, text, submit)
            case Select(key, option):
                return await page.select(key, option)
            case Press(keys, key, times):
                return await page.press_keys(key, keys, times)
            case Drag(key, to_key, start, end, by):
                return await page.drag(key, to_key, _pair(start), _pair(end), by)
            case Hover(key, at):
                return await page.hover(key, _pair(at))
            case Mark(key, text):
                return await page.select_text(key, text)
            case Wheel(key, down):
                return await page.scroll(key, down)
            case Pause(milliseconds):
                return await page.wait(milliseconds)
            case Wait():
                return await page.wait(1_000)
            case Goto(url):
                return await page.follow(_joined(page.url, url))
            case Back():
                raw = await page.back()
                return raw if raw is not None else {**await page.after(NO_PREVIOUS_PAGE)}

    # ------------------------------------------------------------------ private

    @property
    def _current(self) -> ChromiumPage:
        if self._page is None:
            raise BackendFailure("the page is gone; reset opens another")
        return self._page

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        waits = self.settings.longest_action + _RECOVERY_LOADS * (
            self.settings.load_seconds + self.settings.action_seconds
        )
        if self._home is None:
            work.close()
            raise BackendFailure("the page is gone; reset opens another")
        return self._home.run(work, _STEP_SECONDS + waits)

    def _guarded(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what ``act`` returns; what the page does to prevent it is a ``PageActionError``."""
        return self._ask(self._current.guarded(act))

    def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._run(work)
        except BackendFailure:
            self.close()
            raise

    def _snapshot(self, raw: Raw) -> Snapshot:
        url = _path(raw["url"], self._base) if self._base else raw["url"].removeprefix(self.settings.base)
        return snapshot_of(raw, url, self._current.generation, raw["notice"])


def _missed(kind: str = "", name: str = "") -> str:
    if not kind:
        return "The element moved away while it was pressed, so that it was not clicked."
    what = f'{kind} "{name[:40]}"' if name else kind
    return f"The mouse pressed {what} instead, as the page moved under it."


def _path(url: str, base: str) -> str:
    return url.removeprefix(base).partition("#")[0] or "/"


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # brackets that are no address
        raise PageActionError("off_site", "This is no address.") from None


def _pair(point: Point | None) -> tuple[float, float] | None:
    return None if point is None else (point.across, point.down)
