"""One row of a file of questions about images: its fields, and what is wrong with a bad one."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pixelis.envs.data.fields import check_names, check_needed
from pixelis.envs.data.splits import hashed_split, row_split
from pixelis.envs.spaces import clean_text
from pixelis.errors import AnswerError, DatasetError, shown, suggest
from pixelis.rewards.answers import ANSWER_TYPES, TypedAnswer

FIELDS = ("image", "question", "answer", "answer_type", "choices", "tolerance", "regions", "split")
MAX_QUESTION_LENGTH = 4_000
MAX_REGIONS = 64
_REQUIRED = FIELDS[:4]
_REGION_FIELDS = {"box", "text", "look"}


@dataclass(frozen=True)
class QuestionRow:
    """A question about an image.

    Attributes:
        image: path as written.
        question: what is asked.
        truth: the answer; boxes and points in 0-1 of the upright image's own width and height.
        regions: known parts of the image: ``{"box": [x0, y0, x1, y1]}``, perhaps with the ``"text"`` there,
            and with ``"look": False`` where nothing is to be learnt about the answer.
        split: ``train`` or ``test``.
    """

    image: str
    question: str
    truth: TypedAnswer
    regions: tuple[Mapping[str, Any], ...] = field(default=())
    split: str = "train"

    def to_data(self) -> dict[str, Any]:
        """Return what a ``Task`` of this row holds as its data."""
        data: dict[str, Any] = {"image": self.image, "answer_type": self.truth.kind}
        if self.truth.choices:
            data["choices"] = list(self.truth.choices)
        if self.truth.tolerance is not None:
            data["tolerance"] = self.truth.tolerance
        if self.regions:
            data["regions"] = [dict(region) for region in self.regions]
        return data

    def digest(self) -> bytes:
        """Return 8 bytes that tell what is asked here from what is asked elsewhere, whatever its split."""
        text = json.dumps([self.question, self.truth.truth, self.to_data()], sort_keys=True)
        return hashlib.sha256(text.encode()).digest()[:8]


def row_of(value: Mapping[str, Any]) -> QuestionRow:
    """Return the row that a JSON object describes.

    Raises:
        DatasetError: what is wrong with it.
    """
    check_names(value, FIELDS)
    check_needed(value, _REQUIRED)
    image = _text(value, "image", 1_000)
    kind = value["answer_type"]
    if not isinstance(kind, str) or kind not in _TRUTHS:
        hint = suggest(str(kind)[:40], ANSWER_TYPES)
        raise DatasetError(f"field 'answer_type' must be one of {ANSWER_TYPES}, got {shown(kind, 60)}.{hint}")
    try:
        truth = TypedAnswer(kind, _truth_text(kind, value["answer"]), _choices(value), value.get("tolerance"))
    except AnswerError as error:
        raise DatasetError(f"field 'answer': {error}") from None
    split = row_split(value, image_split(image))
    return QuestionRow(image, _text(value, "question", MAX_QUESTION_LENGTH), truth, _regions(value), split)


def image_split(image: str) -> str:
    """Return the split of an image's rows that name none: a fifth of all paths, by SHA-256, is for testing.

    The image decides, not the row, so that no image is seen in training and tested on.
    """
    return hashed_split(posixpath.normpath(image.replace("\\", "/")))


# ---------------------------------------------------------------------- fields


def _text(row: Mapping[str, Any], name: str, longest: int) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip() or len(value) > longest or value != clean_text(value):
        raise DatasetError(
            f"field {name!r} must be a text of 1 to {longest} characters, got {value!r:.60}; correct it"
        )
    return value


def _choices(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("choices") or []
    if not isinstance(value, list):
        raise DatasetError(f"field 'choices' must be a list of texts, got {shown(value, 60)}; correct it")
    return tuple(value)


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


def _regions(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    value = row.get("regions", [])
    if not isinstance(value, list) or len(value) > MAX_REGIONS:
        raise DatasetError(f"field 'regions' must be a list of at most {MAX_REGIONS}, got {shown(value, 60)}")
    return tuple(_region({"box": region} if isinstance(region, list) else region) for region in value)


def _region(region: Any) -> Mapping[str, Any]:
    box = region.get("box") if isinstance(region, Mapping) else None
    if not isinstance(region, Mapping) or not set(region) <= _REGION_FIELDS or not _is_box(box):
        raise DatasetError(
            "field 'regions' must hold boxes [x0, y0, x1, y1] in 0-1 of the image's width and height, or "
            f'{{"box": …, "text": …}}, got {shown(region, 60)}; divide pixels by the width or height'
        )
    if "text" in region:
        _text(region, "text", 1_000)
    if not isinstance(region.get("look", True), bool):
        raise DatasetError(f"'look' of a region must be true or false, got {shown(region['look'], 60)}")
    return dict(region)


def _is_box(value: Any) -> bool:
    return (
        _are_numbers(value)
        and len(value) == 4
        and all(0 <= number <= 1 for number in value)
        and value[0] < value[2]
        and value[1] < value[3]
    )
