"""What a run's episodes are played with, by its settings: the env, the model, what samples."""

from __future__ import annotations

from pathlib import Path

from pixelis.agents.distributed.launched import launched
from pixelis.agents.distributed.shards import place
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.loading import device_named
from pixelis.agents.models.policy import Policy
from pixelis.agents.models.weight_types import type_name, weight_type
from pixelis.agents.rollout.decoding import memory_of
from pixelis.agents.rollout.engine import Engine
from pixelis.agents.runs.run_policy import load_policy
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sampler import Vllm
from pixelis.errors import ConfigError


def open_env(config: TrainConfig) -> TaskEnv:
    """Return the environment, whose calls may take ``env_timeout_seconds``."""
    return TaskEnv.open(config.env, config.env_kwargs, config.reset_options, config.env_timeout_seconds)


def policy_of(config: TrainConfig, trained: Path | None) -> Policy:
    """Return the policy; the KL penalty is to where training starts, which need not be the base.

    Args:
        config: of the run.
        trained: folder of the weights to go on from; None: as the settings have it.

    Raises:
        ConfigError: weights are to be shared out with nobody, or kept from a device that is the CPU.
    """
    device = device_named(config.device)
    if config.shard and launched()[1] == 1:
        raise ConfigError(
            "shard shares weights out among processes, and there is one; start several with torchrun "
            "--nproc-per-node N -m pixelis, or set --shard false"
        )
    if config.offload and device.type != "cuda":
        raise ConfigError(
            "offload keeps weights in the CPU's memory and off a GPU, and the device is "
            f"{device.type}; leave it out"
        )
    first = config
    if config.shard:
        first = config.with_values(device="cpu", dtype=type_name(weight_type(config.dtype, device)))
    policy = load_policy(first, trained, quantization=config.quantization)
    if trained is not None:
        policy.load_reference(trained)
    elif config.beta and (policy.came_with_adapter or not policy.has_adapter):
        policy.freeze_reference()
    if config.shard:
        memory_of(policy)  # what the model can is tried while it is whole
        place(policy, device)
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
