"""Scripted players of WireTrace: the oracle, baselines that do not follow the cable, unearned reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.actions import MAX_CALLS_PER_TURN
from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.wire_trace.curves import STEPS, all_curves, strand_curve
from pixelis.envs.pixel.wire_trace.grid import cables, follow, possible_ends
from pixelis.envs.pixel.wire_trace.scene import WireScene
from pixelis.envs.pixel.zoom_read.players import (
    ORACLE_FACTORS,
    AnswerEverythingPlayer,
    OverviewOnlyPlayer,
    read_sign,
    stuffed_tags,
)
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

_FOLLOW_FACTOR = 8  # of the oracle's views: a cable is ten pixels wide


def _cable(env: ToolEnv[Any]) -> tuple[WireScene, int, int]:
    from pixelis.envs.pixel.wire_trace.env import asked_cable  # that module imports this one

    assert env.task is not None  # a player plays an episode that has begun
    return asked_cable(env.task)


class ReadPortPlayer:
    """Reads the label of one port with ZOOM and READ_TEXT and answers with what it says.

    Args:
        env: the environment.
        choose: ``(scene, start, end, generator) -> port``; the generator is seeded with the task's hash.
    """

    def __init__(
        self, env: ToolEnv[Any], choose: Callable[[WireScene, int, int, np.random.Generator], int]
    ) -> None:
        self._env, self._choose, self._factors = env, choose, iter(ORACLE_FACTORS)

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return ZOOM, READ_TEXT on the port's label, or the answer."""
        scene, start, end = _cable(self._env)
        rng = np.random.default_rng(int(info["task"]["hash"], 16))
        board = scene.labels()
        return read_sign(board, board.signs[self._choose(scene, start, end, rng)], self._factors, info)


class OraclePlayer:
    """Knows where the cable runs: goes along it with ZOOM and SEGMENT, and reads the label at its end."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env, self._read = env, ReadPortPlayer(env, lambda scene, start, end, rng: end)
        self._places: list[list[float]] | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return looks along the cable, eight a turn, then the look at the label, then the answer."""
        if self._places is None:
            scene, start, _ = _cable(self._env)
            self._places = cable_places(scene, start)
        turn, self._places = self._places[: MAX_CALLS_PER_TURN // 2], self._places[MAX_CALLS_PER_TURN // 2 :]
        if not turn:
            return self._read.act(observation, info)
        return "".join(
            call("ZOOM", center=at, factor=_FOLLOW_FACTOR) + call("SEGMENT", point=at) for at in turn
        )


def cable_places(scene: WireScene, start: int) -> list[list[float]]:
    """Return a place on a cable for every tile it goes through, apart from crossings, 0-1 of the scene."""
    curves = all_curves(scene.mesh)
    strands = follow(scene.tiles, scene.grid, start)[1]
    points = [strand_curve(curves, strand)[STEPS // 8] / scene.side for strand in strands]
    return [[round(float(x), 4), round(float(y), 4)] for x, y in points]


def opposite_port(scene: WireScene, start: int) -> int:
    """Return the port straight across the board."""
    grid = scene.grid
    return (3 * grid if start // grid % 2 == 0 else 5 * grid) - 1 - start


def port_of_colour(scene: WireScene, start: int, rng: np.random.Generator) -> int:
    """Return any one of the other ports that have a cable of the same colour."""
    ends = [
        (ends, colour)
        for (*ends, _), colour in zip(cables(scene.tiles, scene.grid), scene.colours, strict=True)
    ]
    own = next(colour for ports, colour in ends if start in ports)
    same = [port for ports, colour in ends for port in ports if colour == own and port != start]
    return int(rng.choice(same))


def any_port(scene: WireScene, start: int, rng: np.random.Generator) -> int:
    """Return any one of the ports a cable can end in."""
    count = sum(kind < 2 for kind in scene.tiles)
    return int(rng.choice(possible_ends(scene.grid, count, start)))


class GuessPlayer:
    """Answers at once with a code of the task's split, drawn by the task's hash."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess."""
        rng = np.random.default_rng(int(info["task"]["hash"], 16))
        return answer(sample_codes(rng, 1, "test")[0])


class ParrotPortPlayer:
    """Answers with the port that the question names."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the code in the question."""
        return answer(observation["text"].partition("starts at port ")[2][:4])


def wire_trace_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    return {
        "oracle": OraclePlayer,
        "tool_free": lambda env: GuessPlayer(),
        "overview_only": OverviewOnlyPlayer,
        "any_port": partial(
            ReadPortPlayer, choose=lambda scene, start, end, rng: any_port(scene, start, rng)
        ),
        "straight_line": partial(
            ReadPortPlayer, choose=lambda scene, start, end, rng: opposite_port(scene, start)
        ),
        "next_port": partial(
            ReadPortPlayer, choose=lambda scene, start, end, rng: (start + 1) % len(scene.codes)
        ),
        "colour_only": partial(
            ReadPortPlayer, choose=lambda scene, start, end, rng: port_of_colour(scene, start, rng)
        ),
        "exploit_answer_everything": AnswerEverythingPlayer,
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_parrot_port": lambda env: ParrotPortPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns([stuffed_tags()]),
        "exploit_repeat_segment": lambda env: FixedTurns([call("SEGMENT") * 8] * 2 + [answer("")]),
    }
