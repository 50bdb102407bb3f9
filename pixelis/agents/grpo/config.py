"""The settings of a training run: one flat dataclass that is also the flags and the YAML file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from pixelis.agents.grpo.options import check_options, option, option_of
from pixelis.errors import ConfigError, suggest

TASK, MODEL, ROLLOUT, UPDATE, LOSS, EVALUATION, RUN = (
    "Task",
    "Model",
    "Rollout",
    "Update",
    "Loss",
    "Evaluation",
    "Run folder",
)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a GRPO training run.

    Each field is explained by its own row, which ``--help`` shows; units are in the text, bounds are checked.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    env: str = option(TASK, "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4"
    )
    difficulty: int | None = option(
        TASK, None, "the env's difficulty dial; none keeps the env's default", "[0, inf)"
    )

    model: str = option(MODEL, "pixelis-tiny", "pixelis-tiny, a model or adapter folder, or a hub id")
    device: str = option(MODEL, "auto", "auto, cpu, cuda or cuda:N", identity=False)
    dtype: Literal["float32", "bfloat16", "float16"] = option(MODEL, "float32", "type of the frozen weights")
    quantization: Literal["none", "8bit", "4bit"] = option(
        MODEL, "none", "load the frozen weights in fewer bits: bitsandbytes, CUDA only"
    )
    lora_rank: int = option(MODEL, 16, "rank of the LoRA adapter that is trained", "[1, inf)")
    lora_alpha: int = option(MODEL, 32, "the adapter is scaled by alpha / rank", "[1, inf)")

    groups: int = option(ROLLOUT, 8, "tasks per step; each is played by one group of episodes", "[1, inf)")
    group_size: int = option(ROLLOUT, 8, "episodes of the same task", "[2, inf)")
    temperature: float = option(ROLLOUT, 1.0, "sampling temperature while training", "(0, 10]")
    top_p: float = option(ROLLOUT, 1.0, "nucleus sampling; below 1 the importance ratio is biased", "(0, 1]")
    max_new_tokens: int = option(ROLLOUT, 64, "longest turn, in tokens", "[1, inf)")
    env_threads: int = option(
        ROLLOUT, 1, "threads that step envs; more only where envs allow it", "[1, inf)", identity=False
    )

    steps: int = option(
        UPDATE, 100, "training steps; one is a rollout and its update", "[0, inf)", identity=False
    )
    minutes: float | None = option(
        UPDATE, None, "stop after this much training time", "(0, inf)", identity=False
    )
    lr: float = option(UPDATE, 1e-3, "AdamW learning rate after warm-up", "(0, inf)")
    warmup_steps: int = option(UPDATE, 5, "optimiser steps over which lr rises linearly", "[0, inf)")
    decay_steps: int = option(
        UPDATE,
        0,
        "optimiser step at which lr has fallen linearly to a tenth; 0: it does not fall",
        "[0, inf)",
    )
    weight_decay: float = option(UPDATE, 0.0, "AdamW weight decay", "[0, inf)")
    max_grad_norm: float = option(UPDATE, 1.0, "gradients are scaled down to this norm", "(0, inf)")
    epochs: int = option(UPDATE, 1, "optimiser steps on each rollout", "[1, inf)")
    micro_batch_size: int = option(UPDATE, 16, "episodes per forward pass; changes memory only", "[1, inf)")

    beta: float = option(
        LOSS, 0.04, "weight of the KL penalty to the starting policy; 0 saves its pass", "[0, inf)"
    )
    kl: Literal["k1", "k2", "k3"] = option(LOSS, "k3", "estimator of that KL")
    epsilon_low: float = option(LOSS, 0.2, "how far the probability ratio may fall below 1", "(0, 1)")
    epsilon_high: float = option(
        LOSS, 0.2, "how far it may rise above 1 (clip-higher when larger)", "(0, inf)"
    )
    advantage_scale: Literal["group", "batch", "none"] = option(
        LOSS, "group", "deviation that divides advantages"
    )
    aggregation: Literal["token_mean", "sequence_mean", "constant"] = option(
        LOSS, "token_mean", "how token losses are averaged: DAPO, GRPO, Dr. GRPO"
    )

    eval_episodes: int = option(
        EVALUATION, 200, "held-out episodes before and after; 0: none", "[0, inf)", identity=False
    )
    baselines: bool = option(EVALUATION, False, "also play the env's scripted policies", identity=False)

    seed: int = option(RUN, 0, "decides weights, tasks and sampling", "[0, 4294967295]")
    output: str | None = option(RUN, None, "run folder; none makes one under runs/", identity=False)
    checkpoint_every: int = option(RUN, 10, "steps between checkpoints", "[1, inf)", identity=False)
    keep_checkpoints: int = option(RUN, 2, "how many of the newest are kept", "[1, inf)", identity=False)
    trajectories_every: int = option(
        RUN, 10, "steps between saved sample episodes", "[1, inf)", identity=False
    )

    def __post_init__(self) -> None:
        """Check every field."""
        check_options(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Build one from a mapping such as a loaded YAML file.

        Raises:
            ConfigError: an unknown key (with a suggestion) or a bad value.
        """
        names = [item.name for item in fields(cls)]
        for key in values:
            if key not in names:
                raise ConfigError(f"unknown setting {key!r}.{suggest(str(key), names)}")
        return cls(**values)

    def to_mapping(self) -> dict[str, Any]:
        """Return the values as plain data for YAML or JSON."""
        return asdict(self)

    def with_values(self, **values: Any) -> TrainConfig:
        """Return a copy with some values replaced."""
        return replace(self, **values)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that decide the run's numbers; not where it is written or how long it runs."""
        return {item.name: getattr(self, item.name) for item in fields(self) if option_of(item).identity}

    @property
    def digest(self) -> str:
        """SHA-256 of `identity`; 1 and 1.0 are the same."""
        values = {
            name: float(value) if type(value) is int else value for name, value in self.identity.items()
        }
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    @property
    def reset_options(self) -> dict[str, Any]:
        """The ``options`` for ``env.reset``, the split left out."""
        return {} if self.difficulty is None else {"difficulty": self.difficulty}
