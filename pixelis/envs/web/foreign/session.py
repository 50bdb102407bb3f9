"""An episode on a page: the backend, the ids, and the part of the page that is shown."""

from __future__ import annotations

from pixelis.envs.tools import CallRefused, ToolOutput
from pixelis.envs.web.chromium.backend import ChromiumBackend
from pixelis.envs.web.chromium.hand_actions import ForeignAction
from pixelis.envs.web.page.backend import BackendFailure, PageActionError
from pixelis.envs.web.page.ids import IdBook
from pixelis.envs.web.page.outline import OutlineWindow, outline
from pixelis.envs.web.page.snapshot import Snapshot

EMPTY = Snapshot("about:blank", "", (), 0)


class PageSession:
    """What the tools of an environment with a real browser work on.

    Args:
        backend: shows the page.
        page_tokens: how much of the page is shown at a time, in tokens of about four characters.

    Attributes:
        snapshot: the page after the last action.
        failure: why the browser failed, if it did; nothing can be done then.
        over: set by the environment when the task has ended; calls are refused then.
        lost: whether the agent brought the page to where it cannot be shown any more, which ends the task.
    """

    def __init__(self, backend: ChromiumBackend, page_tokens: int) -> None:
        self.backend, self.page_tokens = backend, page_tokens
        self.snapshot = EMPTY
        self.failure = ""
        self.over = self.lost = False
        self._ids = IdBook()
        self._firsts = [0]
        self._window = OutlineWindow("", 0, 0, 0)

    def open(self, url: str) -> None:
        """Load the first page; if that is not possible, it is the episode's failure."""
        try:
            self.see(self.backend.open(url), acted=False)
        except (BackendFailure, PageActionError) as error:
            self.failure = f"the page could not be opened: {error}"

    def begin(self, snapshot: Snapshot) -> None:
        """Take a page as the first of the episode: ids count from here."""
        self._ids = IdBook()
        self.see(snapshot, acted=False)

    def see(self, snapshot: Snapshot, *, acted: bool = True) -> None:
        """Take note of what the page is now."""
        if snapshot.generation != self.snapshot.generation:
            self._firsts = [0]
        self.snapshot = snapshot
        self._ids.see(snapshot, acted=acted)
        self._draw()

    @property
    def text(self) -> str:
        """The part of the page that is shown."""
        return self._window.text

    def key(self, shown: str) -> int:
        """Return the key of the element with an id.

        Raises:
            CallRefused: ``stale`` or ``unknown_id``.
        """
        try:
            return self._ids.key_of(shown)
        except PageActionError as error:
            raise CallRefused(error.code, error.message) from None

    def do(self, action: ForeignAction, said: str) -> ToolOutput:
        """Carry out an action; the answer says ``said``, and whether the page looks as before.

        Raises:
            CallRefused: with the code of the ``PageActionError``; ``browser_failure``; ``episode_over``.
        """
        if self.over:
            raise CallRefused("episode_over", "The task has ended with the action before.")
        before = self.snapshot
        try:
            if self.failure:
                raise BackendFailure(self.failure)
            try:
                self.see(self.backend.act(action))
            except PageActionError as error:
                if error.page is not None:
                    self.see(error.page)
                elif error.code in ("off_site", "timeout", "crashed"):  # it may have been loaded anew
                    self.see(self.backend.look())
                raise
        except PageActionError as error:
            if error.code == "page_lost":
                self.over = self.lost = True
            raise CallRefused(error.code, error.message) from None
        except BackendFailure as failure:
            self.failure = str(failure)
            raise CallRefused("browser_failure", "The browser failed; the episode ends.") from None
        now = self.snapshot
        same = (before.lines, before.url, before.title) == (now.lines, now.url, now.title)
        return ToolOutput(said + (" The page looks as before." if same else ""), {"changed": not same})

    def scroll(self, down: bool) -> ToolOutput:
        """Show the next, or the previous, part of the page.

        Raises:
            CallRefused: ``no_more``: there is none.
        """
        if down and self._window.after < self._window.count:
            self._firsts.append(self._window.after)
        elif not down and len(self._firsts) > 1:
            self._firsts.pop()
        else:
            raise CallRefused("no_more", f"This is the {'end' if down else 'beginning'} of the page.")
        self._draw()
        return ToolOutput(f"Lines {self._window.first + 1}-{self._window.after} of {self._window.count}.")

    def _draw(self) -> None:
        self._window = outline(self.snapshot, self._ids, first=self._firsts[-1], page_tokens=self.page_tokens)
