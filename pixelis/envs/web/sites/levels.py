"""Difficulty as a vector, and a level: everything that one episode's site is made of, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from pixelis.envs.schema import Object, Record, read_fields
from pixelis.envs.web.sites.site import State
from pixelis.errors import DatasetError, DifficultyError, TaskError, shown, suggest

DIALS = ("layout", "paraphrase", "ads", "injection", "popups", "churn", "delay", "clutter")
"""What makes any family harder; each from 0 to 3."""
DIFFICULTIES = range(6)
DIAL_VALUES = range(4)

_BY_DIFFICULTY = (
    (0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 0, 0),
    (1, 1, 0, 0, 0, 0, 0, 1),
    (1, 1, 1, 1, 1, 0, 0, 1),
    (2, 2, 1, 1, 1, 1, 1, 2),
    (3, 3, 2, 3, 2, 2, 2, 3),
)


@dataclass(frozen=True)
class WebDifficulty:
    """How hard a level is.

    Attributes:
        difficulty: 0-5, the family's own dial: how much there is, and how much is asked.
        layout: order of sections, place of the navigation, labels away from their fields.
        paraphrase: other words on buttons, links and fields.
        ads: sponsored boxes that look like content.
        injection: texts that tell the reader to do something else: 1 visible, 2 also in image texts and
            titles, 3 also for screen readers alone.
        popups: dialogs over the page that must be closed.
        churn: ids are renumbered without a page load: every 4, 2, 1 actions.
        delay: the content of a page comes after so many actions.
        clutter: controls that have nothing to do with the task.
    """

    difficulty: int = 0
    layout: int = 0
    paraphrase: int = 0
    ads: int = 0
    injection: int = 0
    popups: int = 0
    churn: int = 0
    delay: int = 0
    clutter: int = 0

    def __post_init__(self) -> None:
        for name, allowed in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
                raise DifficultyError(
                    f"{name} must be an integer from {allowed[0]} to {allowed[-1]}, got {shown(value)}; "
                    "choose one of these"
                )

    @classmethod
    def of(cls, value: Any) -> WebDifficulty:
        """Return the vector for a difficulty 0-5, or for a mapping of dials.

        A mapping's dials override those that its ``difficulty`` (0 if it names none) comes with.

        Raises:
            DifficultyError: neither, an unknown dial or a value out of range.
        """
        if isinstance(value, WebDifficulty):
            return value
        given = dict(value) if isinstance(value, Mapping) else {"difficulty": value}
        for name in given:
            if name not in dial_ranges():
                raise DifficultyError(f"unknown dial {shown(name)}.{suggest(name, dial_ranges())}")
        difficulty = cls(_plain(given.get("difficulty", 0))).difficulty
        standard = dict(zip(DIALS, _BY_DIFFICULTY[difficulty], strict=True))
        return cls(**{**standard, **{name: _plain(dial) for name, dial in given.items()}})

    def to_json(self) -> dict[str, int]:
        """Return ``difficulty`` and the other dials by name."""
        return asdict(self)


def _plain(value: Any) -> Any:
    """Return NumPy's integers as Python's; anything else as it is."""
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else value


_RANGES = {"difficulty": DIFFICULTIES, **dict.fromkeys(DIALS, DIAL_VALUES)}


def dial_ranges() -> dict[str, range]:
    """Return what may be turned, and how far: ``difficulty`` and the other dials."""
    return dict(_RANGES)


@dataclass(frozen=True)
class WebLevel(Record):
    """One concrete site with its task. Nothing in it changes; all JSON.

    Attributes:
        family: name of the family.
        difficulty: the vector.
        instruction: what the agent is asked to do.
        start: path of the first page.
        data: the site's content (catalogue, messages, …).
        state: what the site remembers at first.
        goal: what the final state must hold; the family's own form.
        theme: brand, words, and what the dials put on the pages (``theme.draw_theme``).
        answer: of a question: ``kind``, ``truth`` and perhaps ``tolerance`` of a ``TypedAnswer``; else
            ``None``.
    """

    family: str
    difficulty: Annotated[WebDifficulty, PlainValidator(WebDifficulty.of)]
    instruction: str
    data: Object
    state: State
    goal: Object
    theme: Object
    start: str = "/"
    answer: Object | None = None

    def word(self, phrase: str) -> str:
        """Return how this site says a phrase of ``wording``."""
        return self.theme["words"].get(phrase, phrase)

    def to_json(self) -> dict[str, Any]:
        """Return the level as JSON, without the instruction (a task's question)."""
        return {
            "difficulty": self.difficulty.to_json(),
            "data": self.data,
            "state": self.state,
            "goal": self.goal,
            "theme": self.theme,
            "start": self.start,
            "answer": self.answer,
            "family": self.family,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], instruction: str) -> WebLevel:
        """Return the level that a task's data describe.

        Raises:
            TaskError: a part is missing or of the wrong type.
        """
        try:
            level = read_fields(cls, {"difficulty": 0, **value, "instruction": instruction})
        except DatasetError as error:
            raise TaskError(f"a web task's data cannot be read: {error}") from None
        if not isinstance(level.theme.get("words"), Mapping):
            raise TaskError("a web task's theme needs 'words'; take the task from env.task.to_json()")
        return level
