"""What ``reset`` and ``step`` return, as rows of a recording; the recorder and the replay share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from pixelis.wrappers.recording.values import ARRAY_LIMIT, encode

KEPT_INFO = ("task", "tool_calls", "success", "valid_for_training", "failure_reason", "view_changed")
REWARD_PREFIX = "reward_"  # ``reward_terms`` and everything of its kind; MuJoCo's ``reward_ctrl`` likewise


class EpisodeRows:
    """Makes the rows of one episode.

    Of ``info`` it keeps `KEPT_INFO` and what begins with ``reward_``; a step's ``task`` only where it is not
    the one that ``reset`` gave.

    Args:
        keep: called with the digest and the array of everything that is given by it.
    """

    def __init__(self, keep: Callable[[str, np.ndarray], None] | None = None) -> None:
        self._keep = keep
        self._task: Any = None

    def reset(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a ``reset``."""
        kept = self._info(info)
        self._task = kept.get("task")
        return {"observation": encode(observation, ARRAY_LIMIT, self._keep), "info": kept}

    def step(
        self, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the row of a ``step``."""
        kept = self._info(info)
        if self._task is not None and kept.get("task") == self._task:
            del kept["task"]
        return {
            "observation": encode(observation, ARRAY_LIMIT, self._keep),
            "reward": encode(float(reward)),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "info": kept,
        }

    def _info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: encode(value, ARRAY_LIMIT, self._keep)
            for name, value in info.items()
            if name in KEPT_INFO or str(name).startswith(REWARD_PREFIX)
        }


def rng_state(generator: Any) -> dict[str, Any] | None:
    """Return the state of a NumPy generator as JSON, or None for anything else."""
    if not isinstance(generator, np.random.Generator):
        return None
    return encode(dict(generator.bit_generator.state))


def as_batched(space: gym.Space[Any], observation: Any) -> Any:
    """Return one env's observation as it comes out of a vector: its arrays have the dtypes of the space."""
    batch = concatenate(space, [observation], create_empty_array(space, n=1, fn=np.zeros))
    return next(iter(iterate(batch_space(space, 1), batch)))


def lane_info(infos: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """Return one env's ``info`` out of a vector's, in which every key has a mask ``_key``.

    Args:
        infos: what a Gymnasium vector env returns.
        lane: which env.
    """
    found = {}
    for name, value in infos.items():
        mask = infos.get(f"_{name}")
        if mask is None or not mask[lane]:
            continue
        found[name] = lane_info(value, lane) if isinstance(value, Mapping) else value[lane]
    return found
