"""What an agent that cannot read keeps of an episode: the view, the regions, the candidates for an answer.

Everything here comes from what the tools returned, which is what a language model reads as text. The
``scores`` of a record are made with the truth and are never looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SLOTS = 8
LAST_RESULT = 32
_FIRST_SLOT = 8
_MOST_REGIONS = 48  # a SEGMENT lists no more
_AREA_GAIN = 4.0  # a lead of 28 % in area over the mean fills the range
Box = tuple[float, float, float, float]
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Candidate:
    """A possible answer.

    Attributes:
        text: what would be answered.
        value: what is known of it: for a text its confidence 0-1, for a choice the share of the scene that
            the region of that colour covers; None where nothing was measured yet.
        place: its middle, 0-1 of the scene; None where it was not seen yet.
    """

    text: str
    value: float | None = None
    place: tuple[float, float] | None = None


class ToolMemory:
    """The memory of one episode.

    Args:
        choices: the answers the task allows, in order; empty where what was read is answered.
        named: the words of the environment's vocabulary that the question holds; a region is asked for
            where its ``colour`` is one of them.

    Attributes:
        view: the square that is looked at, 0-1 of the scene.
        regions: of the current view, as the tools reported them.
        candidates: the choices in their order, or the distinct texts read so far, the newest reading first:
            each line, and of a line of several words those with a digit.
    """

    def __init__(self, choices: Sequence[str], named: frozenset[str]) -> None:
        self._has_choices, self._named = bool(choices), named
        self.candidates = [Candidate(choice) for choice in choices]
        self.view: Box = WHOLE
        self.regions: list[Mapping[str, Any]] = []
        self._last: Mapping[str, Any] = {}
        self._asked: Sequence[float] | None = None

    def note(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Take in the records of a turn, ``info["tool_calls"]``."""
        for result in results:
            data = result["data"]
            if "view" in data:
                self.view, self.regions = tuple(data["view"]), []
            if "regions" in data:
                self.regions = [*self.regions, *data["regions"]]
                self._measure([(row["colour"], row["area"], row["box"]) for row in data["regions"]])
                asked = [row["box"] for row in data["regions"] if row["colour"] in self._named]
                self._asked = asked[0] if asked else self._asked
            if "area_share" in data:
                self._measure([(data["colour"], data["area_share"], data["box"])])
            if "lines" in data:
                self._read(data["lines"])
            self._last = result

    def region_at(self, point: tuple[float, float]) -> int:
        """Return the id of the region of this view whose middle is nearest to a point; 1 without any.

        Without any, the tool will say that SEGMENT must come first.
        """
        nearest = min(self.regions, key=lambda row: math.dist(_middle(row["box"]), point), default=None)
        return 1 if nearest is None else nearest["region"]

    def to_vector(self) -> np.ndarray:
        """Return float32 ``[32]`` in -1 to 1.

        0: the last call was carried out; 1: it was refused; 2: regions it listed / 48; 3: those of a colour
        that the question names / 48; 4-7: middle x, y, width, height of the first region of such a colour in
        the last list that had one; then for each of 8 slots 3 numbers: value, x, y. The value of a
        text is its confidence; of a choice 4 × (its log area minus the mean log area of those measured),
        clipped. Places are 0-1 of the scene. -1 for a place, and 0 for a value, where nothing is known.
        """
        vector = np.zeros(LAST_RESULT, np.float32)
        if self._last:
            vector[0 if self._last["ok"] else 1] = 1.0
        listed = self._last.get("data", {}).get("regions", ())
        asked = [row for row in listed if row["colour"] in self._named]
        vector[2:4] = min(1.0, len(listed) / _MOST_REGIONS), min(1.0, len(asked) / _MOST_REGIONS)
        vector[4:8] = self._first_asked()
        for slot, value in enumerate(self._values()):
            start = _FIRST_SLOT + 3 * slot
            place = self.candidates[slot].place if slot < len(self.candidates) else None
            vector[start : start + 3] = value, *(place or (-1.0, -1.0))
        return np.clip(vector, -1.0, 1.0)

    # ------------------------------------------------------------------ private

    def _first_asked(self) -> tuple[float, ...]:
        if self._asked is None:
            return (-1.0,) * 4
        x0, y0, x1, y1 = self._asked
        return (*_middle(self._asked), x1 - x0, y1 - y0)

    def _values(self) -> list[float]:
        shown = self.candidates[:SLOTS]
        values = [candidate.value for candidate in shown]
        if self._has_choices:
            logs = [None if value is None else math.log(max(value, 1e-9)) for value in values]
            known = [value for value in logs if value is not None]
            mean = sum(known) / len(known) if known else 0.0
            values = [None if value is None else _AREA_GAIN * (value - mean) for value in logs]
        return [value or 0.0 for value in values] + [0.0] * (SLOTS - len(shown))

    def _measure(self, rows: Sequence[tuple[str, float, Sequence[float]]]) -> None:
        """Remember the area and place of the choices that are colours; of a report, the largest region."""
        scale = (self.view[2] - self.view[0]) ** 2
        for colour, area, box in sorted(rows, key=lambda row: row[1]):
            for index, candidate in enumerate(self.candidates if self._has_choices else ()):
                if candidate.text == colour:
                    self.candidates[index] = Candidate(colour, area * scale, _middle(box))

    def _read(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if self._has_choices:
            return
        new = [
            Candidate(part["text"], part["confidence"], _middle(part["box"]))
            for line in lines
            for part in _parts(line)
        ]
        by_text = {candidate.text: candidate for candidate in [*new, *self.candidates][::-1]}
        order = dict.fromkeys(candidate.text for candidate in [*new, *self.candidates])
        self.candidates = [by_text[text] for text in order][:SLOTS]


def _parts(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a line and, where it has several words, those with a digit: of "Milk 2.40" also 2.40."""
    words = line.get("words", ())
    numbers = [word for word in words if any(sign.isdigit() for sign in word["text"])]
    return [line, *(numbers if len(words) > 1 else ())]


def _middle(box: Sequence[float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
