"""Episodes played by Gymnasium's interface, which every adapter has to play and to pay the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
from hypothesis import strategies as st

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


TURNS = st.lists(st.one_of(st.sampled_from(HOSTILE[:-1]), st.text(max_size=60)), max_size=3)
"""Any turns; `generated` adds one that ends the episode."""


def natively(env_id: str, player: str, seed: int) -> tuple[str, Played]:
    """Return what an episode begins with, and its turns."""
    env = gym.make(env_id, **ENVS[env_id])
    observation, info = env.reset(seed=seed)
    inner: Any = env.unwrapped
    if player == "hostile":
        turns = itertools.cycle(HOSTILE)
        return observation["text"], _played(env, lambda observation, info: next(turns), observation, info)
    who = inner.players()[player](inner)
    return observation["text"], _played(env, who.act, observation, info)


def generated(env_id: str, turns: Sequence[str], seed: int) -> tuple[str, Played]:
    """Return the same for given turns, and then answers until the end."""
    env = gym.make(env_id, **ENVS[env_id])
    observation, info = env.reset(seed=seed)
    said = itertools.chain(turns, itertools.repeat("<answer>?</answer>"))
    return observation["text"], _played(env, lambda observation, info: next(said), observation, info)


def _played(env: gym.Env[Any, Any], act: Callable[[Any, Any], str], observation: Any, info: Any) -> Played:
    played, done = [], False
    while not done:
        said = act(observation, info)
        observation, reward, terminated, truncated, info = env.step(said)
        done = terminated or truncated
        played.append((said, observation["text"], float(reward), done))
    env.close()
    return played
