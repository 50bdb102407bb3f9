"""Scripted players of CountTiny: the oracle, the tool-free baselines, and unearned reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.actions import MAX_CALLS_PER_TURN
from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.count_tiny.scene import LEVELS, SCENE_SIZE
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

PIECE_PIXELS = 15
"""How long a piece is in the oracle's views, pixels of a view of 384."""

_LONG = 1.5  # length over width of a box from which on a piece is a stick


class OraclePlayer:
    """Looks at every part of the table with ZOOM and SEGMENT and counts what is listed in the right look.

    It knows the size of the pieces and the colour asked for, not where the pieces are. Views overlap; a piece
    cut off by a view's edge is left to the next view, and one that is seen twice is counted once.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env
        self._places: list[list[float]] = []
        self._seen: list[tuple[float, float]] = []
        self._factor = 1.0

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next ZOOMs and SEGMENTs, or the count."""
        assert self._env.task is not None  # a player plays an episode that has begun
        task = self._env.task
        size = LEVELS[task.difficulty].size
        if self._factor == 1:
            self._factor = math.ceil(PIECE_PIXELS * SCENE_SIZE / 384 / size)
            self._places = tiling(self._factor, 2 * size / SCENE_SIZE)
        colour, kind = task.data["colour"], task.data["kind"]
        for zoom, segment in zip(info["tool_calls"][::2], info["tool_calls"][1::2], strict=False):
            self._note(zoom["data"]["view"], segment["data"]["regions"], (colour, kind), size / SCENE_SIZE)
        turn, rest = self._places[: MAX_CALLS_PER_TURN // 2], self._places[MAX_CALLS_PER_TURN // 2 :]
        if not turn:
            return answer(str(len(self._seen)))
        self._places = rest
        return "".join(call("ZOOM", center=at, factor=self._factor) + call("SEGMENT") for at in turn)

    def _note(
        self,
        view: Sequence[float],
        rows: Sequence[Mapping[str, Any]],
        look: tuple[str, str | None],
        size: float,
    ) -> None:
        """Remember the pieces of a view that have the look, lie wholly in it and were not seen before."""
        rim = 1.5 / 384 / self._factor
        for row in rows:
            x0, y0, x1, y1 = row["box"]
            cut_off = x0 < view[0] + rim or y0 < view[1] + rim or x1 > view[2] - rim or y1 > view[3] - rim
            width, height = x1 - x0, y1 - y0
            stick = max(width, height) > _LONG * min(width, height)
            if cut_off or row["colour"] != look[0] or (look[1] is not None and stick != (look[1] == "stick")):
                continue
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            if all(max(abs(x - a), abs(y - b)) > size / 2 for a, b in self._seen):
                self._seen.append((x, y))


def tiling(factor: float, overlap: float) -> list[list[float]]:
    """Return centres of square views that cover the scene, row by row.

    Args:
        factor: of the views; each is 1 / factor wide.
        overlap: how much of the scene neighbours have in common at least, share of the scene.
    """
    side = 1 / factor
    count = 1 if factor <= 1 else math.ceil((1 - side) / (side - overlap)) + 1
    steps = [round(side / 2 + (1 - side) * i / max(1, count - 1), 5) for i in range(count)]
    return [[x, y] for y in steps for x in steps]


class OverviewOnlyPlayer:
    """Counts what SEGMENT lists in the first view, without looking closer; guesses when that is nothing."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return SEGMENT, then an answer."""
        assert self._env.task is not None  # a player plays an episode that has begun
        if not info["tool_calls"]:
            return call("SEGMENT")
        rows = info["tool_calls"][-1]["data"]["regions"]
        count = sum(row["colour"] == self._env.task.data["colour"] for row in rows)
        return answer(str(count)) if count else GuessPlayer().act(observation, info)


class GuessPlayer:
    """Answers at once with a count the level may have, drawn by the task's hash."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess."""
        counts = LEVELS[info["task"]["difficulty"]].counts
        return answer(str(np.random.default_rng(int(info["task"]["hash"], 16)).choice(counts)))


def count_tiny_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    numbers = [str(number) for number in range(4, 70)]
    return {
        "oracle": OraclePlayer,
        "tool_free": lambda env: GuessPlayer(),
        "overview_only": OverviewOnlyPlayer,
        "exploit_answer_everything": lambda env: FixedTurns([answer(" ".join(numbers))]),
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns(["".join(map(answer, numbers))]),
        "exploit_repeat_segment": lambda env: FixedTurns([call("SEGMENT") * 16] * 3 + [answer("")]),
        "exploit_same_number": lambda env: FixedTurns([answer("16")]),
    }
