"""The settings of a training run: one flat dataclass that is also the flags and the YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pixelis.agents.settings.algorithm_checks import check_algorithm, check_comparison
from pixelis.agents.settings.levels import LEVELS, LevelRunSettings, check_levels
from pixelis.agents.settings.loss_checks import check_dropout, check_loss_options
from pixelis.agents.settings.options import option
from pixelis.agents.settings.recipes import check_recipe, takes_recipes
from pixelis.agents.settings.run_settings import EVALUATION, MODEL, ROLLOUT, RUN, TASK, UPDATE
from pixelis.agents.settings.settings import digest_of
from pixelis.errors import ConfigError

REWARDS, BATCH, LOSS, PPO = "Rewards", "Batch", "Loss", "PPO"


@takes_recipes
@dataclass(frozen=True)
class TrainConfig(LevelRunSettings):
    """Everything that decides a GRPO training run.

    Each field is explained by its own row, which ``--help`` shows; units are in the text, bounds are checked.
    The rows that other kinds of run have too are in `run_settings`, those of the levels in `levels`.

    Raises:
        ConfigError: a value has the wrong type, lies outside its bounds, or does not go with another.
    """

    headings = (TASK, MODEL, ROLLOUT, LEVELS, REWARDS, BATCH, UPDATE, LOSS, PPO, EVALUATION, RUN)

    quantization: Literal["none", "8bit", "4bit"] = option(
        MODEL, "none", "load the frozen weights in fewer bits: bitsandbytes, CUDA only"
    )

    warm_start: str | None = option(
        MODEL,
        None,
        "YAML file of an SFT run that comes first (docs/guide/sft.md); none: no such run",
        identity=False,
    )

    top_p: float = option(ROLLOUT, 1.0, "nucleus sampling; below 1 biased with correction none", "(0, 1]")
    env_timeout_seconds: float | None = option(
        ROLLOUT,
        None,
        "longest env call; an episode whose env is later is left out; none: no limit",
        "(0, inf)",
        identity=False,
    )

    rewards: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        REWARDS, dict, "reward terms besides the env's own, e.g. --rewards.coherence '{weight: 0.2}'"
    )

    recipe: Literal["dr_grpo", "dapo", "gspo", "rloo", "cispo"] | None = option(
        BATCH, None, "a published algorithm (docs/guide/recipes.md); explicit settings win"
    )
    algorithm: Literal["grpo", "ppo"] = option(
        BATCH, "grpo", "advantages from the group, or from a value head"
    )
    credit: Literal["episode", "turn"] = option(
        BATCH, "episode", "one advantage an episode, or one a turn from step rewards"
    )
    advantage: Literal["sum", "per_part", "polychromic"] | str = option(
        BATCH, "sum", "compare rewards, each of their parts (GDPO), or sets"
    )
    part_weights: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        BATCH, dict, "per_part: part of the reward → weight, e.g. {task: 1.0}"
    )
    diversity: Literal["none", "ngrams", "encoder"] | str = option(
        BATCH, "none", "how far answers are apart; measured every step"
    )
    set_size: int = option(BATCH, 4, "polychromic: members of a set", "[2, inf)")
    set_floor: float = option(BATCH, 0.0, "polychromic: the reward that is worth nothing")
    gamma: float = option(BATCH, 1.0, "discount: a turn with credit turn, a token with ppo", "(0, 1]")
    refill_episodes: int = option(
        BATCH, 0, "most extra episodes a step that replace flat groups; 0: none", "[0, inf)"
    )
    mask_truncated: bool = option(BATCH, False, "leave truncated episodes out of the loss")
    overlong_buffer: int = option(
        BATCH, 0, "tokens before the longest episode that are penalised; 0: none", "[0, inf)"
    )
    overlong_penalty: float = option(BATCH, 1.0, "penalty of the longest episode (DAPO)", "[0, inf)")
    bonus: str | None = option(BATCH, None, "bonus in a group: distinct_answers, diversity")
    bonus_weight: float = option(BATCH, 0.1, "what that bonus is multiplied by")
    duplicate_penalty: float = option(
        BATCH, 0.0, "what an answer loses that every other prompt got too (extra text); 0: none", "[0, inf)"
    )
    advantage_clip: float | None = option(BATCH, None, "advantages are held in ± this", "(0, inf)")
    advantage_threshold: float = option(
        BATCH, 0.0, "episodes with smaller advantages are not trained on", "[0, inf)"
    )
    replay_ratio: float = option(
        BATCH, 0.0, "stored episodes a step, as a share of those played; 0: none", "[0, inf)"
    )
    replay_capacity: int = option(BATCH, 100, "stored episodes, those with the best advantages", "[1, inf)")
    replay_staleness: int = option(BATCH, 10, "steps for which an episode may be replayed", "[1, inf)")

    decay_steps: int = option(
        UPDATE,
        0,
        "optimiser step at which lr has fallen linearly to a tenth; 0: it does not fall",
        "[0, inf)",
    )
    epochs: int = option(UPDATE, 1, "optimiser steps on each rollout", "[1, inf)")

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

    eval_every: int = option(
        EVALUATION,
        0,
        "steps between evaluations in training; the best stays as best/; 0: none",
        "[0, inf)",
        identity=False,
    )
    watch: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        EVALUATION,
        dict,
        "scores that nothing is paid by, e.g. --watch.tweet_evaluation '{}'",
        identity=False,
    )
    watch_episodes: int = option(
        EVALUATION, 16, "episodes of a step that these score", "[1, inf)", identity=False
    )
    watch_window: int = option(
        EVALUATION, 20, "alarm: steps in each of two windows that are compared", "[2, inf)", identity=False
    )
    watch_z: float = option(
        EVALUATION,
        2.0,
        "alarm: standard errors that reward and score must part by",
        "[0, inf)",
        identity=False,
    )
    baselines: bool = option(EVALUATION, False, "also play the env's scripted policies", identity=False)

    trajectories_every: int = option(
        RUN, 10, "steps between saved sample episodes", "[1, inf)", identity=False
    )

    def __post_init__(self) -> None:
        """Check every field, and that they fit together."""
        super().__post_init__()
        if self.eval_every and not self.eval_episodes:
            raise ConfigError("eval_every needs tasks to play; give --eval-episodes of at least 1")
        check_recipe(self)
        check_loss_options(self)
        check_dropout(self)
        check_algorithm(self)
        check_comparison(self)
        check_levels(self)

    @property
    def digest(self) -> str:
        """SHA-256 of `identity`; 1 and 1.0 are the same."""
        return digest_of(
            {name: float(value) if type(value) is int else value for name, value in self.identity.items()}
        )
