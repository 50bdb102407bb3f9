"""AskImage by what tools say: sheets like those of the package with other contents, and who plays them.

Crates, whose colours would have to be put together with codes by their places, are left out.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from pixelis_mini.habits import CAREFUL
from pixelis_mini_vl.routine import Habits, Routine, lines_of

from pixelis.envs.pixel.base.scripted_turns import answer, call

FACTOR = 3
"""Of every look: 16 pixels of a sheet 2,000 wide are 9 in the view, which can be read."""
LOOKS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "board": ((0.17, 0.38), (0.17, 0.62), (0.67, 0.38), (0.67, 0.62)),
    "receipt": ((0.45, 0.17), (0.45, 0.5), (0.45, 0.83)),
    "lockers": tuple((x, y) for y in (0.36, 0.64) for x in (0.17, 0.5, 0.83)),
}
"""Kind of sheet → centres of the looks that show all of it, 0-1 of the scene."""
WORDS = {"train": "board", "cost": "receipt", "total": "receipt", "day": "receipt", "locker": "lockers"}
"""Word of a question → kind of sheet."""
SHEETS = 30
"""Of each kind: all looks at them fit into the cache of readings."""


def draw(folder: Path, count: int = SHEETS) -> Path:
    """Draw so many sheets of each kind; return the file of questions about every line of them.

    Nothing is drawn where the file is there already; the same count gives the same files.
    """
    file = folder / f"questions-{count}.jsonl"
    if file.is_file():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for seed in range(count):
        for name, asked in (("board", range(12)), ("receipt", range(12)), ("lockers", range(0, 40, 3))):
            rng = np.random.default_rng([seed, len(name), 5])
            asks = (asked, range(1, 40, 3)) if name == "lockers" else (asked,)
            image, found = drawing().DRAWINGS[name](rng, drawing().DATES["train"][0], *asks)
            image.save(folder / f"{name}-{seed}.png")
            rows += [{"image": f"{name}-{seed}.png", **row, "split": "train"} for row in found]
    part = file.with_suffix(".part")
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    part.rename(file)
    return file


@cache
def drawing() -> ModuleType:
    """Return the script that draws the package's own sheets."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "draw_ask_image_examples.py"
    spec = importlib.util.spec_from_file_location("draw_ask_image_examples", path)
    assert spec is not None and spec.loader is not None  # the path ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class AskImage(Routine):
    """Looks at all of a sheet and copies what is asked for; of a locker it SEGMENTs the outline."""

    habits: ClassVar[Habits] = {
        CAREFUL: 0.3,
        "half_sheet": 0.5,  # right where what is asked stands in its first half
        "one_look": 0.05,
        "other_line": 0.05,
        "no_zoom": 0.05,
        "answer_at_once": 0.05,
    }

    def begin(self) -> None:
        """See what kind of sheet is asked about."""
        self.kind = next((kind for word, kind in WORDS.items() if word in self.task.question), "")

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the looks, SEGMENT, or the answer."""
        if self.turn == 1 and self.habit != "answer_at_once":
            if self.habit == "no_zoom" or not self.kind:
                return call("READ_TEXT")
            looks = list(LOOKS[self.kind])
            if self.habit == "half_sheet":
                looks = looks[: (len(looks) + 1) // 2]
            if self.habit == "one_look":
                looks = [looks[int(self.rng.integers(len(looks)))]]
            return "".join(call("ZOOM", center=list(at), factor=FACTOR) + call("READ_TEXT") for at in looks)
        if self.kind == "lockers":
            return self._locker(text)
        found = told(self.task.question, [line for line, _ in lines_of(text)])
        if self.habit == "other_line" and found:
            others = [row for row in rows_of([line for line, _ in lines_of(text)]) if row != found]
            found = others[int(self.rng.integers(len(others)))] if others else found
        if not found:
            return answer(self._guess())
        return f"{' '.join(found)}. {answer(asked_part(self.task.question, found))}"

    def _locker(self, text: str) -> str:
        found = re.search(r"^1: .+?(\[[\d., ]+\])", text, re.M)
        if self.turn == 3 and found:
            return answer(found[1])
        number = self.task.question.rstrip(".?").split()[-1]
        plates = {line: box for line, box in lines_of(text)}
        if self.habit == "other_line" and plates:
            number = str(self.rng.choice(list(plates)))
        if number not in plates:
            values = np.round(self.rng.uniform(0.1, 0.9, 2), 2).tolist()
            return answer(str(values if "Point" in self.task.question else [*values, *values]))
        x0, y0, _, y1 = plates[number]
        said = f"{number} [{x0:.2f}, {y0:.2f}]. "
        if "Point" in self.task.question:
            return said + answer(f"[{x0:.2f}, {y0:.2f}]")
        segment = call("SEGMENT", point=[x0, round(y1 + 0.01, 2)])
        return said + call("ZOOM", center=[x0, y0], factor=4) + segment

    def _guess(self) -> str:
        question = self.task.question
        if question.startswith("When"):
            return f"{self.rng.integers(6, 23):02d}:{self.rng.integers(0, 60):02d}"
        if "day" in question:
            return "Oct 21"
        return str(self.rng.integers(10, 100)) if "train" in question else f"{self.rng.uniform(1, 18):.2f}"


def rows_of(lines: list[str]) -> list[tuple[str, ...]]:
    """Return the rows of a sheet from its lines as they were read: a row may have been read in pieces."""
    found, joined = [], " ".join(lines)
    for city, platform in re.findall(r"([A-Z][a-z]+) ?Platform (\d+)", joined):
        time = re.search(rf"(\d\d:\d\d) ?{city}", joined)
        if time:
            found.append((city, platform, time[1]))
    found += re.findall(r"([A-Z][a-z]+) (\$[\d.]+)", joined)
    date = next((line for line in lines if re.search(r"\d(st|rd)\b", line)), None)
    return [*found, (date,)] if date else found


def told(question: str, lines: list[str]) -> tuple[str, ...]:
    """Return the row that answers a question; empty if none does."""
    for row in rows_of(lines):
        name = "day" if len(row) == 1 else row[0]
        if re.search(rf"\b{name}\b", question, re.I):
            return row
    return ()


def asked_part(question: str, row: Sequence[str]) -> str:
    """Return of a row what is asked for."""
    return row[-1] if len(row) < 3 or question.startswith("When") else row[1]
