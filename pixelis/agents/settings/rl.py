"""The settings of a run of reinforcement learning, which are also the flags and the YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from annotated_types import Gt
from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.algorithm import Algorithm, Grpo
from pixelis.agents.settings.base import Own, Section, setting
from pixelis.agents.settings.levels import AnyLevels, FixedLevels, RandomLevels
from pixelis.agents.settings.loss import Kl, Loss
from pixelis.agents.settings.recipes import check_recipe, expanded
from pixelis.agents.settings.run_settings import AUTO
from pixelis.agents.settings.sampler import VLLM_TEMPERATURES, AnySampler, OwnSampler
from pixelis.agents.settings.step_size import StepSize
from pixelis.agents.settings.vote import check_vote
from pixelis.agents.settings.workers import PlayedSettings
from pixelis.errors import ConfigError


class Overlong(Section):
    """DAPO's penalty of long episodes."""

    buffer: int = setting(..., "tokens before the longest episode that are penalised", ge=1)
    penalty: float = setting(1.0, "penalty of the longest episode", ge=0)


class Bonus(Section):
    """What a member of a group is paid for how it differs from the others."""

    name: str = setting("distinct_answers", "distinct_answers or diversity")
    weight: float = setting(0.1, "what it is multiplied by")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given


class Shaping(Section):
    """What is added to rewards before they are trained on, and what is left out."""

    mask_truncated: bool = setting(False, "leave truncated episodes out of the loss")
    advantage_clip: float | None = setting(None, "advantages are held in ± this", gt=0)
    overlong: Overlong | None = setting(None, "penalty of long episodes; null: no penalty")
    bonus: Bonus | None = setting(None, "bonus in a group; null: no bonus")
    duplicate_penalty: float = setting(
        0.0, "what an answer loses that every other prompt got too (extra text); 0: none", ge=0
    )


class WatchSettings(Section):
    """Scores that nothing is paid by, and the alarm for when they part ways with the reward."""

    scores: dict[str, Any] = setting({}, "which, e.g. --watch.scores.tweet_evaluation '{}'", identity=False)
    episodes: int = setting(16, "episodes of a step that these score", ge=1, identity=False)
    window: int = setting(20, "steps in each of two windows that are compared", ge=2, identity=False)
    z: float = setting(2.0, "standard errors that reward and score must part by", ge=0, identity=False)


class TrainConfig(PlayedSettings):
    """Everything that decides a run of GRPO or PPO.

    Each field is explained by its own line, which ``--help`` shows; units are in the text.

    Raises:
        ConfigError: a value has the wrong type, lies outside its bounds, or does not go with another.
    """

    quantization: Literal["none", "8bit", "4bit"] = setting(
        "none", "load the frozen weights in fewer bits: bitsandbytes, CUDA only", more=True
    )
    shard: bool = setting(
        False,
        "share the frozen layers out among the processes of torchrun (docs/guide/scaling.md)",
        identity=False,
        more=True,
    )
    offload: bool = setting(
        False, "keep the shares in the CPU's memory: with shard, CUDA only", identity=False, more=True
    )
    warm_start: str | None = setting(
        None,
        "YAML file of an SFT run that comes first (docs/guide/sft.md); null: no such run",
        identity=False,
    )
    from_run: str | None = setting(
        None, "run to go on from: its weights, stored episodes, what reward terms learnt", more=True
    )
    env_timeout_seconds: float | None = setting(
        None,
        "longest env call; an episode whose env is later is left out; null: no limit",
        gt=0,
        identity=False,
        more=True,
    )
    rewards: dict[str, Any] = setting(
        {}, "terms besides the env's own, --rewards.coherence '{weight: 0.2}', or a vote"
    )
    diversity: Literal["none", "ngrams", "encoder"] | Own = setting(
        "none", "how far answers are apart; measured every step", more=True
    )
    levels: AnyLevels = setting(FixedLevels(), "what sets the env's dials; none: they stay where they are")

    recipe: Literal["dr_grpo", "dapo", "gspo", "rloo", "cispo"] | None = setting(
        None, "a published algorithm as settings, see docs/guide/recipes.md; explicit settings win"
    )
    algorithm: Algorithm = setting(Grpo(), "advantages from the group, or from a value head")
    shaping: Shaping = setting(Shaping(), "what is added to rewards, and what is left out")
    loss: Loss = setting(Loss(), "what is minimised")
    beta: float = setting(0.04, "weight of the KL penalty to the starting policy; 0 saves its pass", ge=0)
    lr: Annotated[float, Gt(0)] | Literal["auto"] | None = setting(  # type: ignore[assignment]
        AUTO, "AdamW learning rate; auto: steered by the KL of updates; null: by the model's size, see docs"
    )
    step_size: StepSize = setting(StepSize(), "how lr auto finds the learning rate")
    decay_steps: int = setting(
        0, "optimiser step at which lr has fallen linearly to a tenth; 0: it does not fall", ge=0, more=True
    )
    epochs: int = setting(1, "optimiser steps on each rollout", ge=1)

    eval_every: int = setting(
        0,
        "steps between evaluations in training; the best stays as best/; 0: none",
        ge=0,
        identity=False,
        more=True,
    )
    watch: WatchSettings | None = setting(
        None, "scores that nothing is paid by; null: no scores", identity=False
    )
    sampler: AnySampler = setting(OwnSampler(), "what writes turns; vllm: servers", more=True)
    baselines: bool = setting(False, "also play the env's scripted players", identity=False, more=True)
    trajectories_every: int = setting(
        10, "steps between saved sample episodes", ge=1, identity=False, more=True
    )

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, given: Any) -> Any:
        named = isinstance(given, Mapping) and given.get("recipe") is not None
        return expanded(cls, given) if named else given

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.eval_every and not self.eval_episodes:
            raise ConfigError("eval_every needs tasks to play; give --eval-episodes of at least 1")
        if self.group_size < 2 and isinstance(self.algorithm, Grpo):
            raise ConfigError(
                f"group_size must be at least 2, got {self.group_size}: an episode is compared with "
                "the others of its group. Set group_size: 2 or more, and fewer groups for as many episodes"
            )
        if self.beta == 0 and self.loss.kl != Kl():
            raise ConfigError("loss.kl is read with beta above 0 only; leave it out, or set beta")
        if self.lr != AUTO and self.step_size != StepSize():
            raise ConfigError(f"step_size is read with lr auto only; leave it out, or lr {self.lr}")
        if self.sampler.type == "vllm" and self.train == "full":
            raise ConfigError("sampler vllm needs an adapter, whose weights it is given; set train: lora")
        if (
            self.sampler.type == "vllm"
            and not VLLM_TEMPERATURES[0] <= self.temperature <= VLLM_TEMPERATURES[1]
        ):
            low, high = VLLM_TEMPERATURES
            raise ConfigError(
                f"temperature must be from {low:g} to {high:g} with sampler vllm, whose servers take no "
                f"other, got {self.temperature:g}"
            )
        if self.sampler.type == "vllm" and self.top_p < 1 and self.loss.correction.type == "none":
            raise ConfigError(
                f"loss.correction none needs top_p 1 with sampler vllm, got {self.top_p:g}: servers say the "
                "log-probabilities of the nucleus, to which every ratio would be too small. Leave "
                "loss.correction out, or set top_p: 1"
            )
        if self.shard and (self.train == "full" or self.quantization != "none"):
            what = "train full" if self.train == "full" else f"quantization {self.quantization}"
            raise ConfigError(f"shard is for frozen weights as they are, without {what}; leave one out")
        if self.offload and not self.shard:
            raise ConfigError("offload is for weights that are shared out; set shard, or leave it out")
        if self.recipe is not None:
            check_recipe(self)
        if replay_ratio(self) and not replayed(self, self.groups):
            raise ConfigError(
                f"algorithm.replay.ratio {replay_ratio(self):g} of {self.groups * self.group_size} episodes "
                "is none; set a larger one, or algorithm.replay: null"
            )
        check_vote(self)
        check_dropout(self)
        if self.max_staleness:
            self._check_ahead()
        self._check_shaping()
        return self

    @property
    def penalises_reward(self) -> bool:
        """Whether the KL penalty is taken off the reward, not added to the loss."""
        return self.beta > 0 and self.loss.kl.place == "reward"

    def _check_ahead(self) -> None:
        """Check that what a step plays can be said before those before it are over."""
        algorithm, fixed = self.algorithm, ("none", *get_args(RandomLevels.model_fields["type"].annotation))
        waits = {
            f"levels {self.levels.type}": self.levels.type not in fixed,
            "algorithm.refill_episodes": getattr(algorithm, "refill_episodes", 0) > 0,
            f"algorithm {algorithm.type}": not isinstance(algorithm, Grpo),
        }
        for name in (name for name, holds in waits.items() if holds):
            raise ConfigError(f"max_staleness must be 0 with {name}, which waits for the steps before")

    def _check_shaping(self) -> None:
        """Check that what is compared goes with what is added to it."""
        bonus, compared = self.shaping.bonus, getattr(self.algorithm, "advantage", None)
        if bonus is not None and bonus.name == "diversity":
            self._require_measure("bonus diversity")
            if bonus.weight < 0:
                raise ConfigError(
                    f"shaping.bonus.weight must be at least 0 with diversity, got {bonus.weight}: below 0 a "
                    "reply that a gate stopped could come out above others"
                )
        if compared is not None and compared.type == "polychromic":
            self._require_measure("advantage polychromic")
            if compared.set_size > self.group_size:
                raise ConfigError(
                    f"algorithm.advantage.set_size must be at most group_size {self.group_size}, got "
                    f"{compared.set_size}"
                )
        if compared is not None and compared.type == "per_part":
            added = {
                "shaping.bonus": bonus is not None,
                "shaping.overlong": self.shaping.overlong is not None,
                "loss.kl.place reward": self.loss.kl.place == "reward",
            }
            for name in (name for name, given in added.items() if given):
                raise ConfigError(
                    f"{name} must be left out with advantage per_part: it is added to the whole reward, "
                    "which is not looked at"
                )

    def _require_measure(self, wanted_by: str) -> None:
        if self.diversity == "none":
            raise ConfigError(f"{wanted_by} needs a measure of diversity; set diversity: ngrams, or encoder")


def replay_ratio(config: TrainConfig) -> float:
    """Return the stored episodes of a step as a share of those played, 0 where none are stored."""
    replay = config.algorithm.replay if isinstance(config.algorithm, Grpo) else None
    return replay.ratio if replay is not None else 0.0


def replayed(config: TrainConfig, groups: int) -> int:
    """Return how many stored episodes a step of so many groups trains on besides."""
    return round(replay_ratio(config) * groups * config.group_size)


def sampler_gaps(config: TrainConfig) -> list[str]:
    """Return why the distribution that samples is not the one that is trained; empty where it is.

    In float32 both compute the same function, up to 1e-5 in a log-probability. In half precision the folded
    weights are rounded, quantised products round by their own ways, servers by theirs, a nucleus has no tail,
    and an episode that is replayed was sampled by an earlier policy.
    """
    ratio = replay_ratio(config)
    reasons = {
        f"dtype {config.dtype}": config.dtype != "float32",
        f"quantization {config.quantization}": config.quantization != "none",
        f"sampler {config.sampler.type}": config.sampler.type != "own",
        f"top_p {config.top_p:g}": config.top_p < 1,
        f"algorithm.replay.ratio {ratio:g}": ratio > 0,
        f"max_staleness {config.max_staleness}": config.max_staleness > 0,
    }
    return [reason for reason, holds in reasons.items() if holds]


def chosen_correction(config: TrainConfig) -> str:
    """Return the correction of a run, a name in ``CORRECTIONS`` or ``none``.

    ``auto`` is ``truncate`` where there are `sampler_gaps`, and ``none`` elsewhere.
    """
    kind = config.loss.correction.type
    if kind != "auto":
        return kind
    return "truncate" if sampler_gaps(config) else "none"


def check_dropout(config: TrainConfig) -> None:
    """Check that an update with dropout is one whose probability ratios can be exact.

    A gradient pass with dropout is of another function than the one that sampled. On the only optimiser step
    of a rollout the ratio is 1 by definition, and is set so; it cannot be known where there are more, or
    where the samples are of another policy.

    Raises:
        ConfigError: dropout is on and the ratio would not be known.
    """
    dropout = config.adapter.dropout
    if not dropout:
        return
    if config.epochs > 1:
        raise ConfigError(
            f"lora.dropout must be 0 with epochs above 1, got {dropout:g} and {config.epochs}: "
            "from the second step on the probability ratio would compare passes with different units "
            "dropped. Set epochs: 1, or dropout: 0"
        )
    if chosen_correction(config) != "none" or replay_ratio(config):
        gaps = ", ".join(sampler_gaps(config)) or f"correction {config.loss.correction.type}"
        raise ConfigError(
            f"lora.dropout must be 0 where samples are weighed as those of another policy ({gaps}), got "
            f"{dropout:g}: the weights would hold the noise of dropout. Set dropout: 0, or "
            "dtype: float32 and correction: none without replay"
        )
