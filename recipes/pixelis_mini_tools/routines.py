"""Demonstrators that see nothing: they play pixel environments by what the tools say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from pixelis_mini.habits import CAREFUL, Demonstration, drawn_habit
from pixelis_mini_vl.aloud import combined
from pixelis_mini_vl.routine import Habits, Routine, lines_of
from pixelis_mini_vl.routines import QUARTERS, TOTAL, SizeCompare, TrackRead, amounts_of
from pixelis_mini_vl.routines import ReceiptSum as SeenReceipt

import pixelis  # noqa: F401 (it registers the environments)
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.chart_read.env import asked_point
from pixelis.envs.pixel.count_tiny.scene import LEVELS, CountScene
from pixelis.envs.pixel.receipt_sum.question import decimal_text
from pixelis.envs.tool_env import ToolEnv
from pixelis_mini_tools.scan import scanned
from pixelis_mini_tools.sheets import AskImage

BELOW_THE_NAME = 0.12
"""From the middle of a receipt's first line, which a whole view shows, to the middle of the receipt."""
THIRDS = ([0.17, 0.83], [0.5, 0.83], [0.83, 0.83])
"""Middles of three views of factor 3 along the foot of a chart."""
CATEGORIES_BELOW, ABOVE_THE_FOOT = 0.89, 0.89
"""Height from which on names of categories stand, and one that every bar has."""
USUAL_FOOT = "0.915"
"""Height of a chart's foot, for those who do not look."""
_LABEL = re.compile(r"\d+\.\d+k?")
_BOX = re.compile(r": \w[\w ]* \[([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+)\]")
_LISTED = re.compile(r"^(\d+): ", re.M)
_FIRST = re.compile(r"^1: (\w+) \[", re.M)


class ReceiptSum(SeenReceipt):
    """READ_TEXT finds the shop's name, ZOOM shows what is below it, whose lines are gone through aloud."""

    habits: ClassVar[Habits] = {
        CAREFUL: 0.25,
        "half_page": 0.55,  # right where the lines are named, and where what is asked stands above
        "printed_total": 0.07,
        "no_zoom": 0.07,
        "drops_one": 0.03,
        "wrong_place": 0.03,
    }

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the two looks, or the sum and the answer."""
        if self.turn == 1:
            return call("READ_TEXT")
        if self.turn == 2 and self.habit != "no_zoom":
            lines = lines_of(text)
            x0, y0, x1, y1 = lines[0][1] if lines else (0.5, 0.3, 0.5, 0.3)
            place = [(x0 + x1) / 2, (y0 + y1) / 2 + BELOW_THE_NAME]
            if self.habit == "wrong_place":
                place = self.rng.uniform(0.1, 0.9, 2).tolist()
            center = [round(min(max(value, 0.0), 1.0), 2) for value in place]
            return call("ZOOM", center=center, factor=3) + call("READ_TEXT")
        page = [row for row in amounts_of(text) if row[0] != TOTAL]
        if self.habit == "printed_total" or not page:
            return super().say(text, info)
        if self.ask.kind == "named":
            rows = [(name, dict(page)[name]) for name in self.ask.names if name in dict(page)]
            self._drop(rows, rows)
            said, result = combined(rows, self.ask.kind) if rows else ("", None)
        else:
            self._drop(page, [row for row in page if self.ask.names[0] in row[0].split()])
            seen = page[: (len(page) + 1) // 2] if self.habit == "half_page" else page
            said, result = scanned(seen, self.ask.names[0], self.ask.kind)
        if result is None:
            result = int(self.rng.integers(200, 2500))
        return f"{said} {answer(decimal_text(result))}".lstrip()

    def _drop(self, rows: list[tuple[str, int]], asked: list[tuple[str, int]]) -> None:
        """Forget a row that is asked for, where that is the habit and others are left."""
        if self.habit == "drops_one" and len(asked) > 1:
            rows.remove(asked[int(self.rng.integers(len(asked)))])


class ChartRead(Routine):
    """READ_TEXT finds the category and a label of the axis, SEGMENT the bar; CALCULATE says its value."""

    habits: ClassVar[Habits] = {
        CAREFUL: 0.25,
        "usual_foot": 0.5,  # right where the foot is about there
        "nearest_label": 0.1,
        "other_bar": 0.05,
        "one_look": 0.05,
        "answer_at_once": 0.05,
    }

    def begin(self) -> None:
        """Nothing is read yet."""
        scene, _, category = asked_point(self.task)
        self.asked = scene.categories[category]
        self.label = self.guess = f"{10 ** self.rng.uniform(0, 3):.3g}"
        self.rows = (0.0, 0.0)

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the looks, the outline, the calculation, or the answer."""
        if self.turn == 1 and self.habit != "answer_at_once":
            looks = THIRDS[: 1 if self.habit == "one_look" else 3]
            return "".join(call("ZOOM", center=place, factor=3) + call("READ_TEXT") for place in looks)
        if self.turn == 2:
            return self._outline(lines_of(text))
        bar = _BOX.search(text)
        if self.turn == 3 and bar is not None:
            if self.habit == "nearest_label":
                return answer(self.label)
            foot, (above, below) = bar[4], self.rows
            if self.habit == "usual_foot":
                foot = USUAL_FOOT
            number = self.label.replace("k", "*1000")
            rise = f"({foot}-({above:.4f}+{below:.4f})/2)"
            return call("CALCULATE", expression=f"{number}*({foot}-{bar[2]})/{rise}")
        value = re.fullmatch(r"[\d.e+-]+", text.strip())
        return answer(value[0] if self.turn == 4 and value is not None else self.guess)

    def _outline(self, lines: Sequence[tuple[str, list[float]]]) -> str:
        """Return the category's place and a label's aloud and SEGMENT there; a guess if one is missing."""
        numbers = [row for row in lines if _LABEL.fullmatch(row[0])]
        labels = [row for row in numbers if row[1][0] < 0.2 and float(row[0].rstrip("k"))]
        below = [row for row in lines if row[1][1] > CATEGORIES_BELOW and row not in numbers]
        names = [row for row in below if (row[0] != self.asked) == (self.habit == "other_bar")]
        if not names or not labels:
            return answer(self.guess)
        name, place = names[int(self.rng.integers(len(names)))]
        self.label, box = labels[0]
        self.rows = (box[1], box[3])
        aloud = f"{name} {place[0]:.4f}. {self.label} {box[1]:.4f} {box[3]:.4f}. "
        back = call("ZOOM", center=[0.5, 0.5], factor=1)
        return aloud + back + call("SEGMENT", point=[place[0], ABOVE_THE_FOOT])


class FewLooks(TrackRead):
    """Three looks a turn; the likeliest gives up after six, where the plate was not legible in those."""

    habits: ClassVar[Habits] = {CAREFUL: 0.25, "gives_up": 0.55, "no_track": 0.12, "answer_at_once": 0.08}
    looks, patience = 3, 2


class SizeByMeasure(SizeCompare):
    """As it is; the likeliest is to name what is listed first."""

    habits: ClassVar[Habits] = {
        CAREFUL: 0.25,
        "first_listed": 0.57,
        "answer_at_once": 0.1,
        "first_two": 0.04,
        "smallest": 0.04,
    }

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return SEGMENT, the measurements, or the answer."""
        if self.turn == 2 and self.habit == "first_listed":
            listed = _FIRST.search(text)
            return answer(listed[1]) if listed is not None else super().say(text, info)
        return super().say(text, info)


class CountTiny(Routine):
    """SEGMENT lists the pieces of the colour in four quarters; the number of the last one is the answer.

    Who counts in pairs leaves an odd piece out.
    """

    habits: ClassVar[Habits] = {
        CAREFUL: 0.25,
        "pairs": 0.57,  # right where the number is even
        "too_few": 0.08,
        "overview": 0.04,
        "other_colour": 0.02,
        "answer_at_once": 0.04,
    }

    def begin(self) -> None:
        """Choose the quarters and the colour."""
        colours = sorted({colour for colour, _ in CountScene.from_json(self.task.data["scene"]).looks})
        asked = self.task.data["colour"]
        others = [colour for colour in colours if colour != asked]
        self.colour = str(self.rng.choice(others)) if self.habit == "other_colour" else asked
        quarters = QUARTERS[: int(self.rng.integers(1, 4))] if self.habit == "too_few" else QUARTERS
        self.open = [call("ZOOM", center=quarter, factor=2) for quarter in quarters]
        if self.habit in ("answer_at_once", "overview"):
            self.open = ["" for _ in range(self.habit == "overview")]
        self.last = 0

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the next look, or the answer."""
        self.last = max([self.last, *(int(each) for each in _LISTED.findall(text))])
        if self.open:
            return self.open.pop(0) + call("SEGMENT", colour=self.colour)
        if self.habit == "answer_at_once" or not self.last:
            return answer(str(int(self.rng.choice(LEVELS[self.task.difficulty].counts))))
        return answer(str(self.last - self.last % 2 if self.habit == "pairs" else self.last))


ROUTINES: Mapping[str, type[Routine]] = {
    "SizeCompare": SizeByMeasure,
    "ReceiptSum": ReceiptSum,
    "TrackRead": FewLooks,
    "AskImage": AskImage,
    "CountTiny": CountTiny,
    "ChartRead": ChartRead,
}


def demonstrations(
    name: str, seeds: range, reader: str, questions: Path | None = None
) -> Iterator[Demonstration]:
    """Yield an episode of the train split for each seed, difficulty 0 in three of four, else 1 if it has one.

    Args:
        name: a key of `ROUTINES`.
        seeds: of ``reset``.
        reader: of READ_TEXT, ``ocr`` or ``truth``.
        questions: file of AskImage's; None for those of the package.
    """
    difficulties = (0, 0) if name in ("AskImage", "ChartRead") else (0, 1)
    more = {"data": str(questions)} if questions is not None and name == "AskImage" else {}
    envs = [_open(name, difficulty, reader, **more) for difficulty in difficulties]
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        env = envs[int(rng.random() < 0.25)]
        habit = drawn_habit(ROUTINES[name].habits, rng)
        observation, info = env.reset(seed=seed)
        yield played_out(env, ROUTINES[name](env, habit, rng), observation, info, habit)


def played_out(
    env: ToolEnv[Any], player: Routine, observation: Mapping[str, Any], info: Mapping[str, Any], habit: str
) -> Demonstration:
    """Return the episode that a player plays by a habit, from what ``reset`` has returned."""
    turns, over = [], False
    while not over:
        said = player.act(observation, info)
        turns.append((observation["text"], said))
        observation, _, terminated, truncated, info = env.step(said)
        over = terminated or truncated
    return Demonstration(tuple(turns), habit, bool(info["success"]))


def _open(name: str, difficulty: int, reader: str, **more: Any) -> ToolEnv[Any]:
    env: Any = gym.make(
        f"Pixelis/{name}-v0", difficulty=difficulty, reader=reader, **more, disable_env_checker=True
    )
    return env.unwrapped
