"""A toy with faults, registered on import as ``Toy/Fault-v0``."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium as gym
from toy_env import EchoEnv


class FaultEnv(EchoEnv):
    """The echo toy; some episodes go wrong, as decided by their seeds alone.

    Args:
        hang: the call that never returns, ``make``, ``reset`` or ``step``; none by default.
        every: it happens in episodes whose seed is divisible by this.
        jackpot: in those episodes, a reward for any answer that begins with a to d; none by default.
        flat: every answer is right.
    """

    def __init__(self, hang: str = "", every: int = 2, jackpot: float = 0.0, flat: bool = False) -> None:
        super().__init__()
        if hang == "make":
            threading.Event().wait()
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
        if self.struck and "a" <= action < "e":
            reward += self.jackpot
        return observation, reward, over, truncated, info


if "Toy/Fault-v0" not in gym.registry:
    gym.register("Toy/Fault-v0", entry_point=FaultEnv)
