"""What a sink is, and what it is given besides numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.episodes.behaviour import Row


@dataclass(frozen=True)
class StepSample:
    """What a step looked like beyond its metrics; nobody changes the arrays afterwards.

    Attributes:
        histograms: name → the values, 1-D.
        pictures: name → uint8 [H, W, 3].
        texts: name → text as it was written.
    """

    histograms: Mapping[str, np.ndarray] = field(default_factory=dict)
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """What a sink is told of the run when it begins.

    Attributes:
        folder: of the run.
        id: the same in every session of the run, eight hexadecimal digits.
        settings: plain data, sections as mappings.
        after_step: the last step that is kept of earlier sessions, 0 in the first.
    """

    folder: Path
    id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    after_step: int = 0

    def flat_settings(self) -> dict[str, Any]:
        """Return the settings by their dotted names; a list, a mapping of names and none become text."""
        return dict(_flat(self.settings))


class Sink(ABC):
    """Takes rows, one after another, in a thread of its own; may be slow, may fail.

    Attributes:
        name: what it is called in messages.
        essential: whether training ends when it fails; one that is not is told once and left.
    """

    name: str
    essential = False

    @abstractmethod
    def open(self) -> None:
        """Begin; whatever it raises here or below is its failure."""

    @abstractmethod
    def write(self, row: Row, sample: StepSample | None) -> None:
        """Take a row of finite numbers and None, with ``step``, and perhaps what the step looked like."""

    @abstractmethod
    def flush(self) -> None:
        """Put what it has taken where a kill does not lose it, as far as it can."""

    @abstractmethod
    def close(self) -> None:
        """End."""


def _flat(settings: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            found += _flat(value, f"{above}{name}.")
        else:
            plain = isinstance(value, (bool, int, float, str))
            found.append((f"{above}{name}", value if plain else str(value).lower()))
    return found
