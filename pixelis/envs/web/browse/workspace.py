"""An episode in the browser: the page, its ids, the window that is shown, and the counts the reward needs."""

from __future__ import annotations

from collections import Counter

from pixelis.envs.web.families.family import SiteStatus, open_session, outcome
from pixelis.envs.web.page.backend import Backend, BackendFailure, PageAction, PageActionError
from pixelis.envs.web.page.ids import IdBook
from pixelis.envs.web.page.outline import OutlineWindow, outline
from pixelis.envs.web.page.snapshot import Control, Snapshot
from pixelis.envs.web.sites.levels import WebLevel
from pixelis.envs.web.sites.site import SiteSession

NO_EFFECT = "No visible effect."
OK = "OK"


class WebWorkspace:
    """The state of one episode.

    Args:
        level: what is played.
        backend: what drives the page; the workspace does not close it.
        page_tokens: budget of the outline.

    Attributes:
        steps: actions taken, scrolling and waiting included, those that failed too.
        errors: error code → how often.
        answer: what was answered, ``None`` before.
        failure: why the browser failed; empty when it has not.
        acted: the actions that were carried out, each with the page that it was done on.
    """

    def __init__(self, level: WebLevel, backend: Backend, page_tokens: int) -> None:
        self.level, self.backend, self.page_tokens = level, backend, page_tokens
        self.session: SiteSession = open_session(level)
        self.ids = IdBook(int(level.theme.get("churn", 0)))
        self.steps = 0
        self.errors: Counter[str] = Counter()
        self.answer: str | None = None
        self.failure = ""
        self.snapshot: Snapshot = backend.open(self.session)
        self.ids.see(self.snapshot, acted=False)
        self.first_outcome = outcome(level, self.session.state)
        self.acted: list[tuple[Snapshot, PageAction]] = []
        self._first = 0
        self._window: OutlineWindow | None = None

    @property
    def window(self) -> OutlineWindow:
        """What is shown of the page now; looking at it shows the ids."""
        if self._window is None:
            self._window = outline(self.snapshot, self.ids, first=self._first, page_tokens=self.page_tokens)
            self._first = self._window.first
        return self._window

    @property
    def first_shown(self) -> int | None:
        """Key of the first control in the window, or of the one next to it; ``None`` at the top."""
        first = self.window.first
        if first == 0:
            return None
        ordered = [*self.snapshot.lines[first:], *reversed(self.snapshot.lines[:first])]
        pieces = (piece for line in ordered for piece in line.pieces)
        return next((piece.key for piece in pieces if isinstance(piece, Control)), None)

    @property
    def outcome(self) -> SiteStatus:
        """How the site stands now."""
        return outcome(self.level, self.session.state)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended: answered, goal reached, or the browser failed."""
        if self.answer is not None or self.failure:
            return True
        return self.level.answer is None and all(self.outcome.goals)

    def act(self, action: PageAction) -> str:
        """Carry out an action on the page; return what to tell the agent.

        Raises:
            PageActionError: it could not be carried out.
        """
        before = self.snapshot
        try:
            after = self.backend.act(action)
        except BackendFailure as failure:
            self.failure = str(failure) or "the browser failed"
            return "The browser failed."
        self.acted.append((before, action))
        self.ids.see(after)
        if after.generation != before.generation:
            self._first = 0
        self.snapshot, self._window = after, None
        same = (
            after.url == before.url and after.generation == before.generation and after.lines == before.lines
        )
        return NO_EFFECT if same and not after.notice else OK

    def scroll(self, direction: str) -> str:
        """Move the window up or down by what it shows; return what to tell the agent."""
        window = self.window
        if direction == "down":
            if window.after >= window.count:
                return "This is the end of the page."
            self._first = window.after
        else:
            if window.first == 0:
                return "This is the top of the page."
            self._first = max(0, window.first - max(1, window.after - window.first))
        self._window = None
        return OK

    def key_of(self, element_id: str) -> int:
        """Return the key behind an id.

        Raises:
            PageActionError: ``stale`` or ``unknown_id``.
        """
        _ = self.window  # what was printed counts as shown
        return self.ids.key_of(element_id)

    def count_error(self, error: PageActionError) -> None:
        """Remember that an action could not be carried out."""
        self.errors[error.code] += 1
