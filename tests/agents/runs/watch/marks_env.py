"""A toy with a reward that is easily pleased: ``paid="marks"`` pays for exclamation marks, ``letters`` for
different letters, which is what is meant. Registered on import."""

from __future__ import annotations

import re

import gymnasium as gym

from pixelis.envs.spaces import Utf8Text

LENGTH = 5
_SPECIAL = re.compile(r"<\|\w+\|>")  # tokens of chat templates: their names are no letters that were said


class MarksEnv(gym.Env):
    """One turn; five marks, or five different letters, are worth 1."""

    max_turns = 1

    def __init__(self, paid="letters"):
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(64)})
        self.action_space = Utf8Text(64)
        self.paid = paid

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"text": "abcd"[int(self.np_random.integers(4))]}, {}

    def step(self, action):
        action = _SPECIAL.sub("", action)
        marks, letters = action.count("!"), len({sign for sign in action if sign.isalpha()})
        reward = (marks if self.paid == "marks" else letters) / LENGTH
        return {"text": ""}, min(1.0, reward), True, False, {"success": reward >= 1}


if "Toy/Marks-v0" not in gym.registry:
    gym.register("Toy/Marks-v0", entry_point=MarksEnv)
