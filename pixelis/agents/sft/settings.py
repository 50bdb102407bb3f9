"""The settings that supervised runs have in common: SFT and expert iteration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeVar

from pixelis.agents.grpo.config import EVALUATION, MODEL, ROLLOUT, RUN, TASK, UPDATE
from pixelis.agents.grpo.options import check_options, option, option_of
from pixelis.errors import ConfigError, suggest

C = TypeVar("C", bound="SupervisedConfig")


@dataclass(frozen=True)
class SupervisedConfig:
    """Rows that every supervised run has; see `pixelis.agents.grpo.config.TrainConfig` for what a row is.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    env: str | None = option(TASK, None, "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4"
    )
    difficulty: int | None = option(
        TASK, None, "the env's difficulty dial; none keeps the env's default", "[0, inf)"
    )

    model: str = option(MODEL, "pixelis-tiny", "pixelis-tiny, a model or adapter folder, or a hub id")
    device: str = option(MODEL, "auto", "auto, cpu, cuda or cuda:N", identity=False)
    dtype: Literal["float32", "bfloat16", "float16"] = option(MODEL, "float32", "type of the frozen weights")
    lora_rank: int = option(MODEL, 16, "rank of the LoRA adapter that is trained", "[1, inf)")
    lora_alpha: int = option(MODEL, 32, "the adapter is scaled by alpha / rank", "[1, inf)")

    temperature: float = option(ROLLOUT, 1.0, "sampling temperature", "(0, 10]")
    top_p: float = option(ROLLOUT, 1.0, "nucleus sampling", "(0, 1]")
    max_new_tokens: int = option(ROLLOUT, 64, "longest turn that the model may write, in tokens", "[1, inf)")

    minutes: float | None = option(
        UPDATE, None, "stop after this much training time", "(0, inf)", identity=False
    )
    batch_size: int = option(UPDATE, 16, "demonstrations an optimiser step", "[1, inf)")
    lr: float = option(UPDATE, 1e-3, "AdamW learning rate at its peak", "(0, inf)")
    weight_decay: float = option(UPDATE, 0.0, "AdamW weight decay", "[0, inf)")
    max_grad_norm: float = option(UPDATE, 1.0, "gradients are scaled down to this norm", "(0, inf)")
    micro_batch_size: int = option(UPDATE, 16, "rows per forward pass; changes memory only", "[1, inf)")
    gradient_checkpointing: bool = option(
        UPDATE, False, "compute activations twice instead of keeping them: less memory", identity=False
    )
    packing: bool = option(UPDATE, False, "several demonstrations in one row, without seeing each other")
    pack_length: int | None = option(
        UPDATE, None, "tokens a packed row holds; none: as the longest demonstration of the step", "[1, inf)"
    )

    eval_episodes: int = option(
        EVALUATION, 200, "held-out episodes before and after; 0: none", "[0, inf)", identity=False
    )

    seed: int = option(RUN, 0, "decides weights, tasks and sampling", "[0, 4294967295]")
    output: str | None = option(RUN, None, "run folder; none makes one under runs/", identity=False)
    checkpoint_every: int = option(RUN, 10, "steps between checkpoints", "[1, inf)", identity=False)
    keep_checkpoints: int = option(RUN, 2, "how many of the newest are kept", "[1, inf)", identity=False)

    def __post_init__(self) -> None:
        """Check every field."""
        check_options(self)

    @classmethod
    def from_mapping(cls: type[C], values: Mapping[str, Any]) -> C:
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

    def with_values(self: C, **values: Any) -> C:
        """Return a copy with some values replaced."""
        return replace(self, **values)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that decide the run's numbers, as JSON gives them back (keys are text)."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if option_of(item).identity}
        return json.loads(json.dumps(values))

    @property
    def digest(self) -> str:
        """SHA-256 of `identity`."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()

    @property
    def reset_options(self) -> dict[str, Any]:
        """The ``options`` for ``env.reset``, the split left out."""
        return {} if self.difficulty is None else {"difficulty": self.difficulty}
