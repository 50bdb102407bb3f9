"""A task (what is asked, and the truth) and where tasks come from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Strict

from pixelis.envs.keywords import Expected
from pixelis.envs.schema import Int, Object, Record, read_fields
from pixelis.errors import DatasetError, DifficultyError, SplitError, TaskError, shown

SPLITS = ("train", "test")


_Text = Annotated[str, Strict(), Expected("text")]


@dataclass(frozen=True)
class Task(Record):
    """One concrete thing to do. Everything in it is JSON, so a task can be stored, sent and replayed.

    Attributes:
        id: readable name, unique within the family.
        family: the family of environments it belongs to, e.g. ``zoom_read``.
        difficulty: the family's dial.
        split: ``train`` or ``test``.
        question: what the agent is asked.
        answer: the truth.
        data: what the toolset needs to open the task (a scene, a file name, test cases, …).
    """

    id: _Text
    family: _Text
    difficulty: Int
    split: _Text
    question: _Text
    answer: _Text
    data: Object = field(default_factory=dict)

    @cached_property  # every turn's info holds it, and a crowded scene takes a millisecond to hash
    def content_hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the task's canonical JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}  # asdict would copy it all
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return the task as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any, *, family: str, difficulties: range | None = None) -> Task:
        """Return the task a JSON object describes.

        ``id``, ``difficulty`` and ``split`` may be left out by people who write tasks by hand.

        Raises:
            TaskError: not an object, a field missing, unknown or of the wrong type, another family's task, or
                data that are not JSON.
            DifficultyError: a difficulty that is given and not in ``difficulties``.
            SplitError: an unknown split.
        """
        if not isinstance(value, Mapping):
            raise TaskError(f"a task must be a mapping with question, answer and data, got {shown(value)}")
        fields = {"id": "given", "family": family, "difficulty": 0, "split": "train", "data": {}, **value}
        if difficulties is not None and "difficulty" in value:
            fields["difficulty"] = check_difficulty(fields["difficulty"], difficulties)
        try:
            task = read_fields(cls, fields)
        except DatasetError as error:
            raise TaskError(f"a task cannot be read: {error}") from None
        if task.family != family:
            raise TaskError(f"this environment plays {family!r} tasks, got one of {shown(task.family)}")
        check_split(task.split)
        try:
            _ = task.content_hash
        except Exception as error:  # whatever the methods of a stranger's object raise
            raise TaskError(f"a task must be JSON values only, so that it can be stored: {error}") from None
        return task


class TaskSource(Protocol):
    """Where an environment's tasks come from: a generator, or a file.

    Attributes:
        family: name of the family, also the ``family`` of every task.
        difficulties: the values the dial may take.
    """

    family: str
    difficulties: range

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a task using ``rng`` alone. Tasks of the two splits must never be equal."""
        ...


def check_difficulty(difficulty: Any, allowed: range) -> int:
    """Return ``difficulty`` when it is an integer in ``allowed``, else raise ``DifficultyError``."""
    if (
        isinstance(difficulty, bool)
        or not isinstance(difficulty, int | np.integer)
        or int(difficulty) not in allowed
    ):
        raise DifficultyError(
            f"difficulty must be an integer from {allowed[0]} to {allowed[-1]}, got {shown(difficulty)}; "
            "choose one of these"
        )
    return int(difficulty)


def check_split(split: Any) -> str:
    """Return ``split`` when it is ``train`` or ``test``, else raise ``SplitError``."""
    if not isinstance(split, str) or split not in SPLITS:
        raise SplitError(
            f"split must be 'train' or 'test', got {shown(split)}; training uses 'train', evaluation 'test'"
        )
    return str(split)
