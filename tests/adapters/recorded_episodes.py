"""Episodes played by Gymnasium's interface, which every adapter has to play and to pay the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

import pixelis  # noqa: F401

ENVS: Mapping[str, Mapping[str, Any]] = {
    "Pixelis/ZoomRead-v0": {"reader": "truth"},
    "Pixelis/SizeCompare-v0": {"reader": "truth"},
    "Pixelis/WireTrace-v0": {"reader": "truth"},
    "Pixelis/WebBrowse-v0": {},
    "Pixelis/CodeProblem-v0": {},
    "Pixelis/TweetReply-v0": {},
    "Pixelis/Gymnasium-v0": {"env": "FrozenLake-v1", "env_kwargs": {"is_slippery": False}},
    "Pixelis/ReasoningGym-v0": {"task": "chain_sum"},
}
HOSTILE = (
    "",
    "9" * 5_000,
    '<tool_call>{"name": "NOTHING", "arguments": {"x": ' + "9" * 5_000 + "}}</tool_call>",
    " \n\t ",
    "<tool_call>{",
    "<answer>" + "9" * 5_000 + "</answer>",
)
"""Turns of nobody who wants to solve anything; said over and over until the episode ends."""
PLAYERS = ("oracle", "random", "hostile")
Played = list[tuple[str, str, float, bool]]
"""Of each turn: what was said, what came back, its reward, whether the episode was over."""


class _Hostile:
    def __init__(self) -> None:
        self._turns = itertools.cycle(HOSTILE)

    def act(self, observation: Any, info: Any) -> str:
        return next(self._turns)


def natively(env_id: str, player: str, seed: int) -> tuple[str, Played]:
    """Return what an episode begins with, and its turns."""
    env = gym.make(env_id, **ENVS[env_id])
    inner: Any = env.unwrapped
    observation, info = env.reset(seed=seed)
    who = _Hostile() if player == "hostile" else inner.players()[player](inner)
    first, played, done = observation["text"], [], False
    while not done:
        said = who.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(said)
        done = terminated or truncated
        played.append((said, observation["text"], float(reward), done))
    env.close()
    return first, played
