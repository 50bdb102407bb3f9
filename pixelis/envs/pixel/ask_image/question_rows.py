"""One row of a file of questions about images: its fields, and what is wrong with a bad one."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import MaxLen
from pydantic import BeforeValidator, ConfigDict, PlainValidator, with_config
from typing_extensions import NotRequired, TypedDict

from pixelis.envs.data.splits import RowSplit, asked, hashed_split
from pixelis.envs.pixel.ask_image.photo import MAX_SIDE
from pixelis.envs.schema import Bool, OneOf, Record, Text, read_fields
from pixelis.envs.spaces import clean_text
from pixelis.errors import AnswerError, DatasetError, shown
from pixelis.rewards.answers import ANSWER_TYPES, TypedAnswer, parse_box
from pixelis.rewards.answers.agreement import AnswerForm
from pixelis.rewards.answers.choices import LETTERS, has_letters

MAX_QUESTION_LENGTH = 4_000
MAX_REGIONS = 64
MAX_PROMPT_LENGTH = 8_000
"""Longest question with its choices or the form of its answer, characters: an observation holds 8,192, and a
line on how to act follows."""

_HINTS = {
    "text": "Answer with the text alone.",
    "number": "Answer with one number.",
    "set": "Answer with all of them, separated by commas.",
    "box": "Answer with its box [x0, y0, x1, y1] in 0-1 of the scene.",
    "point": "Answer with a point [x, y] in 0-1 of the scene.",
}


@dataclass(frozen=True)
class QuestionRow:
    """A question about an image.

    Attributes:
        image: path as written.
        question: what is asked.
        form: how answers are compared.
        truth: the answer; boxes and points in 0-1 of the upright image's own width and height. None where the
            row has none.
        regions: known parts of the image: ``{"box": [x0, y0, x1, y1]}``, perhaps with the ``"text"`` there,
            and with ``"look": False`` where nothing is to be learnt about the answer.
        split: ``train`` or ``test``; empty where the row names none, see ``image_split``.
    """

    image: str
    question: str
    form: AnswerForm
    truth: TypedAnswer | None
    regions: tuple[Mapping[str, Any], ...] = field(default=())
    split: str = ""

    @property
    def hint(self) -> str:
        """What the question is followed by: its choices, or the form of its answer."""
        choices: Sequence[str] = self.form.choices
        if not choices:
            return _HINTS[self.form.kind]
        if has_letters(choices):
            choices = [f"{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False)]
        return "Choices:\n" + "\n".join(choices) + "\nAnswer with one of them."

    def to_data(self) -> dict[str, Any]:
        """Return what a ``Task`` of this row holds as its data."""
        data: dict[str, Any] = {"image": self.image, "answer_type": self.form.kind}
        if self.form.choices:
            data["choices"] = list(self.form.choices)
        if self.form.tolerance is not None:
            data["tolerance"] = self.form.tolerance
        if self.regions:
            data["regions"] = [dict(region) for region in self.regions]
        return data

    def digest(self, image: str | None = None) -> bytes:
        """Return 8 bytes that tell what is asked here from what is asked elsewhere, whatever its split.

        The answer is no part of it: a row without one must not be trained on where it is tested with one.

        Args:
            image: where the image lies, however the row writes it; None: as it is written.
        """
        place = posixpath.normpath(self.image) if image is None else image
        text = json.dumps([asked(self.question), place])
        return hashlib.sha256(text.encode()).digest()[:8]


def _box(value: Any) -> list[float]:
    if not _are_numbers(value) or len(value) != 4 or not all(0 <= number <= 1 for number in value):
        raise ValueError(_NO_BOX.format(shown(value, 60)))
    if not (value[0] < value[2] and value[1] < value[3]):
        raise ValueError(_NO_BOX.format(shown(value, 60)))
    return value


_NO_BOX = (
    "must be a box [x0, y0, x1, y1] in 0-1 of the image's width and height, got {}; "
    "divide pixels by the width or height"
)


@with_config(ConfigDict(extra="forbid"))
class _Region(TypedDict):
    box: Annotated[list[float], PlainValidator(_box)]
    text: NotRequired[Annotated[str, Text(1_000)]]
    look: NotRequired[Bool]


def _bare_box(value: Any) -> Any:
    return {"box": value} if isinstance(value, list) else value


@dataclass(frozen=True)
class _Fields(Record):
    """What a row of the file holds."""

    image: Annotated[str, Text(1_000)]
    question: Annotated[str, Text(MAX_QUESTION_LENGTH)]
    answer_type: Annotated[str, OneOf(ANSWER_TYPES)]
    answer: Any = None
    choices: list[Any] = field(default_factory=list)
    tolerance: Any = None
    regions: Annotated[tuple[Annotated[_Region, BeforeValidator(_bare_box)], ...], MaxLen(MAX_REGIONS)] = ()
    split: RowSplit = ""


def row_of(value: Mapping[str, Any]) -> QuestionRow:
    """Return the row that a JSON object describes.

    Raises:
        DatasetError: what is wrong with it.
    """
    row = read_fields(_Fields, {name: one for name, one in value.items() if one is not None})
    try:
        form = AnswerForm(row.answer_type, tuple(row.choices), row.tolerance)
        truth = None
        if row.answer is not None:
            answer = _truth_text(row.answer_type, row.answer)
            truth = TypedAnswer(row.answer_type, answer, form.choices, row.tolerance)
    except AnswerError as error:
        raise DatasetError(f"field 'answer': {error}") from None
    if truth is not None and truth.kind == "box":
        _check_seen(truth.truth)
    found = QuestionRow(row.image, row.question, form, truth, row.regions, row.split)
    if (length := len(row.question) + 1 + len(found.hint)) > MAX_PROMPT_LENGTH:
        raise DatasetError(
            f"field 'question': with its choices it must have at most {MAX_PROMPT_LENGTH:,} characters, so "
            f"that all of it is seen, got {length:,}; shorten it, or offer fewer choices"
        )
    return found


def image_split(image: str) -> str:
    """Return the split of an image's rows that name none: a fifth of all paths, by SHA-256, is for testing.

    The image decides, not the row, so that no image is seen in training and tested on.

    Args:
        image: its path, relative to the folder of the file of questions.
    """
    return hashed_split(posixpath.normpath(image.replace("\\", "/")))


def _check_seen(box: str) -> None:
    """Refuse a true box that is thinner than a pixel, whatever the image: nobody could see it."""
    x0, y0, x1, y1 = parse_box(box) or (0.0, 0.0, 1.0, 1.0)
    if min(x1 - x0, y1 - y0) < 1 / MAX_SIDE:
        raise DatasetError(
            f"field 'answer': the box {box:.80} is thinner than a pixel of the largest image that is shown, "
            f"1/{MAX_SIDE} of its side; give the box of something that can be seen"
        )


# ---------------------------------------------------------------------- fields


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value == clean_text(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


# Which JSON values an answer of each type may be, and what to say of others.
_TRUTHS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (_is_text, "a text"),
    "number": (lambda value: _is_number(value) or _is_text(value), "a number, or a text with one number"),
    "choice": (_is_text, "the text of one of the choices"),
    "set": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of texts"),
    "box": (_are_numbers, "[x0, y0, x1, y1] in 0-1 of the image's width and height"),
    "point": (_are_numbers, "[x, y] in 0-1 of the image's width and height"),
}


def _truth_text(kind: str, value: Any) -> str:
    """Return an answer as the text that ``TypedAnswer`` takes."""
    fits, expected = _TRUTHS[kind]
    if not fits(value):
        raise DatasetError(f"field 'answer' must be {expected}, got {value!r:.60}; correct it or its type")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
