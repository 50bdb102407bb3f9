"""Demonstrators of the pixel environments: short routines that a small model can learn, with their flaws.

A routine knows the truth of its task and uses it where the model is to *see* (a place, a colour, where a
cable ends); the rest it copies or computes from what the tools said, in words before the call or the answer.
A habit says how well it is played: ``careful``, or one of the environment's flaws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.chart_read.env import asked_point
from pixelis.envs.pixel.count_tiny.scene import LEVELS as COUNT_LEVELS
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion, decimal_text
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene
from pixelis.envs.pixel.track_read.env import target_car
from pixelis.envs.pixel.track_read.scene import CLEAR
from pixelis.envs.pixel.wire_trace.env import asked_cable
from pixelis.envs.pixel.zoom_read.env import target_sign
from pixelis.envs.tool_env import ToolEnv
from pixelis_mini_vl.aloud import combined, compared
from pixelis_mini_vl.routine import Habits, Routine, lines_of, near

QUARTERS = ([0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75])
_MONEY = re.compile(r"(\d{1,3})[.,](\d\d)")
_MEASURED = re.compile(r"^colour (.+), area_share ([\d.]+),", re.M)


class ZoomRead(Routine):
    """ZOOM to the sign, READ_TEXT, answer with the line nearest to the sign."""

    habits: ClassVar[Habits] = {
        "careful": 0.45,
        "wrong_place": 0.1,
        "no_zoom": 0.29,
        "answer_at_once": 0.09,
        "no_reading": 0.07,
    }

    def begin(self) -> None:
        """Choose the sign to look at."""
        scene, target = target_sign(self.task)
        others = [sign for sign in scene.signs if sign is not target]
        wrong = self.habit == "wrong_place" and others
        sign = others[int(self.rng.integers(len(others)))] if wrong else target
        self.at = np.asarray(sign.center) / scene.size
        place = [near(min(v, 0.95), 0.1) for v in self.at]
        zoom, read = call("ZOOM", center=place, factor=4), call("READ_TEXT")
        self.script = {"no_zoom": [read], "answer_at_once": [], "no_reading": [zoom]}.get(
            self.habit, [zoom, read]
        )

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the next call of the script, or the answer."""
        if self.script:
            return self.script.pop(0)
        lines = lines_of(text)
        return answer(min(lines, key=self._distance)[0] if lines else self.random_code())

    def _distance(self, line: tuple[str, Sequence[float]]) -> float:
        x0, y0, x1, y1 = line[1]
        return float(np.hypot((x0 + x1) / 2 - self.at[0], (y0 + y1) / 2 - self.at[1]))


class SizeCompare(Routine):
    """SEGMENT lists the shapes, GET_PROPERTIES measures each, the largest is the answer."""

    habits: ClassVar[Habits] = {
        "careful": 0.3,
        "answer_at_once": 0.3,
        "first_two": 0.15,
        "smallest": 0.15,
        "list_only": 0.1,
    }

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return SEGMENT, the measurements, or the answer."""
        if self.turn == 1 and self.habit != "answer_at_once":
            return call("SEGMENT")
        regions = [
            row["region"]
            for r in info["tool_calls"]
            if r["tool"] == "SEGMENT"
            for row in r["data"].get("regions", ())
        ]
        if self.turn == 2 and self.habit != "list_only" and regions:
            wanted = regions[:2] if self.habit == "first_two" else regions[:9]
            return "".join(call("GET_PROPERTIES", region=region) for region in wanted)
        named = re.split(r", | or ", self.task.question.split(": ")[1].split("?")[0])
        known = [(colour, float(share)) for colour, share in _MEASURED.findall(text) if colour in named]
        if not known:
            return answer(str(self.rng.choice(named)))
        said, best = compared(known, smallest=self.habit == "smallest")
        return f"{said} {answer(best)}"


class CountTiny(Routine):
    """Goes through four quarters of the table; writes down the regions of the colour and numbers them."""

    habits: ClassVar[Habits] = {
        "careful": 0.45,
        "two_quarters": 0.15,
        "no_list": 0.2,
        "answer_at_once": 0.1,
        "no_zoom": 0.1,
    }

    def begin(self) -> None:
        """Nothing is counted yet."""
        self.count = 0
        self.quarters = list(QUARTERS[:2] if self.habit == "two_quarters" else QUARTERS)

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return what was counted so far, and the next look or the answer."""
        colour = self.task.data["colour"]
        if self.habit == "answer_at_once":
            return answer(str(int(self.rng.choice(COUNT_LEVELS[self.task.difficulty].counts))))
        if self.habit == "no_zoom":
            return call("SEGMENT") if self.turn == 1 else answer(str(int(self.rng.integers(4, 20))))
        notes = []
        for line in text.splitlines():
            found = re.match(r"(\d+): (\w+) \[", line)
            if found and found[2] == colour:
                self.count += 1
                notes.append(f"{found[1]} is {self.count}")
        said = (
            "" if self.habit == "no_list" or self.turn == 1 else f"{colour}: {', '.join(notes) or 'none'}. "
        )
        if self.quarters:
            return said + call("ZOOM", center=self.quarters.pop(0), factor=2) + call("SEGMENT")
        off = int(self.rng.integers(-3, 4)) if self.habit == "no_list" else 0
        return said + answer(str(max(0, self.count + off)))


class TrackRead(Routine):
    """TRACKs the car from the box of the question, looks at it in some frames, answers what was read."""

    habits: ClassVar[Habits] = {"careful": 0.4, "gives_up": 0.35, "no_track": 0.15, "answer_at_once": 0.1}
    looks, patience = 5, 1
    """Looks of a turn, and turns of looks after which a hasty player gives up."""

    def begin(self) -> None:
        """Choose the order in which frames are looked at."""
        scene, car = target_car(self.task)
        self.last = scene.frames - 1
        self.clear = [frame for frame, state in enumerate(car.states) if state == CLEAR]
        self.box = self.task.question.split("[")[1].split("]")[0]
        self.places: dict[int, list[float]] = {}
        self.open: list[int] = []

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return TRACK, looks, or the answer."""
        if self.habit == "answer_at_once":
            return answer(self.random_code())
        if self.habit == "no_track":
            return call("READ_TEXT") if self.turn == 1 else answer(self.random_code())
        if self.turn == 1:
            return call("TRACK", box=[float(v) for v in self.box.split(",")], to=self.last)
        if self.turn == 2:
            track = [
                row
                for r in info["tool_calls"]
                if r["tool"] == "TRACK" and r["ok"]
                for row in r["data"]["track"]
            ]
            shown = {int(m[1]) for m in re.finditer(r"^(\d+): \[", text, re.M)}
            self.places = {row["frame"]: row["box"] for row in track if row["frame"] in shown}
            frames = sorted(self.places)
            start = int(self.rng.integers(2, 5)) if frames else 0
            step = max(1, len(frames) // 12)
            self.open = frames[start::step]
        codes = [
            line.replace(" ", "")
            for line, _ in lines_of(text)
            if re.fullmatch(r"[A-Z0-9]{4}", line.replace(" ", ""))
        ]
        if codes:
            return answer(codes[0])
        if not self.open or (self.habit == "gives_up" and self.turn > 1 + self.patience):
            return answer(self.random_code())
        turn, self.open = self.open[: self.looks], self.open[self.looks :]
        return "".join(self._look(frame) for frame in turn)

    def _look(self, frame: int) -> str:
        x0, y0, x1, y1 = self.places[frame]
        center = [round(min(max((a + b) / 2, 0.0), 1.0), 2) for a, b in ((x0, x1), (y0, y1))]
        return call("SELECT_FRAME", frame=frame) + call("ZOOM", center=center, factor=5) + call("READ_TEXT")


TOTAL = "TOTAL"


def amounts_of(text: str) -> list[tuple[str, int]]:
    """Return the lines of a receipt that READ_TEXT read together with their amounts in cents, `TOTAL` too."""
    found = []
    for name, amount in pairwise(line for line, _ in lines_of(text)):
        money = _MONEY.fullmatch(amount)
        if money is not None and not _MONEY.fullmatch(name):
            found.append((name, int(money[1]) * 100 + int(money[2])))
    return found


class ReceiptSum(Routine):
    """ZOOM to the page, READ_TEXT, write the lines that are asked for and combine them step by step."""

    habits: ClassVar[Habits] = {
        "careful": 0.45,
        "printed_total": 0.15,
        "no_zoom": 0.15,
        "drops_one": 0.15,
        "wrong_place": 0.1,
    }

    def begin(self) -> None:
        """Choose where to look."""
        scene, self.ask = (
            ReceiptScene.from_json(self.task.data["scene"]),
            ReceiptQuestion.from_json(self.task.data["ask"]),
        )
        width, height = scene.size
        middle = [(scene.left + width / 2) / scene.side, (scene.top + height / 2) / scene.side]
        wrong = self.habit == "wrong_place"
        self.place = [near(float(self.rng.uniform(0.1, 0.9)) if wrong else v) for v in middle]

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the look, or the sum and the answer."""
        if self.turn == 1:
            zoom = "" if self.habit == "no_zoom" else call("ZOOM", center=self.place, factor=3)
            return zoom + call("READ_TEXT")
        page = amounts_of(text)
        total = next((cents for name, cents in page if name == TOTAL), 0)
        rows = [
            row
            for row in page
            if row[0] != TOTAL
            and (
                row[0] in self.ask.names if self.ask.kind == "named" else self.ask.names[0] in row[0].split()
            )
        ]
        if self.habit == "printed_total" and total:
            return answer(decimal_text(total))
        if not rows:
            return answer(decimal_text(int(self.rng.integers(200, 2500))))
        if self.habit == "drops_one" and len(rows) > 1:
            rows.pop(int(self.rng.integers(len(rows))))
        said, result = combined(rows, self.ask.kind)
        return f"{said} {answer(decimal_text(result))}"


class WireTrace(Routine):
    """Reads all labels in four looks; writes where the cable begins and ends; reads the label there again."""

    habits: ClassVar[Habits] = {
        "careful": 0.5,
        "any_port": 0.2,
        "same_port": 0.1,
        "no_second_look": 0.1,
        "answer_at_once": 0.1,
    }

    def begin(self) -> None:
        """Find the port at the cable's end."""
        self.scene, self.start, self.end = asked_cable(self.task)

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the four looks, the look at the end, or the answer."""
        if self.habit == "answer_at_once":
            return answer(self.random_code())
        if self.turn == 1:
            return "".join(call("ZOOM", center=quarter, factor=2) + call("READ_TEXT") for quarter in QUARTERS)
        if self.turn == 3:
            found = lines_of(text)
            return answer(found[0][0] if found else self.random_code())
        lines = [(code, box) for code, box in lines_of(text) if re.fullmatch(r"[A-Z0-9]{4}", code)]
        if not lines:
            return answer(self.random_code())
        first, last = (self._read_at(lines, port) for port in (self.start, self.end))
        if self.habit == "same_port":
            last = first
        if self.habit == "any_port":
            last = lines[int(self.rng.integers(len(lines)))]
        said = f"{self._words(first)} {colour_of(self.scene, self.start)} {self._words(last)} "
        if self.habit == "no_second_look":
            return said + answer(last[0])
        x0, y0, x1, y1 = last[1]
        return (
            said
            + call("ZOOM", center=[near((x0 + x1) / 2), near((y0 + y1) / 2)], factor=8)
            + call("READ_TEXT")
        )

    def _read_at(self, lines: Sequence[tuple[str, list[float]]], port: int) -> tuple[str, list[float]]:
        x, y = np.asarray(self.scene.labels().signs[port].center) / self.scene.side
        return min(
            lines,
            key=lambda line: np.hypot((line[1][0] + line[1][2]) / 2 - x, (line[1][1] + line[1][3]) / 2 - y),
        )

    @staticmethod
    def _words(line: tuple[str, Sequence[float]]) -> str:
        return f"[{line[1][0]:.2f}, {line[1][1]:.2f}]"


def colour_of(scene: Any, port: int) -> str:
    """Return the colour of the cable at a port of a WireTrace board."""
    from pixelis.envs.pixel.wire_trace.grid import cables

    pairs = zip(cables(scene.tiles, scene.grid), scene.colours, strict=True)
    return next(colour for (*ends, _), colour in pairs if port in ends)


class ChartRead(Routine):
    """Reads labels in four looks, outlines the bar with SEGMENT, and computes its height in ticks."""

    habits: ClassVar[Habits] = {"careful": 0.55, "nearest_tick": 0.2, "no_bar": 0.15, "answer_at_once": 0.1}

    def begin(self) -> None:
        """Find the bar."""
        self.scene, self.series, self.category = asked_point(self.task)
        self.ticks: list[tuple[float, float, str]] = []

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the looks, SEGMENT, or the answer."""
        if self.habit == "answer_at_once":
            return answer(f"{10 ** self.rng.uniform(0, 3):.3g}")
        if self.turn == 1:
            return "".join(call("ZOOM", center=quarter, factor=2) + call("READ_TEXT") for quarter in QUARTERS)
        if self.turn == 2:
            for word, box in lines_of(text):
                if re.fullmatch(r"\d+\.\d+", word) and box[0] < 0.2:
                    self.ticks.append((float(word), (box[1] + box[3]) / 2, word))
            left, top, right, bottom = self.scene.bar(self.series, self.category)
            x, y = (left + right) / 2 / self.scene.size, bottom / self.scene.size - 0.01
            return call("ZOOM", center=[0.5, 0.5], factor=1) + call(
                "SEGMENT", point=[round(x, 2), round(y, 2)]
            )
        regions = [
            row["box"]
            for r in info["tool_calls"]
            if r["tool"] == "SEGMENT"
            for row in r["data"].get("regions", ())
        ]
        if not regions or not self.ticks or self.habit == "no_bar":
            guess = self.rng.choice([tick[2] for tick in self.ticks]) if self.ticks else "31.6"
            return answer(str(guess))
        top, bottom = round(regions[-1][1], 3), round(regions[-1][3], 3)
        value, height, word = max(self.ticks)
        if self.habit == "nearest_tick":
            return answer(min(self.ticks, key=lambda tick: abs(tick[1] - top))[2])
        up, span = round(bottom - top, 3), round(bottom - round(height, 3), 3)
        share = round(up / max(span, 1e-3), 3)
        said = f"{bottom:.3f} - {top:.3f} = {up:.3f}. {bottom:.3f} - {height:.3f} = {span:.3f}. "
        said += f"{share:.3f} x {word} "
        return said + answer(f"{share * value:.3g}")


ROUTINES: dict[str, type[Routine]] = {
    "ZoomRead": ZoomRead,
    "SizeCompare": SizeCompare,
    "CountTiny": CountTiny,
    "TrackRead": TrackRead,
    "ReceiptSum": ReceiptSum,
    "WireTrace": WireTrace,
    "ChartRead": ChartRead,
}


def player(name: str, rng: np.random.Generator) -> Callable[[ToolEnv[Any]], Routine]:
    """Return a factory of demonstrators of an environment; each draws its habit."""
    routine = ROUTINES[name]
    names, shares = list(routine.habits), np.array(list(routine.habits.values()))

    def make(env: ToolEnv[Any]) -> Routine:
        return routine(env, str(rng.choice(names, p=shares / shares.sum())), rng)

    return make
