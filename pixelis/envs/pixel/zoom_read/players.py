"""Scripted players of ZoomRead: the oracle, the tool-free baseline, and attempts at unearned reward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, CODE_LENGTH
from pixelis.envs.pixel.drawing.signs import Scene, Sign
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

ORACLE_FACTORS = (6.0, 8.0, 4.0, 5.0, 10.0)


def looks_like_code(text: str) -> bool:
    """Return whether ``text`` has the form of a code."""
    return len(text) == CODE_LENGTH and all(character in CODE_ALPHABET for character in text)


def _target(env: ToolEnv[Any]) -> tuple[Scene, Sign]:
    from pixelis.envs.pixel.zoom_read.env import target_sign  # that module imports this one

    assert env.task is not None  # a player plays an episode that has begun
    return target_sign(env.task)


def read_sign(scene: Scene, sign: Sign, factors: Iterator[float], info: Mapping[str, Any]) -> str:
    """Return the turn that answers with the code that the last turn read, or looks at the sign once more."""
    for result in info["tool_calls"]:
        text = result["data"].get("text", "").replace(" ", "")
        if result["tool"] == "READ_TEXT" and looks_like_code(text):
            return answer(text)
    box = sign.box(scene.size)
    center = [round((box[0] + box[2]) / 2, 4), round((box[1] + box[3]) / 2, 4)]
    return call("ZOOM", center=center, factor=next(factors, 7.0)) + call("READ_TEXT", box=list(box))


class OraclePlayer:
    """Knows where the sign is, but reads it with the tools; tries another factor when no code came out."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env, self._factors, self._zoomed = env, iter(ORACLE_FACTORS), False

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return ZOOM, READ_TEXT on the sign, or the answer."""
        scene, sign = _target(self._env)
        return read_sign(scene, sign, self._factors, info)


class OverviewOnlyPlayer:
    """Reads the first view without zooming, then answers with a code it read, or a guess."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._rng: np.random.Generator | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return READ_TEXT, then an answer."""
        if self._rng is None:
            self._rng = np.random.default_rng(int(info["task"]["hash"], 16))
            return call("READ_TEXT")
        lines = [
            line["text"].replace(" ", "")
            for result in info["tool_calls"]
            for line in result["data"].get("lines", [])
        ]
        codes = [text for text in lines if looks_like_code(text)] or [
            "".join(self._rng.choice(list(CODE_ALPHABET), 4))
        ]
        return answer(codes[self._rng.integers(len(codes))])


class RandomSignPlayer:
    """Looks closer as the oracle does, but at any one of the signs: what not finding the one is worth."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env, self._factors = env, iter(ORACLE_FACTORS)
        self._sign: Sign | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return ZOOM and READ_TEXT on the sign drawn for this task, or the code that was read there."""
        if self._sign is None:
            scene, _ = _target(self._env)
            rng = np.random.default_rng(int(info["task"]["hash"], 16))
            self._sign = scene.signs[rng.integers(len(scene.signs))]
        return read_sign(_target(self._env)[0], self._sign, self._factors, info)


class AnswerEverythingPlayer:
    """Zooms over the whole scene and answers with every code it has read, in one answer."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        places = (1 / 6, 1 / 2, 5 / 6)
        self._places = iter([[round(x, 3), round(y, 3)] for y in places for x in places])
        self._read: list[str] = []

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return two looks a turn, and at last all that was read."""
        self._read += [
            line["text"] for result in info["tool_calls"] for line in result["data"].get("lines", [])
        ]
        calls = [
            call("ZOOM", center=place, factor=3) + call("READ_TEXT") for place in [*_take(self._places, 2)]
        ]
        return "".join(calls) or answer(" ".join(self._read))


def _take(items: Any, count: int) -> list[Any]:
    return [item for _, item in zip(range(count), items, strict=False)]


def stuffed_tags() -> str:
    """Return a turn of as many answers as there are letters in codes, and then more calls than are run."""
    return "".join(answer(letter * CODE_LENGTH) for letter in CODE_ALPHABET) + call("READ_TEXT") * 20


def zoom_read_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    return {
        "oracle": OraclePlayer,
        "overview_only": OverviewOnlyPlayer,
        "random_sign": RandomSignPlayer,
        "exploit_answer_everything": AnswerEverythingPlayer,
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns([stuffed_tags()]),
        "exploit_repeat_read": lambda env: FixedTurns([call("READ_TEXT") * 16] * 7 + [answer("")]),
        "exploit_format_only": lambda env: FixedTurns([call("ZOOM", center=[0.5, 0.5]), answer("code")]),
    }
