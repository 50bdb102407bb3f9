"""The text the tokenizer is trained on: what demonstrators and their environments say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

import pixelis  # noqa: F401  (registers the environments)
from pixelis_mini_vl.routines import ROUTINES, player

EPISODES = 60


def corpus(seed: int) -> Iterator[str]:
    """Yield observations and turns of every environment."""
    rng = np.random.default_rng(seed)
    for name in ROUTINES:
        env = gym.make(f"Pixelis/{name}-v0", reader="truth", split="train")
        inner: Any = env.unwrapped
        demonstrator = player(name, rng)
        for episode in range(EPISODES):
            observation, info = env.reset(seed=seed + episode, options={"difficulty": episode % 2})
            played, ended = demonstrator(inner), False
            while not ended:
                action = played.act(observation, info)
                yield observation["text"]
                yield action
                observation, _, terminated, truncated, info = env.step(action)
                ended = terminated or truncated
        env.close()
