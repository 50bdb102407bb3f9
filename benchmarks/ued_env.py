"""The environment of ``benchmarks/ued_study.py``: easy, hard and impossible levels; registered on import.

``Study/ShiftRow-v0`` shows a row of eight letters a-h and then a mark for each place: ``?`` where a letter
is asked for, ``.`` where none is. To be said is the row with its first letter moved one place on in the
alphabet, the second two places, and so on (h is followed by a), as far as it is asked for and no further.
The episode is one turn; it succeeds (reward 1, else 0) if just that is said. Two dials:

- ``family``: ``shown``; or ``hidden``, with dots in the row's place: what is asked for cannot be derived from
  what is seen, so the best policy succeeds with probability 8 ** -length.
- ``length``: 1 to 6 where the row is shown, 1 to 8 where it is hidden.

So eight of the fourteen cells are impossible, and six can be solved, the first of them easily from the start
(see ``ued_model.py``). A longer level asks for all that a shorter one does, and for places with shifts of
their own. A single hidden letter is a trap of noise: guessed one time in eight for ever, so the groups of
such levels often differ in reward, and nothing can be learnt from that.

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
ROW = 8
ASKED, HIDDEN = "?", "."
LONGEST = {"shown": 6, "hidden": 8}


def marks(length: int) -> str:
    """Return the marks of a level that asks for so many letters."""
    return ASKED * length + HIDDEN * (ROW - length)


def shifted(row: str) -> str:
    """Return a row with its n-th letter moved n places on; what is no letter stays."""
    return "".join(
        LETTERS[(LETTERS.index(letter) + 1) % len(LETTERS)] if letter in LETTERS else letter
        for place, letter in enumerate(row, start=1)
    )


class ShiftRowEnv(gym.Env[dict[str, Any], str]):
    """See the module's docstring.

    Args:
        family: ``shown`` or ``hidden``.
        length: letters to say, from 1.
        split: ``train`` or ``test``.
    """

    max_turns = 1
    level_dials: Mapping[str, tuple[Any, ...]] = {
        "family": tuple(LONGEST),
        "length": tuple(range(1, ROW + 1)),
    }

    def __init__(self, family: str = "shown", length: int = 1, split: str = "train") -> None:
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(64)})
        self.action_space = Utf8Text(64)
        self._own = {"family": family, "length": length, "split": split}
        self.split = check_split(split)

    def level_exists(self, level: Mapping[str, Any]) -> bool:
        """Return whether the family has levels of this length."""
        return level["length"] <= LONGEST[level["family"]]

    def policies(self) -> dict[str, Any]:
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
        self._cell = {"family": asked["family"], "length": asked["length"]}
        if asked["family"] not in LONGEST or not 1 <= asked["length"] <= LONGEST[asked["family"]]:
            raise DifficultyError(f"expected family and length of {LONGEST}, got {self._cell}")
        odd = check_split(asked["split"]) == "test"
        numbers = self.np_random.integers(len(LETTERS), size=ROW)
        while numbers.sum() % 2 != odd:
            numbers = self.np_random.integers(len(LETTERS), size=ROW)
        row = "".join(LETTERS[number] for number in numbers)
        self._asked_for = shifted(row)[: asked["length"]]
        shown = row if asked["family"] == "shown" else HIDDEN * ROW
        return {"text": shown + marks(asked["length"])}, {"task": {"family": asked["family"]}}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """End the episode."""
        success = action == self._asked_for
        info = {"task": {"family": self._cell["family"]}, "success": success}
        return {"text": ""}, float(success), True, False, info


class _Oracle:
    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the shifted row, if there is one."""
        text = observation["text"]
        return shifted(text[:ROW])[: text.count(ASKED)]


if "Study/ShiftRow-v0" not in gym.registry:
    gym.register("Study/ShiftRow-v0", entry_point="ued_env:ShiftRowEnv")
