"""Scripted players of SizeCompare: the oracle, guesses, lesser measurements, and unearned reward."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.size_compare.paint import size_labels
from pixelis.envs.pixel.size_compare.scene import LEVELS, RANGE, SCENE_SIZE, SizeScene
from pixelis.envs.pixel.tools.palette import BASE_COLOURS
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

FACTOR = 4  # of the oracle's views: a pixel of the scene is one of the view, so nothing is blurred
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


def candidates(question: str) -> list[str]:
    """Return the colours a question names, in its order."""
    return re.findall("|".join(BASE_COLOURS), question.splitlines()[0])


class MeasuringPlayer:
    """Measures one shape after the other with SEGMENT and GET_PROPERTIES; answers with the largest.

    It knows where the shapes are, not how large. With ``factor`` 1 it measures in the overview.
    """

    def __init__(self, env: ToolEnv[Any], factor: float) -> None:
        self._env, self._factor = env, factor
        self._areas: list[float] = []
        self._points: list[tuple[list[float], list[float]]] = []

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return GET_PROPERTIES of the last shape with ZOOM and SEGMENT on the next one, or the answer."""
        assert self._env.task is not None  # a player plays an episode that has begun
        scene = SizeScene.from_json(self._env.task.data["scene"])
        results = info["tool_calls"]
        if not self._points:
            self._points = _points(scene)
        self._areas += [r["data"]["area_share"] for r in results if r["tool"] == "GET_PROPERTIES"]
        if len(self._areas) == len(scene.shapes):
            return answer(scene.shapes[int(np.argmax(self._areas))].colour)
        regions = [row["region"] for r in results if r["tool"] == "SEGMENT" for row in r["data"]["regions"]]
        turn = call("GET_PROPERTIES", region=regions[-1]) if regions else ""
        index = len(self._areas) + bool(regions)
        if index == len(scene.shapes):
            return turn
        center, point = self._points[index]
        zoom = call("ZOOM", center=center, factor=self._factor) if self._factor > 1 else ""
        return turn + zoom + call("SEGMENT", point=point)


def _points(scene: SizeScene) -> list[tuple[list[float], list[float]]]:
    """Return, for each shape, the middle of its visible box and of its visible area, 0-1."""
    side = SCENE_SIZE // 2
    labels = size_labels(scene, _WHOLE, side)
    found = []
    for number in range(1, len(scene.shapes) + 1):
        rows, columns = np.nonzero(labels == number)
        box = [round((int(v.min()) + int(v.max()) + 1) / 2) / side for v in (columns, rows)]
        found.append(
            ([round(v, 8) for v in box], [round(float(v.mean()) / side, 4) for v in (columns, rows)])
        )
    return found


class MeasureOnePlayer:
    """Measures one shape and judges by the level's usual areas: answers with it, or guesses another.

    It shows that one area tells little: areas differ from scene to scene by more than the margin.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return ZOOM, SEGMENT and GET_PROPERTIES of the shape named first, then the answer."""
        assert self._env.task is not None  # a player plays an episode that has begun
        task = self._env.task
        if not info["tool_calls"]:
            center, point = _points(SizeScene.from_json(task.data["scene"]))[0]
            return (
                call("ZOOM", center=center, factor=FACTOR)
                + call("SEGMENT", point=point)
                + call("GET_PROPERTIES", region=1)
            )
        level = LEVELS[task.difficulty]
        usual = level.area / (1 + level.margin) ** ((RANGE + 1) / 2) / SCENE_SIZE**2 * FACTOR**2
        names = candidates(task.question)
        large = info["tool_calls"][-1]["data"].get("area_share", 0) > usual
        others = names[1:]
        return answer(names[0] if large else others[int(task.content_hash, 16) % len(others)])


class BoxesPlayer:
    """Lists the regions of the overview and answers with the one whose box is the largest: no measuring."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return SEGMENT, then the colour with the largest box."""
        if not info["tool_calls"]:
            return call("SEGMENT")
        rows = info["tool_calls"][-1]["data"].get("regions", [])
        boxes = {
            row["colour"]: (row["box"][2] - row["box"][0]) * (row["box"][3] - row["box"][1]) for row in rows
        }
        return answer(max(boxes, key=lambda name: boxes[name])) if boxes else ""


class ListedPlayer:
    """Measures every region that SEGMENT lists in the overview; answers with the largest of those named.

    It knows nothing but what it reads: neither the places nor how many shapes there are.
    """

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return SEGMENT, then GET_PROPERTIES of each region, then the answer."""
        results = info["tool_calls"]
        if not results:
            self._names = candidates(observation["text"])
            return call("SEGMENT")
        if results[0]["tool"] == "SEGMENT":
            rows = results[0]["data"].get("regions", [])
            return "".join(call("GET_PROPERTIES", region=row["region"]) for row in rows)
        found = [result["data"] for result in results if result["ok"]]
        areas = {row["colour"]: row["area_share"] for row in found if row["colour"] in self._names}
        return answer(max(areas, key=lambda name: areas[name])) if areas else ""


class GuessPlayer:
    """Answers at once with one of the shapes the question names, drawn by the task's hash."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess."""
        names = candidates(observation["text"])
        rng = np.random.default_rng(int(info["task"]["hash"], 16))
        return answer(names[int(rng.integers(len(names)))])


class ListAllPlayer:
    """Answers with every shape the question names."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return all colours in one answer."""
        return answer(" ".join(candidates(observation["text"])))


class FirstNamedPlayer:
    """Answers with the shape the question names first."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the first colour."""
        return answer(candidates(observation["text"])[0])


def size_compare_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    stuffing = "".join(answer(name) for name in BASE_COLOURS) + call("SEGMENT") * 20
    return {
        "oracle": lambda env: MeasuringPlayer(env, FACTOR),
        "no_zoom": lambda env: MeasuringPlayer(env, 1),
        "measure_one": MeasureOnePlayer,
        "listed": lambda env: ListedPlayer(),
        "boxes_only": lambda env: BoxesPlayer(),
        "tool_free": lambda env: GuessPlayer(),
        "exploit_first_named": lambda env: FirstNamedPlayer(),
        "exploit_list_all": lambda env: ListAllPlayer(),
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns([stuffing]),
        "exploit_repeat_segment": lambda env: FixedTurns([call("SEGMENT") * 4] * 3 + [answer("")]),
    }
