"""A toy with a known optimum: say the letter you were shown. Registered as ``Toy/Echo-v0`` on import.

Reward and success are 1 for an action that begins with the letter. Saying the same letter always gives 1/4.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

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


if "Toy/Echo-v0" not in gym.registry:
    gym.register("Toy/Echo-v0", entry_point=EchoEnv)
