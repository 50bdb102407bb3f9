"""One page of a real browser: the actions. All on the browser's thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pixelis.envs.web.chromium.clipboard import uses_clipboard
from pixelis.envs.web.chromium.isolated_world import ScriptFailure
from pixelis.envs.web.chromium.loaded_page import LoadedPage, Raw, is_unloading
from pixelis.envs.web.chromium.watched_page import is_done
from pixelis.envs.web.page.backend import PageActionError
from pixelis.envs.web.page.snapshot import not_sent

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

_NEAR, _CHASES = 2, 4  # pixels of a small step of the mouse; how often a moving element is followed
_LOADABLE = ("http", "https", "file", "about", "blob", "javascript")
_LENT_SECONDS = 2.0  # for which keys have the clipboard to themselves, on a page that hangs
_DRAG_MOVES, _DRAG_MILLISECONDS = 6, 20  # the second: of the page's own clock, a movement


class ChromiumPage(LoadedPage):
    """A page with the actions of agents."""

    async def back(self) -> Raw | None:
        """Go back in the page's history; ``None`` where there is nothing to go back to."""
        from playwright.async_api import Error

        self._expect()
        entries, here = await self._in_time(self._world.history())
        first = here == 0 or (here == 1 and entries[0].url == "about:blank")
        if first or entries[here].id == self._floor:
            return None
        try:
            await self._in_time(self._page.go_back(wait_until="commit", timeout=self._load_milliseconds))
        except Error as error:
            if self._gone.is_set():
                raise
            raise await self._refused_load(str(error)) from None
        return await self.after()

    # ------------------------------------------------------------------ acting

    async def act(self, action: Raw) -> Raw:
        """Carry out an action on a page of our own, in one call unless it loads a document."""
        self._expect()
        done = await self._evaluate("__pixelis.act(given)", {**action, "token": self._token})
        _raise_refusal(done)
        if done.get("leaving"):
            await self._loaded()
            looked = await self._look()
            return {**looked, "notice": done["notice"]}
        said = _refusal_notice(done["invalid"])
        return await self._seen(done["snapshot"], [said or done["notice"]])

    async def click(self, key: int, at: tuple[float, float] | None = None) -> Raw:
        """Press an element with the mouse: move there, wait until it stays under the pointer, press.

        What is returned has, as ``missed``, role and name of what was pressed instead, if something else was.
        """
        self._expect()
        place = await self._aim(key, at)
        if place["kind"] == "select":
            await self._evaluate("__pixelis.element(given).focus()", key)
            return await self.after("Choose one of its options with SELECT.")
        said = self._check_link(place["href"]) if place["kind"] == "link" else ""
        await self._hover(key, place, at, press=True)
        await self._press()
        return await self.after(said, pressed=key, at=at)

    async def drag(
        self,
        key: int,
        to_key: int,
        start: tuple[float, float] | None,
        end: tuple[float, float] | None,
        by: tuple[int, int] | None,
    ) -> Raw:
        """Press one element, move to another (or elsewhere on the same one), let go."""
        self._expect()
        place = await self._hover(key, await self._aim(key, start), start, press=True)
        await self._in_time(self._page.mouse.down())
        try:
            goal = await self._evaluate("__pixelis.point(...given)", [to_key, self._token, end, by])
            _raise_refusal(goal)
            x, y = goal["x"], goal["y"]
            if abs(x - place["x"]) + abs(y - place["y"]) > 1:
                sign = 1 if x >= place["x"] else -1  # a drag begins with a small movement
                await self._move(place["x"] + 4 * sign, place["y"])
            for part in range(1, _DRAG_MOVES + 1):
                share = part / _DRAG_MOVES
                await self._move(place["x"] + share * (x - place["x"]), place["y"] + share * (y - place["y"]))
                if self.settings.step_milliseconds is not None:
                    await self._evaluate("__pixelis.advance(given)", _DRAG_MILLISECONDS)
        finally:
            await self._in_time(self._page.mouse.up())
        return await self.after()

    async def hover(self, key: int, at: tuple[float, float] | None) -> Raw:
        """Move the mouse over an element."""
        self._expect()
        await self._hover(key, await self._aim(key, at, only_move=True), at)
        return await self.after()

    async def type(self, key: int, text: str, submit: bool) -> Raw:
        """Replace what a field holds, with key events; with ``submit``, press Enter then."""
        self._expect()
        found = await self._evaluate("__pixelis.focusForTyping(...given)", [key, self._token])
        _raise_refusal(found)
        notice = ""
        if found["how"] == "set":
            notice = (await self._evaluate("__pixelis.setValue(...given)", [key, text])).get("notice", "")
        else:
            if not found["empty"]:
                await self._in_time(self._page.keyboard.press("Delete"))
            await self._in_time(self._page.keyboard.type(text))
            notice = await self._not_taken(key, text)
        if submit:
            await self._in_time(self._page.keyboard.press("Enter"))
        return await self.after(notice)

    async def select(self, key: int, option: str) -> Raw:
        """Choose an option of a native select."""
        self._expect()
        _raise_refusal(await self._evaluate("__pixelis.select(...given)", [key, self._token, option]))
        return await self.after()

    async def press_keys(self, key: int | None, keys: str, times: int) -> Raw:
        """Press a key, or keys together such as ``Control+c``; on an element, if one is given.

        A letter that is not on a US keyboard is put in, without events of keys.
        """
        self._expect()
        if key is not None:
            _raise_refusal(await self._evaluate("__pixelis.focus(...given)", [key, self._token]))
        keyboard, lent = self._page.keyboard, uses_clipboard(keys)
        press = keyboard.insert_text if len(keys) == 1 and not keys.isascii() else keyboard.press
        for _ in range(times):
            await (self._press_with_clipboard(keys) if lent else self._in_time(press(keys)))
        copied = dict(self.copied)
        raw = await self.after()
        if lent:
            self.copied = copied  # as the clipboard had it, and not in the page's words alone
        return raw

    async def scroll(self, key: int, down: int) -> Raw:
        """Turn the mouse wheel over an element, ``down`` pixels."""
        self._expect()
        await self._hover(key, await self._aim(key, None, only_move=True), None)
        await self._in_time(self._page.mouse.wheel(0, down))
        return await self.after()

    async def select_text(self, key: int | None, text: str) -> Raw:
        """Mark a text inside an element, as a reader does with the mouse; the whole if ``text`` is empty."""
        self._expect()
        _raise_refusal(await self._evaluate("__pixelis.selectText(...given)", [key, self._token, text]))
        return await self.after()

    async def after(
        self,
        notice: str = "",
        step: int | None = None,
        pressed: int | None = None,
        at: tuple[float, float] | None = None,
    ) -> Raw:
        """Wait until the last action has had its effect and return what is on the page.

        Args:
            notice: is told.
            step: how far the page's clock goes, in milliseconds; ``None``: as after every action.
            pressed: an element that the mouse was to press.
            at: where on it.
        """
        from playwright.async_api import Error

        said = [notice] if notice else []
        if step is None:
            step = self.settings.step_milliseconds or 0
        missed = None
        for given in ([step, pressed, self._token, at], [0, None, self._token, None]):
            try:
                if self.settings.step_milliseconds is None:
                    await self._quiet()
                done: Raw = await self._evaluate("__pixelis.finish(...given)", given)
            except Error as error:
                if self._gone.is_set() or not is_unloading(error):
                    raise
                done = {"leaving": True}
            missed = done.get("missed") if missed is None else missed
            said += filter(None, [done.get("said")])
            if not done["leaving"] and not self._navigating:
                break
            if await self._loaded():
                return {**await self._arrived(said), "missed": missed}
        if "snapshot" not in done:
            return {**await self._arrived(said), "missed": missed}
        self.watched = done["watched"]
        if done["copied"]:
            self.copied = {"text/plain": done["copied"]}
        said += filter(None, [_refusal_notice(done["invalid"])])
        raw = await self._seen(await self._with_images(done["snapshot"]), said)
        return {**raw, "missed": missed}

    async def wait(self, milliseconds: int) -> Raw:
        """Let time go by: on the page's own clock if it has one."""
        self._expect()
        if self.settings.step_milliseconds is None:
            await asyncio.sleep(milliseconds / 1000)
        else:
            await self._evaluate("__pixelis.advance(given)", milliseconds)
        return await self.after(step=0)

    async def screenshot(self) -> bytes:
        """Return the visible part of the page as PNG, a pixel for each of its own, with its images.

        Raises:
            PageActionError: ``timeout``: it did not paint in time; it stays as it is.
        """
        await self._came(self._images)
        limit = 1000 * self.settings.action_seconds
        return await self._patiently(self._page.screenshot(type="png", scale="css", timeout=limit))

    async def accessibility(self) -> str:
        """Return Playwright's ARIA snapshot of the page, as YAML.

        Raises:
            PageActionError: ``timeout``: it did not answer in time; it stays as it is.
        """
        limit = 1000 * self.settings.action_seconds
        looking = self._world.evaluate("Boolean(document.documentElement)")
        try:
            if not await asyncio.wait_for(looking, self.settings.action_seconds):
                return ""  # a page may take it away; Playwright would wait for another
        except asyncio.TimeoutError:
            raise PageActionError("timeout") from None
        return await self._patiently(self._page.locator(":root").aria_snapshot(timeout=limit))

    async def evaluate(self, script: str, given: Any = None) -> Any:
        """Return what an expression of ``given`` is in the page's own world; not for agents."""
        return await self._in_time(self._page.evaluate(f"given => {script}", given))

    async def reveal(self, key: int | None) -> None:
        """Scroll the window to an element, or to the top."""
        await self._evaluate("__pixelis.reveal(given)", key)

    @property
    def document(self) -> str:
        """A name of the document that was shown last; no two documents have the same."""
        return self._token

    # ------------------------------------------------------------------ parts of actions

    async def _patiently(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what Playwright's ``work`` returns, which has a time limit of its own."""
        from playwright.async_api import Error

        try:
            return await work
        except Error as error:
            if not self.is_connected:
                raise
            _LOG.info("a page is not seen: %s", error)
            raise PageActionError("timeout") from None

    async def _aim(self, key: int, at: tuple[float, float] | None, only_move: bool = False) -> Raw:
        given = [key, self._token, at, only_move]
        place = await self._evaluate("__pixelis.aim(...given)", given)
        if "hidden" in place.get("error", ()) and await self._came(self._images):
            place = await self._evaluate("__pixelis.aim(...given)", given)
        _raise_refusal(place)
        return place

    async def _hover(self, key: int, place: Raw, at: tuple[float, float] | None, press: bool = False) -> Raw:
        """Move the mouse to an element until it stays under it; return where that is.

        Where scripts hear of its movements, in two steps, the second a small one: menus that follow the mouse
        take no notice of the first movement, and a press then takes what was chosen before.

        Raises:
            PageActionError: ``missed``: it runs away, so that a ``press`` would reach something else.
        """
        follows = place.get("follows", False)
        for _ in range(_CHASES):
            pending = set(self._images)
            x, y = place["x"], place["y"]
            if follows:  # waited for, which takes a frame: else the browser makes one movement of two
                await self._in_time(self._move(x - _NEAR, y))
            look = self._world.evaluate("__pixelis.settle(...given)", [key, x, y, at])
            _, found = await self._in_time(_both(self._move(x, y), look))
            if await self._came(self._images - pending):
                continue
            _raise_refusal(found)
            if abs(found["x"] - place["x"]) + abs(found["y"] - place["y"]) < 1:
                return place
            place = found
        if press and not await self._evaluate("__pixelis.isThere(...given)", [key, *self.mouse, at]):
            raise PageActionError("missed")
        return place

    async def _move(self, x: float, y: float) -> None:
        await self._page.mouse.move(x, y)
        self.mouse = (x, y)

    async def _press(self) -> None:
        mouse = self._page.mouse
        await self._in_time(_both(mouse.down(), mouse.up()))

    async def _press_with_clipboard(self, keys: str) -> None:
        async with self._clipboard.lent(self.copied):
            pressing = asyncio.ensure_future(self._page.keyboard.press(keys))
            pressing.add_done_callback(is_done)
            await asyncio.wait({pressing}, timeout=_LENT_SECONDS)
        await self._in_time(pressing)

    async def _not_taken(self, key: int, text: str) -> str:
        from playwright.async_api import Error

        try:
            held = await self._evaluate("__pixelis.holds(given)", key)
        except (Error, ScriptFailure):  # the page went away by itself
            return ""
        taken = held is None or held.split() == text.split()
        return "" if taken else "The field does not hold exactly what was typed."

    def _check_link(self, href: str) -> str:
        """Return what to say of a link that loads nothing; raise if it leads away from the hosts."""
        try:
            scheme = urlsplit(href).scheme
        except ValueError:  # brackets that are no address
            scheme = ""
        if scheme in ("http", "https", "file") and not self._is_allowed(href):
            raise PageActionError("off_site")
        return "" if scheme in _LOADABLE else f"This link loads no page ({scheme or 'no address'}:)."


async def _both(one: Awaitable[Any], other: Awaitable[T]) -> tuple[Any, T]:
    return await asyncio.gather(one, other)


def _raise_refusal(done: Raw) -> None:
    if done.get("error"):
        code, message = done["error"]
        raise PageActionError(code, message)


def _refusal_notice(invalid: list[str] | None) -> str:
    return not_sent(*invalid) if invalid else ""
