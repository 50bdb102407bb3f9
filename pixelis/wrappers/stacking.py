"""``wrap``: the reward wrappers that plain data describe, around an environment or a vector of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gymnasium.vector import VectorEnv

from pixelis.rewards.reward_config import RewardConfig, TermEntry, read_rewards
from pixelis.rewards.weights import TASK
from pixelis.wrappers import orchestrator, term_reward
from pixelis.wrappers.vector import orchestrator as vector_orchestrator
from pixelis.wrappers.vector import term_reward as vector_term_reward

_CLASSES = {"curiosity": "CuriosityReward", "coherence": "CoherenceReward", "penalty": "ToolPenalty"}


def wrap(env: Any, values: Mapping[str, Any], available_metrics: Collection[str] = ()) -> Any:
    """Return ``env`` with the wrappers that a mapping such as YAML's describes, in the right order.

    The same mapping makes a trainer's stack (``pixelis.rewards.stack.build_stack``), for example::

        {"curiosity": {"weight": 0.3}, "coherence": {}, "penalty": {}, "task_gap": 1.0}

    Args:
        env: a Gymnasium environment, or a vector environment, which gets the vector twins.
        values: see ``pixelis.rewards.reward_config.read_rewards``.
        available_metrics: what ``observe`` will be given, where there is a curriculum.

    Raises:
        ConfigError: a name or a setting is unknown or out of range; the message names it.
    """
    config = read_rewards(values)
    terms, top = (term_reward, orchestrator)
    if isinstance(env, VectorEnv):
        terms, top = (vector_term_reward, vector_orchestrator)
    for entry in config.terms:
        env = _add(terms, env, entry)
    return env if config.orchestrator is None else _orchestrate(top, env, config, available_metrics)


def _add(module: Any, env: Any, entry: TermEntry) -> Any:
    if entry.name in _CLASSES:
        return getattr(module, _CLASSES[entry.name])(env, weight=entry.weight, **entry.settings)
    return module.TermReward(env, entry.name, weight=entry.weight, **entry.settings)


def _orchestrate(module: Any, env: Any, config: RewardConfig, available_metrics: Collection[str]) -> Any:
    return module.RewardOrchestrator(
        env,
        {TASK: config.task_weight},
        curriculum=config.curriculum,
        available_metrics=tuple(available_metrics),
        **config.orchestrator_values,
    )
