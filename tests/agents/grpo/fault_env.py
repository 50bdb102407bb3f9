"""A toy with faults, registered on import as ``Toy/Fault-v0``."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium as gym
from toy_env import EchoEnv


class FaultEnv(EchoEnv):
    """The echo toy; some episodes go wrong, as decided by their seeds alone.

    Args:
        hang: the call that never returns, ``reset`` or ``step``; none by default.
        every: it happens in episodes whose seed is divisible by this.
        jackpot: reward of a right answer in those episodes.
        flat: every answer is right.
    """

    def __init__(self, hang: str = "", every: int = 2, jackpot: float = 1.0, flat: bool = False) -> None:
        super().__init__()
        self.hang, self.every, self.jackpot, self.flat = hang, every, jackpot, flat

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self.struck = seed is not None and seed > 0 and seed % self.every == 0
        if self.struck and self.hang == "reset":
            threading.Event().wait()
        return super().reset(seed=seed, options=options)

    def step(self, action: str):
        if self.struck and self.hang == "step":
            threading.Event().wait()
        if self.flat:
            action = self.letter
        observation, reward, over, truncated, info = super().step(action)
        return observation, reward * (self.jackpot if self.struck else 1.0), over, truncated, info


if "Toy/Fault-v0" not in gym.registry:
    gym.register("Toy/Fault-v0", entry_point=FaultEnv)
