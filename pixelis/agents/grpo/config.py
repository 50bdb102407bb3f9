"""The settings of a training run: one flat dataclass that is also the flags and the YAML file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from pixelis.agents.grpo.algorithm_checks import check_algorithm
from pixelis.agents.grpo.loss_checks import check_loss_options
from pixelis.agents.grpo.options import check_options, option, option_of
from pixelis.errors import ConfigError, suggest

TASK, MODEL, ROLLOUT, BATCH, UPDATE, LOSS, PPO, EVALUATION, RUN = (
    "Task",
    "Model",
    "Rollout",
    "Batch",
    "Update",
    "Loss",
    "PPO",
    "Evaluation",
    "Run folder",
)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a GRPO training run.

    Each field is explained by its own row, which ``--help`` shows; units are in the text, bounds are checked.

    Raises:
        ConfigError: a value has the wrong type, lies outside its bounds, or does not go with another.
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
    group_size: int = option(ROLLOUT, 8, "episodes of the same task, at least 2", "[1, inf)")
    temperature: float = option(ROLLOUT, 1.0, "sampling temperature while training", "(0, 10]")
    top_p: float = option(ROLLOUT, 1.0, "nucleus sampling; below 1 biased with correction none", "(0, 1]")
    max_new_tokens: int = option(ROLLOUT, 64, "longest turn, in tokens", "[1, inf)")
    env_threads: int = option(
        ROLLOUT, 1, "threads that step envs; more only where envs allow it", "[1, inf)", identity=False
    )
    env_timeout_seconds: float | None = option(
        ROLLOUT,
        None,
        "longest env call; an episode whose env is later is left out; none: no limit",
        "(0, inf)",
        identity=False,
    )

    algorithm: Literal["grpo", "ppo"] = option(
        BATCH, "grpo", "advantages from the group, or from a value head"
    )
    credit: Literal["episode", "turn"] = option(
        BATCH, "episode", "one advantage an episode, or one a turn from step rewards"
    )
    gamma: float = option(BATCH, 1.0, "discount: a turn with credit turn, a token with ppo", "(0, 1]")
    refill_episodes: int = option(
        BATCH, 0, "most extra episodes a step that replace flat groups; 0: none", "[0, inf)"
    )
    mask_truncated: bool = option(BATCH, False, "leave truncated episodes out of the loss")
    overlong_buffer: int = option(
        BATCH, 0, "tokens before the longest episode that are penalised; 0: none", "[0, inf)"
    )
    overlong_penalty: float = option(BATCH, 1.0, "penalty of the longest episode (DAPO)", "[0, inf)")
    bonus: str | None = option(BATCH, None, "bonus on a group's rewards, e.g. distinct_answers")
    bonus_weight: float = option(BATCH, 0.1, "what that bonus is multiplied by")
    advantage_clip: float | None = option(BATCH, None, "advantages are held in ± this", "(0, inf)")
    advantage_threshold: float = option(
        BATCH, 0.0, "episodes with smaller advantages are not trained on", "[0, inf)"
    )
    replay_ratio: float = option(
        BATCH, 0.0, "stored episodes a step, as a share of those played; 0: none", "[0, inf)"
    )
    replay_capacity: int = option(BATCH, 100, "stored episodes, those with the best advantages", "[1, inf)")
    replay_staleness: int = option(BATCH, 10, "steps for which an episode may be replayed", "[1, inf)")

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
    gradient_checkpointing: bool = option(
        UPDATE, False, "compute activations twice instead of keeping them: less memory", identity=False
    )

    advantage_scale: Literal["group", "batch", "none", "leave_one_out"] | str = option(
        LOSS, "group", "what an episode is measured by: deviation, or the others (RLOO)"
    )
    ratio: Literal["token", "sequence"] | str = option(
        LOSS, "token", "importance ratio of each token, or of the sequence (GSPO)"
    )
    surrogate: Literal["clip", "dual_clip", "cispo", "sapo"] | str = option(
        LOSS, "clip", "objective, and how far one update may go"
    )
    aggregation: Literal["token_mean", "sequence_mean", "constant"] | str = option(
        LOSS, "token_mean", "how token losses are averaged: DAPO, GRPO, Dr. GRPO"
    )
    epsilon_low: float = option(LOSS, 0.2, "how far the probability ratio may fall below 1", "(0, 1)")
    epsilon_high: float = option(
        LOSS, 0.2, "how far it may rise above 1 (clip-higher when larger)", "(0, inf)"
    )
    dual_clip: float = option(LOSS, 3.0, "dual_clip: largest ratio that a bad token is charged", "(1, inf)")
    sapo_positive: float = option(LOSS, 1.0, "sapo: temperature where the advantage is positive", "(0, inf)")
    sapo_negative: float = option(LOSS, 1.05, "sapo: temperature elsewhere", "(0, inf)")
    beta: float = option(
        LOSS, 0.04, "weight of the KL penalty to the starting policy; 0 saves its pass", "[0, inf)"
    )
    kl: Literal["k1", "k2", "k3"] | str = option(LOSS, "k3", "estimator of that KL")
    kl_in: Literal["loss", "reward"] = option(LOSS, "loss", "penalise tokens in the loss, or the reward")
    kl_ratio: bool = option(LOSS, False, "multiply the KL in the loss by the importance ratio")
    correction: Literal["auto", "none", "truncate", "mask"] | str = option(
        LOSS,
        "auto",
        "cut of off-policy weights (TIS, MIS); auto: where the sampler is another",
    )
    correction_level: Literal["token", "sequence"] = option(
        LOSS, "token", "one such weight for each token, or for each episode"
    )
    correction_cap: float = option(LOSS, 3.0, "largest such weight", "[1, inf)")

    gae_lambda: float = option(PPO, 0.95, "lambda of generalised advantage estimation", "[0, 1]")
    value_lr: float = option(PPO, 1e-3, "AdamW learning rate of the value head", "(0, inf)")
    value_epochs: int = option(PPO, 4, "optimiser steps of the value head a rollout", "[1, inf)")
    value_clip: float = option(PPO, 0.2, "how far values may move in an update", "(0, inf)")

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
        """Check every field, and that they fit together."""
        check_options(self)
        check_loss_options(self)
        check_algorithm(self)

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
