"""Our scripts in a page: a world of their own beside the page's, reached by the browser's own protocol."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixelis.envs.web.chromium.scripts import PageSettings, world_script

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

WORLD = "pixelis"
_USUALLY_SECONDS = 0.5  # in which a document that was loaded has its world


class ScriptFailure(Exception):
    """A script of ours threw in a page."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A document in the history of a page."""

    id: int
    url: str


class IsolatedWorld:
    """The isolated world of a page's top document, and what else only the protocol offers.

    A page cannot see or change anything in it: the world has the document in common with the page's scripts,
    and built-ins (``Map``, ``Array.prototype.map``) of its own.
    """

    def __init__(self, session: CDPSession, frame: str, script: str) -> None:
        self._session, self._frame, self._script = session, frame, script
        self._context: str | None = None  # of the document that is loaded now
        self._there = asyncio.Event()
        session.on("Runtime.executionContextCreated", self._on_created)
        session.on("Runtime.executionContextDestroyed", self._on_destroyed)
        session.on("Runtime.executionContextsCleared", lambda _: self._on_destroyed({}))

    @classmethod
    async def of(cls, page: Page, settings: PageSettings) -> IsolatedWorld:
        """Return the world of a page on which nothing has been loaded yet."""
        session = await page.context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        source = world_script(settings)
        world = cls(session, tree["frameTree"]["frame"]["id"], source)
        await session.send("Page.enable")
        script = {"source": source, "worldName": WORLD, "runImmediately": True}
        await session.send("Page.addScriptToEvaluateOnNewDocument", script)
        await session.send("Runtime.enable")
        return world

    async def evaluate(self, expression: str, given: Any = None) -> Any:
        """Return what an expression of ``given`` (both JSON) is; a promise is awaited.

        Raises:
            ScriptFailure: it threw.
            playwright.async_api.Error: the document was left meanwhile, or the page is gone.
        """
        await self._be_there()
        body = f"(async given => JSON.stringify(await ({expression})))({json.dumps(given)})"
        done = await self._session.send(
            "Runtime.evaluate",
            {
                "expression": body,
                "uniqueContextId": self._context,
                "awaitPromise": True,
                "returnByValue": True,
                "userGesture": True,
            },
        )
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            said = details.get("exception", {}).get("description") or details.get("text", "")
            raise ScriptFailure(str(said).split("\n")[0])
        value = done["result"].get("value")
        return None if value is None else json.loads(value)

    async def _be_there(self) -> None:
        """Wait for the document's world, and make it if the browser did not (``javascript:`` links)."""
        try:
            await asyncio.wait_for(self._there.wait(), _USUALLY_SECONDS)
        except asyncio.TimeoutError:
            made = {"frameId": self._frame, "worldName": WORLD}
            context = (await self._session.send("Page.createIsolatedWorld", made))["executionContextId"]
            await self._session.send("Runtime.evaluate", {"expression": self._script, "contextId": context})
            await self._there.wait()

    async def stop_loading(self) -> None:
        """Stop what is being loaded; what has come stays."""
        await self._session.send("Page.stopLoading")

    async def history(self) -> tuple[list[HistoryEntry], int]:
        """Return the page's history, and the place in it where the page is."""
        told = await self._session.send("Page.getNavigationHistory")
        return [HistoryEntry(one["id"], one["url"]) for one in told["entries"]], told["currentIndex"]

    async def go_to(self, entry: int) -> None:
        """Begin to load the document of a history entry."""
        await self._session.send("Page.navigateToHistoryEntry", {"entryId": entry})

    # ------------------------------------------------------------------ what the browser reports

    def _on_created(self, event: Any) -> None:
        context = event["context"]
        if context["name"] == WORLD and context["auxData"].get("frameId") == self._frame:
            self._context = context["uniqueId"]
            self._there.set()

    def _on_destroyed(self, event: Any) -> None:
        gone = event.get("executionContextUniqueId")
        if gone in (None, self._context):
            self._context = None
            self._there.clear()
