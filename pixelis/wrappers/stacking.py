"""``wrap``: the reward wrappers that plain data describe, around an environment or a vector of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gymnasium.vector import VectorEnv

from pixelis.errors import ConfigError, suggest
from pixelis.rewards.stack.reward_config import RewardConfig, TermEntry, fitting, read_rewards
from pixelis.rewards.terms.weights import TASK
from pixelis.wrappers.recording import record
from pixelis.wrappers.reward import orchestrator, term_reward
from pixelis.wrappers.scoring.traits import traits_of
from pixelis.wrappers.vector import orchestrator as vector_orchestrator
from pixelis.wrappers.vector import record as vector_record
from pixelis.wrappers.vector import term_reward as vector_term_reward

RECORD = "record"
_RECORD_SETTINGS = ("folder", "images", "every", "max_bytes")
_CLASSES = {"curiosity": "CuriosityReward", "coherence": "CoherenceReward", "penalty": "ToolPenalty"}


def wrap(env: Any, values: Mapping[str, Any], available_metrics: Collection[str] = ()) -> Any:
    """Return ``env`` with the wrappers that a mapping such as YAML's describes, in the right order.

    The same mapping makes a trainer's stack (``pixelis.rewards.stack.stack.build_stack``), for example::

        {"curiosity": {"weight": 0.3}, "coherence": {}, "penalty": {}}

    The task's gap is the one that the environment declares; give ``task_gap`` for one that declares none. Of
    a term that has nothing to measure there (coherence, without tools) no wrapper is made; the log says so.

    Args:
        env: a Gymnasium environment, or a vector environment, which gets the vector twins.
        values: see ``pixelis.rewards.stack.reward_config.read_rewards``. Here it may also have ``record``,
            the keywords of ``RecordTrajectory``, which then records what all the others pay.
        available_metrics: what ``observe`` will be given, where there is a curriculum.

    Raises:
        ConfigError: a name or a setting is unknown or out of range, or nobody says the task's gap; the
            message names it.
    """
    recording = _recording(values)
    config = read_rewards(
        {key: values[key] for key in values if key != RECORD} if isinstance(values, Mapping) else values
    )
    config = fitting(config, traits_of(env))
    terms, top, recorder = term_reward, orchestrator, record
    if isinstance(env, VectorEnv):
        terms, top, recorder = vector_term_reward, vector_orchestrator, vector_record
    for entry in config.terms:
        env = _add(terms, env, entry)
    if config.orchestrator is not None:
        env = _orchestrate(top, env, config, available_metrics)
    return env if recording is None else recorder.RecordTrajectory(env, **recording)


def _add(module: Any, env: Any, entry: TermEntry) -> Any:
    weight = None if entry.shipped else entry.weight  # the shipped one follows the task's gap
    if entry.name in _CLASSES:
        return getattr(module, _CLASSES[entry.name])(env, weight=weight, **entry.settings)
    return module.TermReward(env, entry.name, weight=weight, **entry.settings)


def _recording(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the recorder's keywords, or None where nothing is to be recorded."""
    given = values.get(RECORD) if isinstance(values, Mapping) else None
    if given is None:
        return None
    if not isinstance(given, Mapping) or "folder" not in given:
        raise ConfigError(f"rewards: record takes a mapping such as {{folder: recordings}}, got {given!r}")
    for key in given:
        if key not in _RECORD_SETTINGS:
            raise ConfigError(f"rewards: record has no setting {key!r}.{suggest(key, _RECORD_SETTINGS)}")
    return dict(given)


def _orchestrate(module: Any, env: Any, config: RewardConfig, available_metrics: Collection[str]) -> Any:
    return module.RewardOrchestrator(
        env,
        {TASK: config.task_weight},
        curriculum=config.curriculum,
        available_metrics=tuple(available_metrics),
        **config.orchestrator_values,
    )
