"""``Pixelis/ReasoningGym-v0``: the questions of reasoning-gym, each answered in one turn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from typing_extensions import Unpack

from pixelis.envs.actions import ParsedAction
from pixelis.envs.interop.gymnasium.choices import answer_in
from pixelis.envs.interop.reasoning.grading import worth
from pixelis.envs.interop.reasoning.tasks import Questions, question_after, question_of, task_names
from pixelis.envs.keywords import Difficulty, Expected, Flag, Names, Split, checked_keywords
from pixelis.envs.players import AnswerPlayer, ScriptedPlayer
from pixelis.envs.rendering import TextKeywords, text_keywords
from pixelis.envs.spaces import clean_text
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import TEXT_METADATA, ToolEnv, Verdict
from pixelis.envs.tools import Toolset

ENV_ID = "Pixelis/ReasoningGym-v0"
TaskNames = Annotated[
    tuple[str, ...],
    Names(task_names, '"chain_sum", or ["chain_sum", "maze"]', every="all"),
    Expected("one or several of reasoning-gym's tasks"),
]
EXPLOITS = {
    "exploit_variable": "oracle_answer",
    "exploit_entry": "entry['answer']",
    "exploit_valid": "valid_solutions[0]",
    "exploit_excuse": "I do not know",
}
"""What is said to be paid by a scorer that runs it, or takes anything."""
Workspace = tuple[Any, Mapping[str, Any]]


class ReasoningGymEnv(ToolEnv[Workspace]):
    """Answer one question of reasoning-gym; its own scorer judges.

    The answer is what stands in the last ``<answer>`` of the turn, the whole turn where there is none. Its
    scorers are asked as they are, but for answers that one would run as code: those are worth nothing
    (``grading``). A score of 1 is a success.

    Args:
        task: name of a task, several, or ``all``.
        config: fields of the task's configuration, by name.
        partial: pay scores below 1 as well, as reasoning-gym does. Many scorers give such to any text.
        difficulty: level of the task's curriculum, 0 the easiest; tasks without one, or whose curriculum
            leads nowhere, have 0 alone, which is the configuration that they come with.
        split: ``train`` or ``test``, decided by a hash of the question.
        others: ``max_turns`` and ``render_mode`` (``ansi``).

    Raises:
        MissingDependencyError: reasoning-gym is not installed.
        ConfigError: an unknown task, or a field of ``config`` that it does not have or refuses.
    """

    task_gap = 0.0
    success_line = 1.0
    metadata: dict[str, Any] = {**TEXT_METADATA}  # noqa: RUF012  # as ToolEnv

    @checked_keywords
    def __init__(
        self,
        *,
        task: TaskNames,
        config: dict[str, Any] | None = None,
        partial: Flag = False,
        difficulty: Difficulty = 0,
        split: Split = "train",
        **others: Unpack[TextKeywords],
    ) -> None:
        self._partial = partial
        super().__init__(
            source=Questions(task, config or {}),
            toolset=Toolset([], question_of),
            verifier=self._judge,
            difficulty=difficulty,
            split=split,
            **text_keywords(others, 1),
        )

    @property
    def instructions(self) -> str:
        """Where the answer is looked for."""
        return "Give the final answer as <answer>…</answer>."

    def parse(self, action: str) -> ParsedAction:
        """Return what is answered: what stands in the last ``<answer>``, else the whole turn."""
        text = clean_text(action)
        return ParsedAction((), answer_in(text).strip(), text)

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the scripted players: an oracle, floors, and what scorers that run answers would pay."""
        exploits = {name: functools.partial(_saying, text) for name, text in EXPLOITS.items()}
        return {**super().players(), "blind": Blind, **exploits, "oracle": AnswerPlayer}

    def _judge(self, task: Task, answer: str | None, workspace: Workspace) -> Verdict:
        score = worth(*workspace, answer) if answer else 0.0
        success = score >= 1.0
        return Verdict(success, {"task": score if self._partial else float(success)})


def _saying(text: str, env: ToolEnv[Any]) -> Says:
    return Says(text)


class Blind:
    """Gives the answer to another question of the same task: a floor, which kind scorers raise."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self.env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return it."""
        task = self.env.task
        if task is None:
            return ""
        _, entry = question_after(task, 1)
        return f"<answer>{entry['answer']}</answer>"


class Says:
    """Says always the same."""

    def __init__(self, text: str) -> None:
        self._text = text

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return it."""
        return self._text
