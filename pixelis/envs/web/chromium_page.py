"""One page of a real browser: the actions. All on the browser's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pixelis.envs.web.backend import BackendFailure, PageActionError
from pixelis.envs.web.loaded_page import LoadedPage, Raw, is_unloading
from pixelis.envs.web.snapshot import not_sent

T = TypeVar("T")

_DRAG_MOVES, _DRAG_MILLISECONDS = 6, 20  # the second: of the page's own clock, a movement


class ChromiumPage(LoadedPage):
    """A page with the actions of agents."""

    async def back(self) -> Raw | None:
        """Go back in the page's history; ``None`` where there is nothing to go back to."""
        self._expect()
        before = self._page.url
        await self._in_time(self._page.go_back(wait_until="commit", timeout=self._load_milliseconds))
        if self._page.url == before or self._page.url == "about:blank":
            if self._page.url != before:
                await self._load(before)
            return None
        return await self.after()

    # ------------------------------------------------------------------ acting

    async def act(self, action: Raw) -> Raw:
        """Carry out an action on a page of our own, in one call unless it loads a document."""
        self._expect()
        done = await self._in_time(
            self._page.evaluate("action => __pixelis.act(action)", {**action, "token": self._token})
        )
        _raise_refusal(done)
        if done.get("leaving"):
            await self._loaded()
            looked = await self._look()
            return {**looked, "notice": done["notice"]}
        said = _refusal_notice(done["invalid"])
        return self._seen(done["snapshot"], [said or done["notice"]])

    async def click(self, key: int, at: tuple[float, float] | None = None) -> Raw:
        """Press an element with the mouse: move there, wait until it stays under the pointer, press."""
        self._expect()
        place = await self._aim(key, at)
        if place["kind"] == "select":
            await self._page.evaluate("key => __pixelis.element(key).focus()", key)
            return await self.after("Choose one of its options with SELECT.")
        if place["kind"] == "link":
            self._check_link(place["href"])
        place = await self._hover(key, place, at)
        await self._press()
        return await self.after(pressed=key if at is None else None)

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
        place = await self._hover(key, await self._aim(key, start), start)
        await self._page.mouse.down()
        try:
            goal = await self._evaluate("__pixelis.point(...given)", [to_key, self._token, end, by])
            _raise_refusal(goal)
            x, y = goal["x"], goal["y"]
            if abs(x - place["x"]) + abs(y - place["y"]) > 1:
                sign = 1 if x >= place["x"] else -1  # a drag begins with a small movement
                await self._page.mouse.move(place["x"] + 4 * sign, place["y"])
            for part in range(1, _DRAG_MOVES + 1):
                share = part / _DRAG_MOVES
                await self._page.mouse.move(
                    place["x"] + share * (x - place["x"]), place["y"] + share * (y - place["y"])
                )
                if self.settings.step_milliseconds is not None:
                    await self._evaluate("__pixelis.advance(given)", _DRAG_MILLISECONDS)
        finally:
            await self._page.mouse.up()
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
        """Press a key, or keys together such as ``Control+c``; on an element, if one is given."""
        self._expect()
        if key is not None:
            _raise_refusal(await self._evaluate("__pixelis.focus(...given)", [key, self._token]))
        for _ in range(times):
            await self._in_time(self._page.keyboard.press(keys))
        return await self.after()

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

    async def after(self, notice: str = "", step: int | None = None, pressed: int | None = None) -> Raw:
        """Wait until the last action has had its effect and return what is on the page.

        ``pressed``: an element that the mouse was to press, which is told of it if the press went astray.
        """
        from playwright.async_api import Error

        said = [notice] if notice else []
        if step is None:
            step = self.settings.step_milliseconds or 0
        try:
            if self.settings.step_milliseconds is None:
                await self._quiet()
            done: Raw = await self._evaluate(self._finish, [step, pressed, self._token])
        except Error as error:
            if self._page.is_closed() or self._crashed or not is_unloading(error):
                raise
            self._navigating = True
            done = {"leaving": True, "snapshot": {}, "invalid": None}
        if done["leaving"] or self._navigating:
            await self._loaded()
            return await self._arrived(said)
        self.watched = done.get("watched")
        return self._seen(done["snapshot"], [*said, *filter(None, [_refusal_notice(done["invalid"])])])

    @property
    def _finish(self) -> str:
        done = "__pixelis.finish(...given)"
        return f"({{ ...{done}, watched: {self.settings.watch} }})" if self.settings.watch else done

    async def wait(self, milliseconds: int) -> Raw:
        """Let time go by: on the page's own clock if it has one."""
        self._expect()
        if self.settings.step_milliseconds is None:
            await asyncio.sleep(milliseconds / 1000)
        else:
            await self._evaluate("__pixelis.advance(given)", milliseconds)
        return await self.after(step=0)

    async def screenshot(self) -> bytes:
        """Return the visible part of the page as PNG, a pixel of the page for each of its own.

        Raises:
            PageActionError: ``timeout``: it did not paint in time; it stays as it is.
        """
        limit = 1000 * self.settings.action_seconds
        return await self._patiently(self._page.screenshot(type="png", scale="css", timeout=limit))

    async def accessibility(self) -> str:
        """Return Playwright's ARIA snapshot of the page, as YAML.

        Raises:
            PageActionError: ``timeout``: it did not answer in time; it stays as it is.
        """
        limit = 1000 * self.settings.action_seconds
        return await self._patiently(self._page.locator(":root").aria_snapshot(timeout=limit))

    async def evaluate(self, script: str, given: Any = None) -> Any:
        """Return what an expression of ``given`` is in the page; for environments, not for agents."""
        return await self._evaluate(script, given)

    # ------------------------------------------------------------------ parts of actions

    async def _patiently(self, work: Awaitable[T]) -> T:
        """Return what Playwright's ``work`` returns, which has a time limit of its own."""
        from playwright.async_api import TimeoutError as LateError

        try:
            return await work
        except LateError:
            if self._crashed:
                raise BackendFailure("the page crashed") from None
            raise PageActionError("timeout") from None

    async def _aim(self, key: int, at: tuple[float, float] | None, only_move: bool = False) -> Raw:
        place = await self._evaluate("__pixelis.aim(...given)", [key, self._token, at, only_move])
        _raise_refusal(place)
        return place

    async def _hover(self, key: int, place: Raw, at: tuple[float, float] | None) -> Raw:
        for _ in range(3):
            x, y = place["x"], place["y"]
            look = self._page.evaluate("given => __pixelis.settle(...given)", [key, x, y, at])
            _, found = await self._in_time(asyncio.gather(self._page.mouse.move(x, y), look))
            _raise_refusal(found)
            if abs(found["x"] - place["x"]) + abs(found["y"] - place["y"]) < 1:
                return place
            place = found
        return place

    async def _press(self) -> None:
        mouse = self._page.mouse
        await self._in_time(asyncio.gather(mouse.down(), mouse.up()))

    async def _not_taken(self, key: int, text: str) -> str:
        from playwright.async_api import Error

        try:
            held = await self._evaluate("__pixelis.holds(given)", key)
        except Error:  # the page went away by itself
            return ""
        taken = held is None or held.split() == text.split()
        return "" if taken else "The field does not hold exactly what was typed."

    def _check_link(self, href: str) -> None:
        parts = urlsplit(href)
        if parts.scheme in ("javascript", "mailto", "tel", "about", "data", "blob", ""):
            return
        if not self._is_allowed(href):
            raise PageActionError("off_site")


def _raise_refusal(done: Raw) -> None:
    if done.get("error"):
        code, message = done["error"]
        raise PageActionError(code, message)


def _refusal_notice(invalid: list[str] | None) -> str:
    return not_sent(*invalid) if invalid else ""
