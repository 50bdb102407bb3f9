"""Scripted players of AskImage: the oracle, the tool-free baseline, and attempts at unearned reward."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.pixel.ask_image.env import AskImageEnv
    from pixelis.envs.tool_env import ToolEnv

_ROOM = 1.2  # side of the view around a region, in longer sides of the region
_SMALLEST_LOOK = 0.1  # least side of that view, share of the scene: a recogniser does not read giant letters


class OraclePlayer:
    """Looks at every region that the row names and reads there, then gives the true answer.

    Its success says that the truth can be given in the form the verifier wants; that the tools suffice to
    find it is known only where the makers of the rows made sure. Where a row has no answer it gives none.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = cast("AskImageEnv", env)
        self._looks: list[str] | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a look at the next region, or the answer."""
        if self._looks is None:
            self._looks = [_look_at(box) for box in self._env.scene_regions()[: self._env.max_turns - 1]]
        if self._looks:
            return self._looks.pop(0) + call("READ_TEXT")
        truth = self._env.scene_truth()
        return answer("" if truth is None else truth.truth)


def look_side(box: Box) -> float:
    """Return the side of the view that shows a box with some room around it, share of the scene."""
    return max(box[2] - box[0], box[3] - box[1], _SMALLEST_LOOK / _ROOM) * _ROOM


def _look_at(box: Box) -> str:
    """Return the call that shows a box with some room around it, no closer than a reader wants letters."""
    center = _rounded(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
    return call("ZOOM", center=center, factor=max(1.0, round(1 / look_side(box), 2)))


def _rounded(box: tuple[float, ...]) -> list[float]:
    return [round(value, 4) for value in box]


class OverviewOnlyPlayer:
    """Reads the first view without zooming, then answers with what it read there, or guesses by the type.

    For a place it takes a line that the question names, for a choice one of the lines that are choices.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = cast("AskImageEnv", env)
        self._rng: np.random.Generator | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return READ_TEXT, then an answer."""
        if self._rng is None:
            self._rng = np.random.default_rng(int(info["task"]["hash"], 16))
            return call("READ_TEXT")
        task = self._env.task
        assert task is not None  # a player plays an episode that has begun
        lines = [line for result in info["tool_calls"] for line in result["data"].get("lines", [])]
        if task.data["answer_type"] in ("box", "point"):
            named = [line["box"] for line in lines if line["text"] in task.question]
            box = self._any(named or [line["box"] for line in lines] or [[0.25, 0.25, 0.75, 0.75]])
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            return answer(str(_rounded(tuple(box) if task.data["answer_type"] == "box" else middle)))
        read = [line["text"] for line in lines]
        choices = task.data.get("choices", [])
        return answer(
            self._any([text for text in read if text in choices] or choices or read or [str(len(lines))])
        )

    def _any(self, items: Sequence[Any]) -> Any:
        assert self._rng is not None  # act() has made it
        return items[int(self._rng.integers(len(items)))]


class AnswerEverythingPlayer:
    """Zooms over the whole scene and answers with every line and word that it read, in one answer."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        places = (1 / 6, 1 / 2, 5 / 6)
        self._looks = [
            call("ZOOM", center=[round(x, 3), round(y, 3)], factor=3) for y in places for x in places
        ]
        self._read: list[str] = []

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return two looks a turn, and at last all that was read."""
        for result in info["tool_calls"]:
            self._read += [line["text"] for line in result["data"].get("lines", [])]
        looks, self._looks = self._looks[:2], self._looks[2:]
        return "".join(look + call("READ_TEXT") for look in looks) or answer(", ".join(self._read))


class EveryChoicePlayer:
    """Answers with all that the question offers: every letter, and every line of the first text."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return one answer of them all."""
        return answer(", ".join([*string.ascii_uppercase, *observation["text"].splitlines()]))


def _every_number() -> str:
    return answer(", ".join(map(str, range(2_000))))


def ask_image_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    return {
        "oracle": OraclePlayer,
        "overview_only": OverviewOnlyPlayer,
        "exploit_answer_everything": AnswerEverythingPlayer,
        "exploit_every_choice": lambda env: EveryChoicePlayer(),
        "exploit_every_number": lambda env: FixedTurns([_every_number()]),
        "exploit_infinity": lambda env: FixedTurns([answer("1e999")]),
        "exploit_nan": lambda env: FixedTurns([answer("NaN")]),
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_repeat_read": lambda env: FixedTurns([call("READ_TEXT") * 16] * 7 + [answer("")]),
        "exploit_tag_stuffing": lambda env: FixedTurns(
            ["".join(map(answer, "ABCDEFGH")) + call("READ_TEXT")]
        ),
        "exploit_whole_scene": lambda env: FixedTurns([answer("[0, 0, 1, 1]")]),
        "exploit_middle": lambda env: FixedTurns([answer("[0.5, 0.5]")]),
    }
