"""The settings that kinds of training run share: GRPO and PPO, SFT, expert iteration, SB3's agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, StringConstraints, field_validator, model_validator
from typing_extensions import Self

from pixelis.agents.models.named_models import CHOOSE
from pixelis.agents.settings.alarms import AlarmThresholds
from pixelis.agents.settings.base import Section, Settings, setting
from pixelis.errors import ConfigError

Learning = Literal["reinforcement", "demonstrations"]
AUTO = "auto"
"""The ``lr`` that finds itself while it trains, see `StepSize`; GRPO and PPO of a language model have it."""


def _listed(value: Any) -> Any:
    """Return names, which may stand in one text with commas between them, as a list without repetitions."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
    return list(dict.fromkeys(value)) if isinstance(value, list) and all(map(_is_text, value)) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


TrackerNames = Annotated[list[Literal["wandb", "trackio"]], BeforeValidator(_listed)]
MetricNames = Annotated[
    list[Annotated[str, StringConstraints(pattern=r"^[^\s/,]+(/[^\s/,]+)+$")]], BeforeValidator(_listed)
]
"""Names of metrics, ``group/quantity``."""


class AnyRunSettings(Settings):
    """What every training run has, whatever it trains."""

    env: str | None = setting(None, "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = setting({}, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4")
    difficulty: int | None = setting(None, "the env's difficulty dial; null keeps the env's default", ge=0)

    device: str = setting("auto", "auto, cpu, cuda or cuda:N", identity=False)

    minutes: float | None = setting(None, "stop after this much training time", gt=0, identity=False)
    lr: float | None = setting(
        None, "AdamW learning rate at its peak; null: by the model's size, see docs", gt=0
    )
    max_grad_norm: float = setting(1.0, "gradients are scaled down to this norm", gt=0, more=True)

    eval_episodes: int = setting(
        200, "episodes of an evaluation, before and after training; 0: none", ge=0, identity=False
    )

    seed: int = setting(0, "decides weights, tasks and sampling", ge=0, le=2**32 - 1)
    output: str | None = setting(None, "run folder; null makes one under runs/", identity=False)
    checkpoint_every: int = setting(10, "steps between checkpoints", ge=1, identity=False)
    on_alarm: Literal["warn", "stop", "lower_lr"] = setting(
        "warn",
        "what an alarm does: warn, stop (as Ctrl-C does) or lower_lr (to a third), see docs",
        identity=False,
        more=True,
    )
    alarms: AlarmThresholds = setting(
        AlarmThresholds(), "when alarms go on, see docs", identity=False, more=True
    )
    keep_checkpoints: int = setting(2, "how many of the newest are kept", ge=1, identity=False, more=True)

    log_to: TrackerNames = setting(
        [], "wandb, trackio or both: where metrics go besides the run folder", identity=False, more=True
    )
    smoothed: MetricNames = setting(
        [], "metrics to log means and slopes of, e.g. reward/mean", identity=False, more=True
    )
    samples_every: int = setting(
        10,
        "steps between histograms, pictures and texts in TensorBoard; 0: none",
        ge=0,
        identity=False,
        more=True,
    )

    @property
    def reset_options(self) -> dict[str, Any]:
        """The ``options`` for ``env.reset``, the split left out."""
        return {} if self.difficulty is None else {"difficulty": self.difficulty}


class Lora(Section):
    """The adapter that is trained."""

    rank: int = setting(16, "rank of the adapter", ge=1)
    alpha: int = setting(32, "it is scaled by alpha / rank", ge=1)
    targets: str | None = setting(
        None, "layers: names, all-linear or a regular expression; null: the language part"
    )
    dropout: float = setting(0.0, "dropout on its input in gradient passes", ge=0, lt=1)


class RunSettings(AnyRunSettings):
    """What every training run of a language model has.

    Attributes:
        learning: from what it learns, which decides the learning rate where none is given.
    """

    learning: ClassVar[Learning] = "reinforcement"

    model: str = setting(
        CHOOSE, "a name as pixelis-mini, a run, a folder or a hub id; auto: what suits the env"
    )
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = setting(
        "float32", "frozen weights; auto: fastest"
    )
    train: Literal["lora", "full"] = setting(
        "lora", "train an adapter, or all weights of the language part (float32)"
    )
    lora: Lora | None = setting(Lora(), "the adapter; null with train full")
    system_prompt: str | None = setting(
        None, "system message, or its .txt or .md file; null: as the model's run had it"
    )
    gradient_checkpointing: bool = setting(
        False, "compute activations twice instead of keeping them: less memory", identity=False, more=True
    )

    temperature: float = setting(1.0, "sampling temperature", gt=0, le=10)
    top_p: float = setting(1.0, "nucleus sampling; below 1 biased with correction none", gt=0, le=1)
    max_new_tokens: int = setting(64, "longest turn that the model may write, in tokens", ge=1)

    weight_decay: float = setting(0.0, "AdamW weight decay", ge=0, more=True)
    micro_batch_size: int = setting(8, "rows per forward pass; changes memory only", ge=1, identity=False)

    @field_validator("system_prompt")
    @classmethod
    def _text(cls, value: str | None) -> str | None:
        return None if value is None else prompt_text(value)

    @model_validator(mode="after")
    def _check_train(self) -> Self:
        if self.train == "lora" and self.lora is None:
            raise ConfigError("lora must be a mapping of settings with train lora, got None; leave it out")
        if self.train == "full":
            self.refuse_changed([name for name in ("dtype", "quantization") if hasattr(self, name)], _FULL)
            if "lora" in self.model_fields_set and self.lora is not None:
                raise ConfigError(f"lora must be left out {_FULL}, or set train: lora")
            object.__setattr__(self, "lora", None)
        return self

    @property
    def adapter(self) -> Lora:
        """The settings of the adapter; the defaults where none is trained."""
        return self.lora or Lora()


class RolloutRunSettings(RunSettings):
    """What a run has besides that learns from rollouts of its own."""

    env: str = setting(  # type: ignore[assignment]
        "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included"
    )

    groups: int = setting(8, "tasks per step; each is played by one group of episodes", ge=1)
    group_size: int = setting(8, "episodes of the same task; GRPO needs at least 2", ge=1)
    env_threads: int | None = setting(
        None,
        "threads that step envs; by default torch's where the environment allows it, else 1",
        ge=1,
        identity=False,
        more=True,
    )

    steps: int = setting(100, "training steps; one is a rollout and its update", ge=0, identity=False)
    warmup_steps: int = setting(5, "optimiser steps over which lr rises linearly", ge=0, more=True)


_FULL = "with train full, where the weights themselves take every step, without an adapter and in float32"


def prompt_text(value: str) -> str:
    """Return a system prompt, read from its file where the value is the name of a .txt or .md file.

    Raises:
        ConfigError: the file cannot be read.
    """
    if "\n" in value or not value.strip().endswith((".txt", ".md")):
        return value
    path = Path(value.strip()).expanduser()
    if not path.is_file() and " " in value.strip():
        return value  # a sentence that happens to end so
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"system_prompt names the file {str(path)!r}, which cannot be read ({type(error).__name__}); "
            "give a text file in UTF-8, or the prompt itself"
        ) from error
