"""A truth of some type, and whether an answer matches it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixelis.errors import AnswerError, suggest
from pixelis.rewards.answers.choices import choice_index, choice_matches, set_matches, split_items
from pixelis.rewards.answers.places import box_matches, parse_box, parse_point, point_matches
from pixelis.rewards.answers.quantity import NumberTolerance, number_matches
from pixelis.rewards.answers.text import MAX_TEXT_LENGTH, normalise_phrase, phrase_matches

ANSWER_TYPES = ("text", "number", "choice", "set", "box", "point")
"""The kinds of answer that a `TypedAnswer` may be."""
DEFAULT_IOU = 0.5
DEFAULT_DISTANCE = 0.05


@dataclass(frozen=True)
class TypedAnswer:
    """A truth and how answers are compared with it.

    Attributes:
        kind: one of ``ANSWER_TYPES``.
        truth: as text: a phrase; a number (``parse_quantity``); one of the choices; items (``split_items``);
            ``[x0, y0, x1, y1]`` or ``[x, y]`` in 0-1.
        choices: the texts to choose from, two or more; for ``choice`` alone.
        tolerance: ``number``: greatest distance, or ``{"absolute": …, "relative": …}`` (``NumberTolerance``),
            by default exact. ``box``: least intersection over union, in (0, 1], by default 0.5. ``point``:
            greatest distance, in 0-1 of the scene, by default 0.05. The other types take none.

    Raises:
        AnswerError: an unknown type, or a truth, choices or a tolerance that do not fit it.
    """

    kind: str
    truth: str
    choices: tuple[str, ...] = ()
    tolerance: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ANSWER_TYPES:
            raise AnswerError(
                f"the answer's type must be one of {ANSWER_TYPES}, got {self.kind!r}."
                f"{suggest(str(self.kind), ANSWER_TYPES)}"
            )
        length = len(self.truth) if isinstance(self.truth, str) else 0
        if not 0 < length <= MAX_TEXT_LENGTH or not normalise_phrase(self.truth):
            raise AnswerError(
                f"the answer must be a text of 1 to {MAX_TEXT_LENGTH} characters, got {self.truth!r:.60}; "
                "correct it"
            )
        self._check_choices()
        self._check_tolerance()
        if not self.matches(self.truth):
            raise AnswerError(
                f"expected {_FORMS[self.kind]} as the answer, got {self.truth[:80]!r}; correct it or its type"
            )

    def matches(self, answer: str) -> bool:
        """Return whether an answer is right."""
        match self.kind:
            case "text":
                return phrase_matches(answer, self.truth)
            case "number":
                return number_matches(answer, self.truth, self._number_tolerance())
            case "choice":
                return choice_matches(answer, self.truth, self.choices)
            case "set":
                return set_matches(answer, split_items(self.truth))
            case "box":
                box = parse_box(self.truth)
                return box is not None and box_matches(answer, box, self._limit(DEFAULT_IOU))
            case _:
                point = parse_point(self.truth)
                return point is not None and point_matches(answer, point, self._limit(DEFAULT_DISTANCE))

    def _limit(self, default: float) -> float:
        return default if self.tolerance is None else float(self.tolerance)  # type: ignore[arg-type]

    def _number_tolerance(self) -> NumberTolerance:
        given: Any = {} if self.tolerance is None else self.tolerance
        return NumberTolerance(**given) if isinstance(given, Mapping) else NumberTolerance(absolute=given)

    def _check_choices(self) -> None:
        if self.kind != "choice":
            if self.choices:
                raise AnswerError(
                    f"a {self.kind} answer takes no choices; leave them out or use type 'choice'"
                )
            return
        texts = [normalise_phrase(text) if isinstance(text, str) else "" for text in self.choices]
        if len(texts) < 2 or not all(texts) or len(set(texts)) < len(texts):
            raise AnswerError(
                f"choices must be two or more different texts, got {list(self.choices)!r:.120}; correct them"
            )
        if choice_index(self.truth, self.choices) is None:
            raise AnswerError(
                f"the answer {self.truth[:80]!r} is not among the choices {list(self.choices)!r:.120}"
            )

    def _check_tolerance(self) -> None:
        given: Any = self.tolerance
        if given is None:
            return
        if self.kind in ("text", "choice", "set"):
            raise AnswerError(f"a {self.kind} answer takes no tolerance, got {given!r}; leave it out")
        if self.kind == "number":
            if isinstance(given, Mapping) and not set(given) <= {"absolute", "relative"}:
                raise AnswerError(
                    f"a number's tolerance has the parts absolute and relative, got {sorted(given)}"
                )
            self._number_tolerance()
            return
        greatest = 1.0 if self.kind == "box" else math.sqrt(2)
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= greatest:
            what = "least intersection over union" if self.kind == "box" else "greatest distance"
            raise AnswerError(
                f"a {self.kind}'s tolerance is its {what}, in (0, {greatest:.3g}], got {given!r}"
            )


_FORMS = {
    "text": "a text",
    "number": "one number",
    "choice": "one of the choices",
    "set": "one or more items, each once",
    "box": "[x0, y0, x1, y1] with x0 < x1 and y0 < y1, all in 0-1",
    "point": "[x, y], both in 0-1",
}
