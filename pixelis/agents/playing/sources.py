"""What a run's episodes are played with, by its settings: the env, the model, what samples."""

from __future__ import annotations

from pathlib import Path

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.engine import Engine
from pixelis.agents.runs.run_policy import load_policy
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sampler import Vllm


def open_env(config: TrainConfig) -> TaskEnv:
    """Return the environment, whose calls may take ``env_timeout_seconds``."""
    return TaskEnv.open(config.env, config.env_kwargs, config.reset_options, config.env_timeout_seconds)


def policy_of(config: TrainConfig, trained: Path | None) -> Policy:
    """Return the policy; the KL penalty is to where training starts, which need not be the base.

    Args:
        config: of the run.
        trained: folder of the weights to go on from; None: as the settings have it.
    """
    policy = load_policy(config, trained, quantization=config.quantization)
    if trained is not None:
        policy.load_reference(trained)
    elif config.beta and (policy.came_with_adapter or not policy.has_adapter):
        policy.freeze_reference()
    return policy


def engine_of(config: TrainConfig, folder: Path) -> Engine | None:
    """Return what samples the episodes of training, None for the model in this process.

    Args:
        config: of the run.
        folder: where the log of a server goes that is started here.
    """
    if not isinstance(config.sampler, Vllm):
        return None
    from pixelis.agents.rollout.vllm.engine import VllmEngine

    return VllmEngine(config.sampler, folder / "vllm.log")
