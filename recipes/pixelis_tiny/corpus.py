"""The text the tokenizer is trained on: what is said in episodes of ZoomRead."""

from __future__ import annotations

from collections.abc import Iterator

from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv
from pixelis_tiny.demonstrations import demonstrator

EPISODES = 150


def corpus(seed: int) -> Iterator[str]:
    """Yield the observations and turns of demonstrators, random agents and oracles, all levels."""
    env = ZoomReadEnv(reader="truth")
    players = {"demonstrator": demonstrator(seed), **env.players()}
    for name in ("demonstrator", "random", "oracle"):
        for episode in range(EPISODES):
            observation, info = env.reset(seed=seed + episode, options={"difficulty": episode % 5})
            policy, ended = players[name](env), False
            while not ended:
                action = policy.act(observation, info)
                yield observation["text"]
                yield action
                observation, _, terminated, truncated, info = env.step(action)
                ended = terminated or truncated
