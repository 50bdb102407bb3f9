"""A plain function as a reward term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.errors import ConfigError, RewardError, shown
from pixelis.rewards.terms.term import TermFunction, Transition
from pixelis.rewards.terms.weights import check_number
from pixelis.user_code import load_function, place_of_function, user_code, with_place


class FunctionTerm:
    """Scores each step by a plain function; without memory and without anything to learn.

    Args:
        function: from a step (`Transition`) to a finite number; also as ``"module:name"``.
        name: what the term is called; None: as the function is.

    Raises:
        ConfigError: it is no function, or has no name of its own.
    """

    def __init__(self, *, function: TermFunction | str, name: str | None = None) -> None:
        self._function: TermFunction = load_function(function, "a reward term's function")
        own = getattr(self._function, "__name__", "")
        self.name = name or own
        if not self.name.isidentifier():
            raise ConfigError(
                f"a reward term needs a name, got the function {shown(self._function, 60)}; "
                "write it with def, or give name="
            )
        self._what = with_place(f"reward term {self.name!r}", place_of_function(self._function))

    def begin(self) -> None:
        """Return nothing: a step's value needs no memory."""
        return None

    def score(self, steps: Sequence[tuple[None, Transition]]) -> list[float]:
        """Return the function's value of each step.

        Raises:
            RewardError: one is no finite number.
            UserCodeError: the function raised.
        """
        return [self._score(step) for _, step in steps]

    def learn(self) -> dict[str, float]:
        """Learn nothing: the term is fixed."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the term is fixed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the term is fixed."""

    def _score(self, step: Transition) -> float:
        with user_code(f"reward term {self.name!r}"):
            value = self._function(step)
        try:
            return check_number(value, self.name)
        except RewardError as error:
            raise RewardError(f"{self._what}: {error}") from None
