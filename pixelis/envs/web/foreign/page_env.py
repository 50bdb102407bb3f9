"""What environments on pages of others share: observation, the end, and a browser that fails."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Interval

from pixelis.envs.keywords import Whole, declared
from pixelis.envs.spaces import truncate_text
from pixelis.envs.tasks import Task, TaskSource
from pixelis.envs.tool_env import MAX_TEXT_LENGTH, Verdict
from pixelis.envs.tools import ToolResult, Toolset
from pixelis.envs.web.chromium.backend import ChromiumBackend
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.chromium.views import ViewedEnv, ViewSettings
from pixelis.envs.web.foreign.session import PageSession
from pixelis.envs.web.foreign.tools import HAND_TOOLS, PAGE_TOOLS

MAX_PAGE_TOKENS = 1_600
"""What fits into an observation besides what the tools said."""
_PAGE_TOKENS = declared("page_tokens", Annotated[Whole, Interval(ge=50, le=MAX_PAGE_TOKENS)])


class PageEnv(ViewedEnv[PageSession]):
    """A task on a page in a real browser.

    After each turn the page as it is then is shown. The task ends when ``has_ended`` says so, with an
    answer, at ``max_turns``, or when the page can no longer be shown, which is a failure of the agent. If the
    browser fails by itself (it was killed) the episode ends, its ``info`` has ``valid_for_training=False``
    and a ``failure_reason``, and the next ``reset`` starts another browser.

    Args:
        source: where tasks come from.
        settings: how pages are seen and what they may reach.
        views: what is shown of a page.
        fresh: a new browser context each episode.
        max_turns: steps until the episode is truncated.
        split: ``train`` or ``test``.
    """

    knows_solutions = False

    def __init__(
        self,
        *,
        source: TaskSource,
        settings: PageSettings,
        views: ViewSettings,
        fresh: bool = True,
        max_turns: int = 20,
        split: str = "train",
    ) -> None:
        self.page_tokens = _PAGE_TOKENS.read(views.page_tokens)
        self.backend = ChromiumBackend(settings, fresh=fresh)
        super().__init__(
            views=views,
            window=settings,
            source=source,
            toolset=Toolset([*PAGE_TOOLS, *HAND_TOOLS], self.open_page),
            verifier=self.judge,
            max_turns=max_turns,
            split=split,
        )

    # ------------------------------------------------------------------ for subclasses

    def open_page(self, task: Task) -> PageSession:
        """Return a session on the task's page."""
        raise NotImplementedError

    def judge(self, task: Task, answer: str | None, workspace: PageSession) -> Verdict:
        """Return the verdict on a finished episode."""
        raise NotImplementedError

    def has_ended(self) -> bool:
        """Return whether the task has ended by what was done on the page; asked after each call."""
        return False

    # ------------------------------------------------------------------ ViewedEnv

    @property
    def is_over(self) -> bool:
        """Whether the task has ended, or the browser has failed."""
        return self.workspace.over or bool(self.workspace.failure)

    @property
    def failure(self) -> str:
        """Why the browser failed; empty when it has not."""
        return self.workspace.failure

    def close(self) -> None:
        """Close the page; the browser stays for other environments of the process."""
        self.backend.close()

    def run_call(self, call: Any) -> ToolResult:
        """Carry out a call and see whether the page has ended the episode."""
        result = super().run_call(call)
        if not self.is_over:
            self.workspace.over = self.has_ended()
        return result

    def build_observation(self, text: str) -> dict[str, Any]:
        """Return the observation: what was said, and the page under it."""
        page = self.workspace.text
        return super().build_observation(f"{truncate_text(text, MAX_TEXT_LENGTH - len(page) - 1)}\n{page}")

    def build_info(self, results: list[Any]) -> dict[str, Any]:
        """Return the info, with the page's ``url``."""
        return {**super().build_info(results), "url": self.workspace.snapshot.url}
