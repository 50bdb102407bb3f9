"""The one clipboard of a browser, lent to a page at a time. All on the browser's thread."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

Copied = dict[str, str]
"""What was copied: kind (``text/plain``, ``text/html``) → text; empty: nothing was."""

_KEYS = re.compile(r"(Control|Meta|Shift)\+(\w+\+)*([cvxCVX]|Insert|Delete)$")
_PUT = """copied => {
    document.oncopy = event => {
        for (const [kind, text] of Object.entries(copied)) event.clipboardData.setData(kind, text);
        event.preventDefault();
    };
    window.pasted = {};
    document.execCommand("copy");
}"""
_HEAR = """() => {
    document.onpaste = event => {
        window.pasted = {};
        for (const kind of event.clipboardData.types) window.pasted[kind] = event.clipboardData.getData(kind);
        event.preventDefault();
    };
}"""


def uses_clipboard(keys: str) -> bool:
    """Return whether the browser copies, cuts or pastes at these keys, such as ``Shift+Insert``."""
    return _KEYS.search(keys) is not None


class Clipboard:
    """Keeps pages from seeing what others copied: all contexts of a browser have one clipboard together.

    It is written and read on a blank page of its own, with the keys: no page needs a permission for that.

    Args:
        new_context: makes the context of the blank page, which reaches nothing.
    """

    def __init__(self, new_context: Callable[[tuple[str, ...]], Awaitable[BrowserContext]]) -> None:
        self._new_context = new_context
        self._page: Page | None = None
        self._is_lent = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def lent(self, copied: Copied) -> AsyncIterator[None]:
        """Have ``copied`` on the clipboard, and no other page's keys at it; ``copied`` is then what is left.

        Raises:
            playwright.async_api.Error: the browser is gone.
        """
        async with self._is_lent:
            page = await self._blank_page()
            await page.evaluate(_PUT, {"text/plain": "", **copied})  # nothing at all would not be written
            yield
            await page.keyboard.press("Control+v")
            left = await page.evaluate("window.pasted")
        copied.clear()
        copied.update(left)

    async def _blank_page(self) -> Page:
        if self._page is None or self._page.is_closed():
            page = self._page = await (await self._new_context(())).new_page()
            page.on("crash", lambda _: self._forget())
            await page.evaluate(_HEAR)
        return self._page

    def _forget(self) -> None:
        self._page = None
