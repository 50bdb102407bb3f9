"""``Toy/Dial-v0``, registered on import: an echo with a dial, and two families that do not have all of it.

``difficulty`` 0 is always solved, 1 by saying the letter that is shown, 2 and 3 never. ``kind`` ``short``
ends at difficulty 1.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from pixelis.envs.spaces import Utf8Text

LETTERS = "abcd"


class DialEnv(gym.Env):
    """See above; ``own`` keeps the names of the dials from the env's interface."""

    max_turns = 1

    def __init__(self, oracle: bool = True, says_success: bool = True, level: int = 1) -> None:
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(64)})
        self.action_space = Utf8Text(64)
        self.level_dials = {"kind": ("long", "short"), "difficulty": range(4)}
        self.split, self.says_success, self.level = "train", says_success, level
        if oracle:
            self.players = lambda: {"oracle": lambda env: Echo()}

    def level_exists(self, level):
        return level["kind"] == "long" or level["difficulty"] < 2

    def level_options(self, level):
        return {"place": level}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.place = (options or {}).get("place", {"kind": "long", "difficulty": self.level})
        assert self.level_exists(self.place)
        self.letter = LETTERS[int(self.np_random.integers(4))]
        return {"text": self.letter}, {"task": {"family": self.place["kind"]}}

    def step(self, action: str):
        difficulty = self.place["difficulty"]
        hit = difficulty == 0 or (difficulty == 1 and action.startswith(self.letter))
        info: dict[str, Any] = {"task": {"family": self.place["kind"]}}
        if self.says_success:
            info["success"] = hit
        return {"text": ""}, float(hit), True, False, info


class Echo:
    def act(self, observation, info):
        return observation["text"]


if "Toy/Dial-v0" not in gym.registry:
    gym.register("Toy/Dial-v0", entry_point=DialEnv)
