"""Scripted players of TrackRead: the oracle, players that do not follow the car, and unearned reward."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, CODE_LENGTH
from pixelis.envs.pixel.track_read.scene import CLEAR, TrackScene, Vehicle
from pixelis.envs.pixel.zoom_read.players import looks_like_code
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

_MARGINS = (0.1, 0.25, 0.0)  # of the views in which a plate is read, shares of the car's length, one a try


def _target(env: ToolEnv[Any]) -> tuple[TrackScene, Vehicle]:
    from pixelis.envs.pixel.track_read.env import target_car  # that module imports this one

    assert env.task is not None  # a player plays an episode that has begun
    return target_car(env.task)


def _rng(info: Mapping[str, Any]) -> np.random.Generator:
    return np.random.default_rng(int(info["task"]["hash"], 16))


def question_box(question: str) -> list[float]:
    """Return the box in frame 0 that a question points at."""
    return json.loads(re.findall(r"\[[^]]*]", question)[0])


def codes_read(info: Mapping[str, Any]) -> list[str]:
    """Return what the last turn read that has the form of a code, in its order."""
    texts = [
        line["text"].replace(" ", "")
        for result in info["tool_calls"]
        for line in result["data"].get("lines", ())
    ]
    return [text for text in texts if looks_like_code(text)]


def look_at(frame: int, box: Sequence[float], margin: float) -> str:
    """Return the calls that open a frame, look at a box with a margin, and read there."""
    reach = margin * (box[2] - box[0])
    wide = [box[0] - reach, box[1] - reach, box[2] + reach, box[3] + reach]
    inside = [round(min(max(value, 0.0), 1.0), 4) for value in wide]
    return call("SELECT_FRAME", frame=frame) + call("ZOOM", box=inside) + call("READ_TEXT", box=list(box))


def _last_box(info: Mapping[str, Any]) -> list[float] | None:
    """Return where the last TRACK of the last turn saw the object in its last frame."""
    tracks = [r["data"]["track"] for r in info["tool_calls"] if r["tool"] == "TRACK" and r["ok"]]
    return tracks[-1][-1]["box"] if tracks else None


class OraclePlayer:
    """Picks the car out with SEGMENT, follows it with TRACK, and reads its plate with READ_TEXT.

    It knows in which frames the plate can be read, not where the car is then, nor the code. It asks for one
    of these frames after the other until a code was read.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env
        self._frames: list[int] = []
        self._region: int | None = None
        self._box: list[float] = []
        self._tries = 0

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return SEGMENT, TRACK, a look at the car, or the answer."""
        if not self._box:
            _, car = _target(self._env)
            self._frames = [frame for frame, state in enumerate(car.states) if state == CLEAR]
            self._box = question_box(observation["text"])
            return call("SEGMENT", box=self._box)
        codes = codes_read(info)
        if codes:
            return answer(codes[0])
        seen, frame = _last_box(info), self._frames[self._tries % len(self._frames)]
        if seen is not None:
            self._tries += 1
            return look_at(frame, seen, _MARGINS[self._tries % len(_MARGINS)])
        return self._follow(info, frame)

    def _follow(self, info: Mapping[str, Any], frame: int) -> str:
        """Return TRACK from frame 0: of the region there, or of the box once the region is of the past."""
        regions = [
            row["region"]
            for r in info["tool_calls"]
            if r["tool"] == "SEGMENT"
            for row in r["data"]["regions"]
        ]
        if regions:
            return call("TRACK", region=regions[-1], to=frame)
        back = call("SELECT_FRAME", frame=0) + call("ZOOM", center=[0.5, 0.5], factor=1)
        return back + call("TRACK", box=self._box, to=frame)


class AnyCarPlayer:
    """Looks as the oracle does, but at any one of the cars, or of those of the colour that is asked for.

    It knows where each car is and when it can be read, and follows none: its success is one over the cars
    among which it draws.
    """

    def __init__(self, env: ToolEnv[Any], *, same_colour: bool) -> None:
        self._env, self._same_colour = env, same_colour
        self._looks: list[str] = []

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a look at the car drawn for this task in a frame in which it can be read, or the answer."""
        if not self._looks:
            scene, target = _target(self._env)
            colours = {target.colour} if self._same_colour else {car.colour for car in scene.vehicles}
            cars = [car for car in scene.vehicles if car.code and car.colour in colours]
            self._looks = _looks(scene, cars[int(_rng(info).integers(len(cars)))])
        codes = codes_read(info)
        if codes or not self._looks:
            return answer(codes[0] if codes else "")
        return self._looks.pop(0)


def _looks(scene: TrackScene, car: Vehicle) -> list[str]:
    """Return looks at a car wherever its plate can be read."""
    clear = [frame for frame in range(scene.frames) if car.states[frame] == CLEAR]
    boxes = {frame: [round(value / scene.size, 4) for value in car.box(frame)] for frame in clear}
    return [look_at(frame, boxes[frame], margin) for margin in _MARGINS for frame in clear]


class AnswerEverythingPlayer:
    """Reads frames part by part and answers with all codes it has read, and one more, in one answer."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._frames = [18, 22, 26]
        self._read: list[str] = []

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the views of one frame a turn, and at last all that was read."""
        self._read += codes_read(info)
        if not self._frames:
            return answer(" ".join([*self._read, _guess(info)]))
        places = [[x, y] for y in (0.4, 0.75) for x in (1 / 6, 1 / 2, 5 / 6)]
        views = [call("ZOOM", center=place, factor=3) + call("READ_TEXT") for place in places]
        return call("SELECT_FRAME", frame=self._frames.pop()) + "".join(views)


class OverviewOnlyPlayer:
    """Reads the first view without a closer look, then answers with a code it read, or a guess."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return READ_TEXT, then an answer."""
        if not info["tool_calls"]:
            return call("READ_TEXT")
        return answer((codes_read(info) or [_guess(info)])[0])


class GuessPlayer:
    """Answers at once with a code, drawn by the task's hash."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess."""
        return answer(_guess(info))


def _guess(info: Mapping[str, Any]) -> str:
    return "".join(_rng(info).choice(list(CODE_ALPHABET), CODE_LENGTH, replace=False))


def track_read_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    stuffing = "".join(answer(letter * CODE_LENGTH) for letter in CODE_ALPHABET)
    track = call("TRACK", box=[0.4, 0.4, 0.5, 0.5], to=16)
    return {
        "oracle": OraclePlayer,
        "same_colour": lambda env: AnyCarPlayer(env, same_colour=True),
        "wrong_car": lambda env: AnyCarPlayer(env, same_colour=False),
        "tool_free": lambda env: GuessPlayer(),
        "overview_only": lambda env: OverviewOnlyPlayer(),
        "exploit_answer_everything": AnswerEverythingPlayer,
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns([stuffing]),
        "exploit_repeat_track": lambda env: FixedTurns([track * 3] * 2 + [answer("")]),
    }
