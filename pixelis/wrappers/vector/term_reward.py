"""Vector wrappers that add a reward term, scored for all environments at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from pixelis.rewards.terms.term import RewardTerm, TermFunction
from pixelis.wrappers.reward.term_reward import term_scorer
from pixelis.wrappers.scoring.order import check_term_order
from pixelis.wrappers.vector.episodes import VectorEpisodeReward


class TermReward(VectorEpisodeReward):
    """The twin of ``pixelis.wrappers.TermReward``: one term, which learns from all environments.

    Args:
        env: the vector environment.
        term: ``curiosity``, ``coherence``, ``penalty``, ``potential``, ``progress``, ``module:Class``, a
            term, or a plain function.
        weight: at least 0; None for the shipped one.
        settings: keywords of the term's constructor.

    Raises:
        ConfigError: an unknown term or setting, or a bad weight.
        WrapperOrderError: the order of wrappers makes no sense; the message gives the right one.
    """

    reward_role = "term"

    def __init__(
        self,
        env: VectorEnv[Any, Any, np.ndarray],
        term: str | RewardTerm[Any] | TermFunction,
        *,
        weight: float | None = None,
        **settings: Any,
    ) -> None:
        self.given_weight = weight
        self.term_key, scorer = term_scorer(env, term, weight, settings)
        self.term_name = scorer.name
        check_term_order(env, type(self).__name__, self.term_name)
        super().__init__(env, scorer)


class CuriosityReward(TermReward):
    """The twin of ``pixelis.wrappers.CuriosityReward``: one model, one batch a step.

    Args:
        env: the vector environment.
        weight: at least 0; 0.1 when it is None.
        settings: keywords of ``CuriosityTerm``.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, np.ndarray], *, weight: float | None = None, **settings: Any
    ) -> None:
        super().__init__(env, "curiosity", weight=weight, **settings)


class CoherenceReward(TermReward):
    """The twin of ``pixelis.wrappers.CoherenceReward``.

    Args:
        env: a vector environment whose ``infos`` carry ``tool_calls``.
        weight: at least 0; 0.05 when it is None.
        settings: keywords of ``CoherenceTerm``.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, np.ndarray], *, weight: float | None = None, **settings: Any
    ) -> None:
        super().__init__(env, "coherence", weight=weight, **settings)


class ToolPenalty(TermReward):
    """The twin of ``pixelis.wrappers.ToolPenalty``.

    Args:
        env: a vector environment whose ``infos`` carry ``tool_calls``.
        weight: at least 0; 0.08 when it is None.
        settings: keywords of ``PenaltyTerm``.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, np.ndarray], *, weight: float | None = None, **settings: Any
    ) -> None:
        super().__init__(env, "penalty", weight=weight, **settings)
