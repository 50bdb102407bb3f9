"""The rows that several kinds of training run share: GRPO and PPO, SFT, expert iteration, SB3's agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pixelis.agents.models.named_models import CHOOSE
from pixelis.agents.settings.options import option
from pixelis.agents.settings.settings import Settings
from pixelis.errors import ConfigError

Learning = Literal["reinforcement", "demonstrations"]

TASK, MODEL, ROLLOUT, UPDATE, EVALUATION, RUN = (
    "Task",
    "Model",
    "Rollout",
    "Update",
    "Evaluation",
    "Run folder",
)


@dataclass(frozen=True)
class AnyRunSettings(Settings):
    """What every training run has, whatever it trains."""

    env: str | None = option(TASK, None, "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4"
    )
    difficulty: int | None = option(
        TASK, None, "the env's difficulty dial; none keeps the env's default", "[0, inf)"
    )

    device: str = option(MODEL, "auto", "auto, cpu, cuda or cuda:N", identity=False)

    minutes: float | None = option(
        UPDATE, None, "stop after this much training time", "(0, inf)", identity=False
    )
    lr: float | None = option(
        UPDATE, None, "AdamW learning rate at its peak; none: by the model's size, see docs", "(0, inf)"
    )
    max_grad_norm: float = option(UPDATE, 1.0, "gradients are scaled down to this norm", "(0, inf)")

    eval_episodes: int = option(
        EVALUATION,
        200,
        "episodes of an evaluation, before and after training; 0: none",
        "[0, inf)",
        identity=False,
    )

    seed: int = option(RUN, 0, "decides weights, tasks and sampling", "[0, 4294967295]")
    output: str | None = option(RUN, None, "run folder; none makes one under runs/", identity=False)
    checkpoint_every: int = option(RUN, 10, "steps between checkpoints", "[1, inf)", identity=False)
    keep_checkpoints: int = option(RUN, 2, "how many of the newest are kept", "[1, inf)", identity=False)

    @property
    def reset_options(self) -> dict[str, Any]:
        """The ``options`` for ``env.reset``, the split left out."""
        return {} if self.difficulty is None else {"difficulty": self.difficulty}


@dataclass(frozen=True)
class RunSettings(AnyRunSettings):
    """What every training run of a language model has.

    Attributes:
        learning: from what it learns, which decides the learning rate where none is given.
    """

    learning: ClassVar[Learning] = "reinforcement"

    def __post_init__(self) -> None:
        """Check every field and what is trained; let a file of a system prompt be its text."""
        super().__post_init__()
        if self.system_prompt is not None:
            object.__setattr__(self, "system_prompt", prompt_text(self.system_prompt))
        if self.train == "full":
            check_full(self)

    model: str = option(
        MODEL,
        CHOOSE,
        "pixelis-tiny, smollm2, a run, a folder or a hub id; auto: what suits the env",
    )
    dtype: Literal["float32", "bfloat16", "float16"] = option(MODEL, "float32", "type of the frozen weights")
    train: Literal["lora", "full"] = option(
        MODEL, "lora", "train an adapter, or all weights of the language part (float32)"
    )
    lora_rank: int = option(MODEL, 16, "rank of the LoRA adapter that is trained", "[1, inf)")
    lora_alpha: int = option(MODEL, 32, "the adapter is scaled by alpha / rank", "[1, inf)")
    lora_targets: str | None = option(
        MODEL,
        None,
        "layers: names, all-linear or a regular expression; none: the language part",
    )
    lora_dropout: float = option(MODEL, 0.0, "dropout on the adapter's input in gradient passes", "[0, 1)")
    system_prompt: str | None = option(
        MODEL,
        None,
        "system message, or its .txt or .md file; none: as the model's run had it",
    )

    temperature: float = option(ROLLOUT, 1.0, "sampling temperature", "(0, 10]")
    top_p: float = option(ROLLOUT, 1.0, "nucleus sampling", "(0, 1]")
    max_new_tokens: int = option(ROLLOUT, 64, "longest turn that the model may write, in tokens", "[1, inf)")

    weight_decay: float = option(UPDATE, 0.0, "AdamW weight decay", "[0, inf)")
    micro_batch_size: int = option(UPDATE, 8, "rows per forward pass; changes memory only", "[1, inf)")
    gradient_checkpointing: bool = option(
        UPDATE, False, "compute activations twice instead of keeping them: less memory", identity=False
    )


@dataclass(frozen=True)
class RolloutRunSettings(RunSettings):
    """What a run has besides that learns from rollouts of its own."""

    env: str = option(TASK, "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")

    groups: int = option(ROLLOUT, 8, "tasks per step; each is played by one group of episodes", "[1, inf)")
    group_size: int = option(ROLLOUT, 8, "episodes of the same task; GRPO needs at least 2", "[1, inf)")
    env_threads: int = option(
        ROLLOUT, 1, "threads that step envs; more only where envs allow it", "[1, inf)", identity=False
    )

    steps: int = option(
        UPDATE, 100, "training steps; one is a rollout and its update", "[0, inf)", identity=False
    )
    warmup_steps: int = option(UPDATE, 5, "optimiser steps over which lr rises linearly", "[0, inf)")


# Settings that mean an adapter, or fewer bits, with the value that goes with training all weights.
_LORA_ONLY = {"dtype": "float32", "quantization": "none", "lora_targets": None, "lora_dropout": 0.0}


def check_full(config: RunSettings) -> None:
    """Check that no setting asks for what training all weights does not have.

    Raises:
        ConfigError: naming the first.
    """
    for name, wanted in _LORA_ONLY.items():
        found = getattr(config, name, wanted)
        if found != wanted:
            raise ConfigError(
                f"{name} must be {wanted!r} with train full, got {found!r}: the weights themselves take "
                "every step, without an adapter and in float32. Leave it out, or set train: lora"
            )


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
