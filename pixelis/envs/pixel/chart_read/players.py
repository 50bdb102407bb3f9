"""Scripted players of ChartRead: the oracle, guesses, lesser readings, and unearned reward."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.chart_read.axis import VALUES, label_value
from pixelis.envs.pixel.chart_read.scene import ChartScene
from pixelis.envs.pixel.chart_read.text import tick_texts
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

Reading = tuple[float, float]
"""A label's value, and its height in the scene, 0-1 from the top."""

LABEL = re.compile(r"\d\.\d{3}|\d\d\.\d\d|\d{3}\.\d|\d\.\d\dk|\d\d\.\dk")
"""What the labels of an axis look like."""

LABELS_READ = 5
FACTORS = (8.0, 10.0, 6.5, 9.0, 7.0)
"""Of the views in which labels are read: the next one where one failed."""

_SAME_LINE = 3 / 1536  # how far from the common line a label may be, share of the scene


def axis_line(readings: Sequence[Reading], log: bool) -> tuple[float, float, int]:
    """Return the line through most labels: slope, offset, and how many labels lie on it.

    It maps a height to the value (to its logarithm where ``log``): a misread label is left out. Of the lines
    through two labels the one that most labels are near is taken, then fitted to those by least squares
    (after RANSAC, Fischler and Bolles 1981, with all pairs in place of random ones).

    Args:
        readings: two or more.
        log: whether the axis is logarithmic.
    """
    points = np.array([(math.log(v) if log else v, y) for v, y in readings if v > 0 or not log])
    best = np.zeros(len(points), bool)
    for i, j in itertools.combinations(range(len(points)), 2):
        (u, y), (other, other_y) = points[i], points[j]
        if u != other and abs(y - other_y) > _SAME_LINE:
            off = np.abs(y + (points[:, 0] - u) * (other_y - y) / (other - u) - points[:, 1])
            best = max(best, off <= _SAME_LINE, key=np.count_nonzero)
    if not best.any():
        return 0.0, 0.0, 0
    rows = np.stack([points[best, 1], np.ones(best.sum())], 1)
    slope, offset = np.linalg.lstsq(rows, points[best, 0], rcond=None)[0]
    return float(slope), float(offset), len(np.unique(points[best].round(3), axis=0))


class ReadingPlayer:
    """Reads labels of the axis, outlines a bar or mark, and interpolates.

    It knows where these are and what kind of axis it is, but no number.

    Args:
        env: the environment that is played.
        zoom: whether it looks closer.
        asked: whether it looks at what is asked for, or at a bar or mark drawn by the task's hash.
        labels: how many of the labels nearest to what it outlined it averages; 0 for interpolating.
    """

    def __init__(self, env: ToolEnv[Any], *, zoom: bool = True, asked: bool = True, labels: int = 0) -> None:
        self._env, self._zoom, self._asked, self._labels = env, zoom, asked, labels
        self._factors = iter(FACTORS if zoom else FACTORS[:1])
        self._readings: list[Reading] = []
        self._height: float | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return looks at labels and at the bar or mark, or the answer."""
        from pixelis.envs.pixel.chart_read.env import asked_point  # that module imports this one

        assert self._env.task is not None  # a player plays an episode that has begun
        scene, *place = asked_point(self._env.task)
        if not self._asked:
            rng = np.random.default_rng(int(info["task"]["hash"], 16))
            place = [int(rng.integers(len(scene.series))), int(rng.integers(len(scene.categories)))]
        for result in info["tool_calls"]:
            self._note(result, scene)
        slope, offset, agree = axis_line(self._readings, scene.axis.log)
        factor = next(self._factors, None) if agree < 3 or self._height is None else None
        if factor is not None:
            return self._look_at_labels(scene, factor) + self._look_at_data(scene, place[0], place[1])
        if agree < 2 or self._height is None:
            return GuessPlayer().act(observation, info)
        if self._labels:
            apart = {value: abs(y - self._height) for value, y in self._readings}
            nearest = sorted(apart, key=lambda value: apart[value])[: self._labels]
            return answer(f"{sum(nearest) / len(nearest):.5g}")
        found = slope * self._height + offset
        return answer(f"{math.exp(found) if scene.axis.log else found:.5g}")

    def _note(self, result: Mapping[str, Any], scene: ChartScene) -> None:
        """Remember the labels that were read, and the height that was outlined."""
        for line in result["data"].get("lines", []):
            text = line["text"].replace(" ", "").lower()
            if LABEL.fullmatch(text):
                self._readings.append((label_value(text), (line["box"][1] + line["box"][3]) / 2))
        for region in result["data"].get("regions", []):
            _, top, _, bottom = region["box"]
            self._height = top if scene.kind == "bars" else (top + bottom) / 2

    def _look_at_labels(self, scene: ChartScene, factor: float) -> str:
        labels = tick_texts(scene)
        count = min(LABELS_READ, len(labels))
        turn = ""
        for index in np.linspace(0, len(labels) - 1, count).round().astype(int):
            label = labels[index]
            box = _around(label.left, label.row, label.width, scene.size)
            center = [round((box[0] + box[2]) / 2, 4), round((box[1] + box[3]) / 2, 4)]
            turn += self._zoom_to(center, factor) + call("READ_TEXT", box=box)
        return turn

    def _look_at_data(self, scene: ChartScene, series: int, category: int) -> str:
        """Look at the bar's upper end or at the mark; the point for SEGMENT is within it."""
        if scene.kind == "bars":
            left, top, right, _ = scene.bar(series, category)
            place, width = ((left + right) / 2, top + 10), right - left
        else:
            place, width = scene.point(series, category), 0
        factor = min(12.0, max(5.0, 960 / max(1, width)))
        point = [round(value / scene.size, 5) for value in place]
        return self._zoom_to(point, factor) + call("SEGMENT", point=point)

    def _zoom_to(self, center: list[float], factor: float) -> str:
        return call("ZOOM", center=center, factor=factor) if self._zoom else ""


def _around(left: int, row: int, width: int, size: int) -> list[float]:
    """Return a box around a label with room on each side, 0-1."""
    box = (left - 10, row - 17, left + width + 6, row + 17)
    return [round(min(max(value / size, 0.0), 1.0), 5) for value in box]


class GuessPlayer:
    """Answers at once with a value as likely as any, drawn by the task's hash."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess."""
        rng = np.random.default_rng(int(info["task"]["hash"], 16))
        return answer(f"{10 ** rng.uniform(*np.log10(VALUES)):.4g}")


def chart_read_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    numbers = [f"{1.02 ** (2 * step):.4g}" for step in range(175)]  # one of them is always right
    return {
        "oracle": ReadingPlayer,
        "tool_free": lambda env: GuessPlayer(),
        "overview_only": lambda env: ReadingPlayer(env, zoom=False),
        "halfway": lambda env: ReadingPlayer(env, labels=2),
        "random_point": lambda env: ReadingPlayer(env, asked=False),
        "exploit_nearest_label": lambda env: ReadingPlayer(env, labels=1),
        "exploit_answer_everything": lambda env: FixedTurns([answer(" ".join(numbers))]),
        "exploit_range": lambda env: FixedTurns([answer("1 to 1000")]),
        "exploit_plus_minus": lambda env: FixedTurns([answer("500 ± 500")]),
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns(["".join(map(answer, numbers))]),
        "exploit_same_number": lambda env: FixedTurns([answer("31.6")]),
        "exploit_repeat_segment": lambda env: FixedTurns([call("SEGMENT") * 4] * 3 + [answer("")]),
    }
