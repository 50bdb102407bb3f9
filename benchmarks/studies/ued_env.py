"""The environment of ``ued_study.py``: easy, hard and impossible levels; registered on import.

``Study/ShiftRow-v0`` shows a row of six letters a-h and then a mark for each place: what is to be said of
that letter, or ``.`` where nothing is. The episode is one turn; it succeeds (reward 1, else 0) if just what
is asked for is said, and no more. Two dials:

- ``family``: ``copied``, marked ``=``: the letters as they are shown; ``shifted``, marked ``?``: the first
  moved one place on in the alphabet, the second two, and so on (h is followed by a); ``hidden``: the same,
  with dots in the row's place. What that asks for cannot be derived from what is seen, so the best policy
  succeeds with probability 8 ** -length.
- ``length``: letters to say, 1 to 6. A longer level asks for all that a shorter one does, and for places with
  shifts of their own.

So six of the eighteen cells are easy, six hard and six impossible: the policy that a study starts from has
seen right demonstrations of ``copied``, and of ``shifted`` the worse ones the longer (see ``ued_model.py``).
A single hidden letter is a trap of noise: guessed one time in eight for ever, so the groups of such levels
often differ in reward, and nothing can be learnt from that.

Rows of the splits differ: the sum of the letters' numbers is even for training and odd for testing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from pixelis.envs.spaces import Utf8Text
from pixelis.envs.tasks import check_split
from pixelis.errors import DifficultyError

LETTERS = "abcdefgh"
ROW = 6
EASY, HARD, IMPOSSIBLE = FAMILIES = ("copied", "shifted", "hidden")
COPY, SHIFT, NOTHING = MARKS = "=?."
LENGTHS = tuple(range(1, ROW + 1))


def shown(row: str, family: str, length: int) -> str:
    """Return what an agent sees of a row: letters or dots, then marks."""
    mark = COPY if family == EASY else SHIFT
    return (NOTHING * ROW if family == IMPOSSIBLE else row) + mark * length + NOTHING * (ROW - length)


def asked_for(row: str, family: str, length: int) -> str:
    """Return what is to be said."""
    return (row if family == EASY else shifted(row))[:length]


def shifted(row: str) -> str:
    """Return a row with its n-th letter moved n places on; what is no letter stays."""
    return "".join(
        LETTERS[(LETTERS.index(letter) + place) % len(LETTERS)] if letter in LETTERS else letter
        for place, letter in enumerate(row, start=1)
    )


class ShiftRowEnv(gym.Env[dict[str, Any], str]):
    """See the module's docstring.

    Args:
        family: ``copied``, ``shifted`` or ``hidden``.
        length: letters to say, 1 to 6.
        split: ``train`` or ``test``.
    """

    max_turns = 1
    level_dials: Mapping[str, tuple[Any, ...]] = {"family": FAMILIES, "length": LENGTHS}

    def __init__(self, family: str = HARD, length: int = 1, split: str = "train") -> None:
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(64)})
        self.action_space = Utf8Text(64)
        self._own = {"family": family, "length": length, "split": split}
        self.split = check_split(split)

    def players(self) -> dict[str, Any]:
        """Return the oracle, which sees what an agent sees."""
        return {"oracle": lambda env: _Oracle()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a row; ``options`` are ``family``, ``length`` and ``split``.

        Raises:
            DifficultyError: there is no such cell.
        """
        super().reset(seed=seed)
        asked = {**self._own, **(options or {})}
        family, length = self._cell = asked["family"], asked["length"]
        if family not in FAMILIES or length not in LENGTHS:
            raise DifficultyError(
                f"expected a family of {FAMILIES} and a length of {LENGTHS}, got {self._cell}"
            )
        odd = check_split(asked["split"]) == "test"
        numbers = self.np_random.integers(len(LETTERS), size=ROW)
        while numbers.sum() % 2 != odd:
            numbers = self.np_random.integers(len(LETTERS), size=ROW)
        self.row = "".join(LETTERS[number] for number in numbers)
        return {"text": shown(self.row, family, length)}, {"task": {"family": family}}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """End the episode."""
        success = action == asked_for(self.row, *self._cell)
        info = {"task": {"family": self._cell[0]}, "success": success}
        return {"text": ""}, float(success), True, False, info


class _Oracle:
    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return what is asked for of the row that is seen, if one is."""
        row, marks = observation["text"][:ROW], observation["text"][ROW:]
        length = ROW - marks.count(NOTHING)
        return asked_for(row, EASY if marks.startswith(COPY) else HARD, length)


if "Study/ShiftRow-v0" not in gym.registry:
    gym.register("Study/ShiftRow-v0", entry_point="ued_env:ShiftRowEnv")
