"""Episodes that stand beside one another on the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.app.parts import ui
from pixelis.monitor.panels.episode_page import page_of
from pixelis.monitor.reading.episodes import Where

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

MOST_COLUMNS = 8
"""Episodes that are shown at once; of more one pages through them."""


class SideBySide:
    """Episodes beside one another, `MOST_COLUMNS` at a time.

    Args:
        page: whose they are.

    Attributes:
        opened: the episodes; the first is the one that was chosen.
        colouring: what colours their tokens.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self.opened: list[Where] = []
        self.colouring = "probability"
        self._first = 0

    def build(self) -> None:
        """Make the elements."""
        self._turning = ui.row().style("align-items: center")
        self._place = ui.element("div").classes("columns")
        self.show()

    def take(self, episodes: Sequence[Where]) -> None:
        """Take these in place of what is open; `show` shows them."""
        self.opened, self._first = list(episodes), 0

    def show(self) -> None:
        """Show what is open."""
        shown = self.opened[self._first : self._first + MOST_COLUMNS]
        self._turning.clear()
        with self._turning:
            if len(self.opened) > len(shown):
                last = self._first + len(shown)
                ui.label(f"{self._first + 1} to {last} of {len(self.opened)} are shown").classes("quiet")
                for word, by in (("earlier ones", -MOST_COLUMNS), ("further ones", MOST_COLUMNS)):
                    turn = ui.button(word, on_click=partial(self._turn, by)).props("flat dense no-caps")
                    turn.set_enabled(0 <= self._first + by < len(self.opened))
        self._place.clear()
        with self._place:
            for where in shown:
                self._show_one(where)

    def _turn(self, by: int) -> None:
        self._first += by
        self.show()

    def _show_one(self, where: Where) -> None:
        run, file, episode = where
        number = list(self._page.runs.runs).index(run.key)
        with ui.element("div"):
            ui.label(f"{in_plain(run.key)} · {file.name} · line {episode.line}").classes("quiet")
            line = f"/line/{number}/{quote(file.name)}/{episode.line}"

            def address(digest: str) -> str | None:
                return f"/picture/{number}/{digest}.png" if run.has_picture(digest) else None

            markup = page_of(episode, address, line, self.colouring)
            ui.html(markup, sanitize=False)  # every text in it is escaped, see episode_page


def row_of(where: Where) -> dict[str, Any]:
    """Return an episode as a row of a table that is given away."""
    run, file, episode = where
    names = ("seed", "group", "member", "success", "reward", "truncated", "text")
    return (
        {"run": run.key, "played": file.name, "line": episode.line, "level": episode.level}
        | {name: getattr(episode, name) for name in names}
        | {"turns": episode.turn_count, "advantage": episode.mean_advantage}
    )
