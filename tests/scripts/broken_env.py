"""Environments and reward functions with mistakes in them, as a user's own are; registered on import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
from toy_env import EchoEnv

from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv

REWARDS = {"none": None, "nan": float("nan"), "inf": float("inf"), "text": "1.0", "list": [1.0, 2.0]}


class BrokenEnv(EchoEnv):
    """The echo toy; episodes whose seed is divisible by ``every`` go wrong.

    Args:
        fault: ``make``, ``reset``, ``step``, ``exit``, ``info`` or a key of `REWARDS`; empty for none.
        every: see above.
        silent: never says whether an episode was a success.
        slow: seconds that a step takes.
    """

    def __init__(self, fault: str = "", every: int = 1, silent: bool = False, slow: float = 0.0) -> None:
        super().__init__()
        if fault == "make":
            raise OSError("no such camera")  # raised while it is made
        self.fault, self.every, self.silent, self.slow = fault, every, silent, slow

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self.struck = (seed or 0) % self.every == 0
        if self.struck and self.fault == "reset":
            raise KeyError("no row")  # raised in reset
        return super().reset(seed=seed, options=options)

    def step(self, action: str):
        import time

        time.sleep(self.slow)
        observation, reward, over, truncated, info = super().step(action)
        if self.silent:
            info.pop("success", None)
        if self.struck and self.fault == "step":
            raise RuntimeError("the wire is cut")  # raised in step
        if self.struck and self.fault == "exit":
            raise SystemExit(3)  # left in step
        if self.struck and self.fault == "info":
            info["reward_terms"] = {"echo": None}
        if self.struck and self.fault in REWARDS:
            reward = REWARDS[self.fault]
        return observation, reward, over, truncated, info

    def players(self):
        return {"oracle": Oracle, "mute": Mute, "clumsy": Clumsy}


class Oracle:
    """Says the letter that it is shown."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def act(self, observation: Any, info: Any) -> str:
        return observation["text"]


class Mute(Oracle):
    """Says nothing."""

    def act(self, observation: Any, info: Any) -> str:
        return ""


class Clumsy(Oracle):
    """Stumbles."""

    def act(self, observation: Any, info: Any) -> str:
        raise IndexError("no finger left")  # raised by the policy


class BrokenZoomEnv(ZoomReadEnv):
    """ZoomRead whose every step raises, for agents without language."""

    def step(self, action: str):
        raise RuntimeError("the lens is broken")  # raised in the lens


class Shout:
    """A reward term that raises for some letters, or gives what is no number."""

    name = "shout"

    def __init__(self, weight: float = 0.1, letters: str = "abcdefgh ", gives: str = "") -> None:
        self.letters, self.gives = letters, gives

    def begin(self) -> list[str]:
        return []

    def score(self, batch: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for memory, step in batch:
            if self.gives:
                found.append(REWARDS[self.gives])
                continue
            if str(step.observation["text"]) in self.letters:
                raise ValueError("too loud")  # raised in the term
            memory.append("heard")
            found.append(float(len(memory)))
        return found

    def learn(self) -> dict[str, float]:
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


class Watcher:
    """A scorer that cannot score."""

    def __call__(self, episodes: Sequence[Any]) -> list[float]:
        return [1 / 0 for _ in episodes]  # raised in the scorer


def _register_loss() -> None:
    from pixelis.agents.losses.surrogate import SURROGATES

    @SURROGATES.register("broken_surrogate")
    def broken_surrogate(given: Any, constants: Any) -> Any:
        raise ArithmeticError("no such loss")  # raised in the loss


_register_loss()
for name, entry in {"Broken/Echo-v0": BrokenEnv, "Broken/Zoom-v0": BrokenZoomEnv}.items():
    if name not in gym.registry:
        gym.register(name, entry_point=entry)
