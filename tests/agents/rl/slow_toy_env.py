"""``Toy/SlowEcho-v0``: the echo toy, a tenth of a second a turn, so that something can happen meanwhile.

``needs`` names a variable of the environment without which it cannot be made, as others need a browser;
``notes`` is a file that gets a line when it is closed.
"""

from __future__ import annotations

import os
import time

import gymnasium as gym
from toy_env import EchoEnv

from pixelis.errors import ConfigError


class SlowEchoEnv(EchoEnv):
    """Takes its time."""

    def __init__(self, needs: str | None = None, notes: str | None = None, **settings: int) -> None:
        if needs is not None and needs not in os.environ:
            raise ConfigError(f"this machine has no {needs}")
        super().__init__(**settings)
        self.notes = notes

    def step(self, action: str):
        time.sleep(0.1)
        return super().step(action)

    def close(self) -> None:
        if self.notes is not None:
            with open(self.notes, "a") as file:
                file.write("closed\n")


gym.register("Toy/SlowEcho-v0", SlowEchoEnv, disable_env_checker=True)
