"""``Pixelis/Rows-v0``: own rows, and a function that says what a reply is worth."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import SkipValidation
from typing_extensions import Unpack

from pixelis.envs.actions import ParsedAction
from pixelis.envs.keywords import Difficulty, Split, checked_keywords
from pixelis.envs.players import AnswerPlayer, ScriptedPlayer
from pixelis.envs.rendering import TextKeywords, text_keywords
from pixelis.envs.rows.rows import RowTasks, read_rows
from pixelis.envs.spaces import clean_text
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import TEXT_METADATA, ToolEnv, Verdict
from pixelis.envs.tools import Toolset
from pixelis.errors import ConfigError, RewardError, UserCodeError
from pixelis.rewards.answers.agreement import AnswerForm
from pixelis.rewards.terms.weights import check_number
from pixelis.user_code import load_function, place_of_function, user_code, with_place

ENV_ID = "Pixelis/Rows-v0"
SUCCESS = 1.0
"""Least reward of an episode that counts as a success."""

RowReward = Callable[[Mapping[str, Any], str], float | None]
"""From a row and a reply to what the reply is worth."""
Rows = str | os.PathLike[str] | Iterable[Mapping[str, Any]]


class RowsEnv(ToolEnv[Mapping[str, Any]]):
    """Reply once to the prompt of a row; the reward is what a function of yours says.

    The whole turn is the reply, as it stands. There are no tools, and nothing is added to the prompt.

    Args:
        rows: a list of dicts, the path of a JSONL or CSV file, or a ``datasets.Dataset``. A row has
            ``prompt`` (1 to 8,000 characters) and whatever the reward needs, such as ``answer``, all of it
            JSON. ``split`` (``train`` or ``test``) says where it belongs; without it the prompt decides, a
            fifth of them being for ``test``.
        reward: ``reward(row, text)``, a finite number; also as ``module:name``. At least 1 is a success.
            Without it rows have no labels: every reward is 0, and no ``info`` tells a success
            (docs/guide/without_labels.md).
        split: ``train`` or ``test``.
        difficulty: there is only 0.
        others: ``max_turns`` and ``render_mode`` (``ansi``).

    Raises:
        DatasetError: the rows are bad, see `read_rows`.
        ConfigError: ``reward`` is no function of a row and a text.
    """

    task_gap = 0.0
    success_line = SUCCESS
    metadata: dict[str, Any] = {**TEXT_METADATA}  # noqa: RUF012  # as ToolEnv

    @checked_keywords
    def __init__(
        self,
        *,
        rows: SkipValidation[Any],
        reward: SkipValidation[Any] = None,
        split: Split = "train",
        difficulty: Difficulty = 0,
        **others: Unpack[TextKeywords],
    ) -> None:
        self.rows = RowTasks(read_rows(rows))
        self._reward = None if reward is None else _checked(load_function(reward, "reward"))
        super().__init__(
            source=self.rows,
            toolset=Toolset([], _row_of),
            verifier=self._judge,
            difficulty=difficulty,
            split=split,
            **text_keywords(others, 1),
        )

    @property
    def instructions(self) -> str:
        """Nothing: the prompt stands alone."""
        return ""

    def parse(self, action: str) -> ParsedAction:
        """Return the whole turn as the answer."""
        text = clean_text(action)
        return ParsedAction((), text, text)

    @property
    def answer_form(self) -> AnswerForm:
        """A text, which is the whole turn."""
        return AnswerForm(tagged=False)

    def worth(self, row: Mapping[str, Any], text: str, number: int | str = "?") -> float | None:
        """Return what the function says a reply is worth; None where there is no function.

        It may be None for a row without ``answer`` where other rows have one: nobody has labelled it. For
        others None is most often a ``return`` that was forgotten.

        Raises:
            RewardError: that is no finite number.
            UserCodeError: the function raised.
        """
        if self._reward is None:
            return None
        with user_code(f"the reward of row {number}"):
            value = self._reward(row, text)
        if value is None and self.rows.is_partly_labelled and row.get("answer") is None:
            return None
        try:
            return check_number(value, "reward")
        except RewardError as error:
            raise RewardError(with_place(f"row {number}: {error}", place_of_function(self._reward))) from None

    def check_reward(self) -> None:
        """Ask what the empty reply to the first row is worth, which a model may well write.

        Raises:
            ConfigError: that is no finite number, or the function raises.
        """
        row = self.rows.first
        try:
            self.worth(dict(row.values), "", row.number)
        except (RewardError, UserCodeError) as error:
            raise ConfigError(
                f"{error}; it was asked for the empty reply: return a number for every row and text"
            ) from error

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the scripted players: ``oracle`` says the row's ``answer``."""
        return {**super().players(), "oracle": AnswerPlayer}

    def _judge(self, task: Task, answer: str | None, workspace: Mapping[str, Any]) -> Verdict:
        worth = self.worth(dict(workspace), answer or "", task.id.rpartition("-")[2])
        if worth is None:
            return Verdict(None, {"task": 0.0})
        worth = 0.0 if answer is None else worth
        return Verdict(worth >= SUCCESS, {"task": worth})


def _row_of(task: Task) -> Mapping[str, Any]:
    return task.data["row"]


def _checked(function: Callable[..., Any]) -> RowReward:
    """Return a function that takes a row and a text; `ConfigError` where it does not."""
    try:
        inspect.signature(function).bind({}, "")
    except TypeError as error:
        raise ConfigError(f"reward must take a row and a text, reward(row, text): {error}") from None
    except ValueError:  # of a built-in function nobody knows
        pass
    return function
