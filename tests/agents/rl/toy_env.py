"""Toys, registered on import.

``Toy/Echo-v0`` has a known optimum: say the letter you were shown. Reward and success are 1 for an action
that begins with it; saying the same letter always gives 1/4. ``Toy/Picture-v0`` shows pictures, and
``Toy/Album-v0`` a number of them that differs between episodes.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.envs.spaces import Utf8Text
from pixelis.errors import ConfigError

LETTERS = "abcd"


class EchoEnv(gym.Env):
    """One turn by default; ``turns`` > 1 shows a new letter each turn and pays for each.

    ``broken`` makes the episode of every seed divisible by it raise in ``step``; ``prize`` is the size of a
    reward.
    """

    def __init__(self, turns: int = 1, broken: int = 0, prize: float = 1.0) -> None:
        if turns < 1:
            raise ConfigError(f"turns must be at least 1, got {turns}")
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(256)})
        self.action_space = Utf8Text(256)
        self.max_turns, self.broken, self.prize = turns, broken, prize

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.turn, self.right, self.seed = 0, 0, seed or 0
        return self._show(), {"view_changed": False}

    def step(self, action: str):
        if self.broken and self.seed % self.broken == 0:
            raise RuntimeError("the toy is broken")
        hit = action.startswith(self.letter)
        self.turn += 1
        self.right += hit
        over = self.turn >= self.max_turns
        info: dict[str, Any] = {
            "reward_terms": {"echo": float(hit)},
            "tool_calls": [{"tool": "SAY", "ok": hit}],
        }
        if over:
            info["success"] = self.right == self.turn
        return self._show(), self.prize * hit, over, False, info

    def _show(self) -> dict[str, str]:
        self.letter = LETTERS[int(self.np_random.integers(len(LETTERS)))]
        return {"text": self.letter}


class PictureEnv(gym.Env):
    """Two turns with a new picture each; the reward is the share of small letters in the action."""

    max_turns = 2

    def __init__(self) -> None:
        picture = gym.spaces.Box(0, 255, (32, 32, 3), np.uint8)
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(256), "image": picture})
        self.action_space = Utf8Text(256)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.turn = 0
        return self._show(), {"view_changed": True}

    def step(self, action: str):
        self.turn += 1
        share = sum("a" <= letter <= "z" for letter in action) / max(1, len(action))
        info = {"view_changed": True, "success": share > 0.5}
        return self._show(), share, self.turn >= self.max_turns, False, info

    def _show(self) -> dict[str, Any]:
        colour = self.np_random.integers(0, 256, 3, dtype=np.uint8)
        return {"text": f"turn {self.turn}", "image": np.tile(colour, (32, 32, 1))}


class AlbumEnv(PictureEnv):
    """One to three turns, by the seed; a new picture every other turn, and rewards that differ.

    A turn's reward is the mean over its characters of (code point modulo 7) / 6.
    """

    max_turns = 3

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self.length = 1 + (seed or 0) % self.max_turns
        observation, _ = super().reset(seed=seed, options=options)
        return observation, {"view_changed": self.length > 1}

    def step(self, action: str):
        self.turn += 1
        reward = sum(ord(letter) % 7 for letter in action) / 6 / max(1, len(action))
        over = self.turn >= self.length
        return self._show(), reward, over, False, {"view_changed": self.turn % 2 == 0, "success": over}


TOYS = {"Toy/Echo-v0": EchoEnv, "Toy/Picture-v0": PictureEnv, "Toy/Album-v0": AlbumEnv}
for name, entry_point in TOYS.items():
    if name not in gym.registry:
        gym.register(name, entry_point=entry_point)
