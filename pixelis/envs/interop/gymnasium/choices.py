"""Actions of any Gymnasium environment, said in words."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pixelis.envs.interop.gymnasium.known import ACTIONS, family_of
from pixelis.errors import ConfigError, shown

_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Choices(Protocol):
    """What may be done, and how it is said."""

    @property
    def rule(self) -> str:
        """What the agent is told of it."""
        ...

    def read(self, text: str) -> Any | None:
        """Return the action that a turn says; None where it says none, or more than one."""
        ...

    def word(self, action: Any) -> str:
        """Return a turn that says an action."""
        ...


def choices_of(env: gym.Env[Any, Any], env_id: str, names: Sequence[str] | None = None) -> Choices:
    """Return how an environment's actions are said.

    Args:
        env: the environment.
        env_id: its id.
        names: of its actions, in order; None: as it names them itself, or its documentation, or by number.

    Raises:
        ConfigError: its actions cannot be said, or there are not as many names as actions.
    """
    space: Any = env.action_space
    if isinstance(space, spaces.Discrete):
        found = _names(env, env_id, space) if names is None else tuple(names)
        if len(found) != space.n or len({name.lower() for name in found}) != space.n:
            raise ConfigError(
                f"actions must be {space.n} different names for {env_id}, got {shown(found, 80)}"
            )
        return Named(found, int(space.start))
    if names is not None:
        raise ConfigError(f"actions names choices, and an action of {env_id} is in {space}; leave it out")
    if isinstance(space, spaces.Text):
        return Free(space)
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
        return Numbers(space)
    raise ConfigError(
        f"an action of {env_id} is in {shown(str(space), 80)}, which cannot be said in a turn; "
        "wrap the environment so that it is Discrete, Box, MultiDiscrete, MultiBinary or Text"
    )


def _names(env: gym.Env[Any, Any], env_id: str, space: spaces.Discrete) -> tuple[str, ...]:
    inner: Any = env.unwrapped
    start, count = int(space.start), int(space.n)
    if hasattr(inner, "get_action_meanings"):  # ALE
        found = tuple(str(name).lower() for name in inner.get_action_meanings())
    elif isinstance(kinds := getattr(inner, "actions", None), type) and issubclass(kinds, enum.IntEnum):
        found = tuple(kind.name for kind in sorted(kinds))  # MiniGrid
    else:
        found = ACTIONS.get(family_of(env_id), ())
    return found if len(found) == count else tuple(map(str, range(start, start + count)))


class Named:
    """One of some names; its number will do, too, where no name is a number.

    Args:
        names: in the order of the actions.
        start: the number of the first.
    """

    def __init__(self, names: Sequence[str], start: int = 0) -> None:
        self.names, self._start = tuple(names), start
        self._by_word = {name.lower(): start + index for index, name in enumerate(names)}
        if not any(name.lstrip("-").isdigit() for name in names):
            self._by_word |= {str(start + index): start + index for index in range(len(names))}
        longest = sorted(self._by_word, key=len, reverse=True)
        self._mentioned = re.compile(
            "|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\w)" for word in longest)
        )

    @property
    def rule(self) -> str:
        """The names."""
        return f"Reply with one of these words: {', '.join(self.names)}."

    def read(self, text: str) -> int | None:
        """Return the action whose name is the turn, or the only one that is mentioned in it."""
        text = answer_in(text).lower()
        exact = self._by_word.get(text.strip(" .!\"'`*\n\t"))
        if exact is not None:
            return exact
        mentioned = {self._by_word[word] for word in self._mentioned.findall(text)}
        return mentioned.pop() if len(mentioned) == 1 else None

    def word(self, action: Any) -> str:
        """Return its name."""
        return self.names[int(action) - self._start]


class Numbers:
    """As many numbers as the space has, whole ones where it has whole ones."""

    def __init__(self, space: spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary) -> None:
        self._space, self._whole = space, not np.issubdtype(space.dtype, np.floating)
        self._shape: tuple[int, ...] = tuple(space.shape)  # type: ignore[arg-type]
        self._count = int(np.prod(self._shape))

    @property
    def rule(self) -> str:
        """How many, and in which range."""
        kind = "whole number" if self._whole else "number"
        many = f"one {kind}" if self._count == 1 else f"{self._count} {kind}s, separated by spaces"
        return f"Reply with {many}{self._range}."

    @property
    def _range(self) -> str:
        space = self._space
        if isinstance(space, spaces.MultiBinary):
            return ", each 0 or 1"
        low = space.low if isinstance(space, spaces.Box) else space.start
        high = space.high if isinstance(space, spaces.Box) else space.start + space.nvec - 1
        ranges = [f"{a:g} to {b:g}" for a, b in zip(np.ravel(low), np.ravel(high), strict=True)]
        return ", from " + (ranges[0] if len(set(ranges)) == 1 else ", ".join(ranges))

    def read(self, text: str) -> np.ndarray | None:
        """Return the numbers of a turn where they are as many as wanted and in range."""
        found = _NUMBER.findall(answer_in(text))
        if len(found) != self._count:
            return None
        if self._whole and any(not number.lstrip("+-").isdigit() for number in found):
            return None
        try:
            numbers = [int(one) if self._whole else float(one) for one in found]
            with np.errstate(
                over="ignore"
            ):  # what is beyond the type becomes infinite, and is not in the space
                action = np.array(numbers, self._space.dtype)
        except (OverflowError, ValueError):  # too large for the type, or more digits than Python reads
            return None
        action = action.reshape(self._shape)
        return action if self._space.contains(action) else None

    def word(self, action: Any) -> str:
        """Return the numbers, separated by spaces."""
        return " ".join(f"{number:d}" if self._whole else f"{number:.4g}" for number in np.ravel(action))


class Free:
    """Any text that the space holds."""

    def __init__(self, space: spaces.Text) -> None:
        self._space = space

    @property
    def rule(self) -> str:
        """How long it may be, and of which characters."""
        space = self._space
        allowed = "".join(sorted(space.character_set, key=lambda one: (not one.isalnum(), one)))
        return f"Reply with a text of {space.min_length} to {space.max_length} characters of these: {allowed}"

    def read(self, text: str) -> str | None:
        """Return the answer in a turn, or the turn, where the space holds it."""
        text = answer_in(text)
        return text if self._space.contains(text) else None

    def word(self, action: Any) -> str:
        """Return it."""
        return str(action)


def answer_in(text: str) -> str:
    """Return what stands in the last ``<answer>`` behind a turn's thoughts, all of that where there is none.

    Thoughts end with the last ``</think>``.
    """
    spoken = text.rpartition("</think>")[2]
    found = _ANSWER.findall(spoken)
    return found[-1] if found else spoken
