"""A toy with a dial and an oracle, registered on import.

``Toy/Spell-v0`` shows ``difficulty + 1`` letters; the answer is the same letters. Reward is the share of
places that are right, success all of them. ``noise`` more letters follow, of which nothing is asked: without
any there are so few tasks that those held out are never seen.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from pixelis.envs.spaces import Utf8Text
from pixelis.errors import DifficultyError

LETTERS = "abcdefgh"


class SpellEnv(gym.Env):
    max_turns = 1

    def __init__(self, difficulty: int = 0, noise: int = 0) -> None:
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(256)})
        self.action_space = Utf8Text(256)
        self.difficulty, self.noise = difficulty, noise

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        level = (options or {}).get("difficulty", self.difficulty)
        if not 0 <= level < 4:
            raise DifficultyError(f"difficulty must be 0 to 3, got {level}")
        self.word = "".join(self.np_random.choice(list(LETTERS), size=level + 1))
        noise = "".join(self.np_random.choice(list(LETTERS), size=self.noise)) if self.noise else ""
        return {"text": self.word + noise}, {"view_changed": False}

    def step(self, action: str):
        hits = sum(a == b for a, b in zip(action, self.word, strict=False))
        info = {"success": action == self.word}
        return {"text": ""}, hits / len(self.word), True, False, info

    def players(self):
        return {"oracle": lambda env: Speller(env), "silent": lambda env: Speller(env, silent=True)}


class Speller:
    def __init__(self, env: SpellEnv, silent: bool = False) -> None:
        self.env, self.silent = env, silent

    def act(self, observation, info):
        return "" if self.silent else self.env.word


if "Toy/Spell-v0" not in gym.registry:
    gym.register("Toy/Spell-v0", entry_point=SpellEnv)
