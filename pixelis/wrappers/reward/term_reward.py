"""Wrappers that add a reward term: ``TermReward`` for any, and one each for the shipped ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from pixelis.errors import ConfigError
from pixelis.rewards.stack.reward_config import default_weight
from pixelis.rewards.stack.stack import RewardStack
from pixelis.rewards.terms.registry import as_term, make_term, why_off
from pixelis.rewards.terms.term import RewardTerm, TermFunction
from pixelis.rewards.terms.weights import STEPWISE_WEIGHTS, check_weight
from pixelis.wrappers.reward.episodes import EpisodeReward
from pixelis.wrappers.scoring.order import check_term_order
from pixelis.wrappers.scoring.scoring import TermScorer
from pixelis.wrappers.scoring.traits import traits_of


def term_scorer(
    env: Any, term: str | RewardTerm[Any] | TermFunction, weight: float | None, settings: Mapping[str, Any]
) -> tuple[str, TermScorer]:
    """Return a term's key (which its default weights are found by) and its scorer, fitted to an environment.

    Raises:
        ConfigError: an unknown term or setting, a weight that is negative or no number, or an environment in
            which the term has nothing to measure.
    """
    traits = traits_of(env)
    if isinstance(term, str):
        reason = why_off(term, settings, traits)
        if reason:
            raise ConfigError(f"{term}: {reason}; leave this term out")
    made = make_term(term, settings) if isinstance(term, str) else as_term(term)
    key = term if isinstance(term, str) else made.name
    own = default_weight(key, orchestrated=False) if weight is None else check_weight(weight, made.name)
    follows_gap = weight is None and key not in STEPWISE_WEIGHTS
    stack = RewardStack([made], None, {made.name: own}, shipped=[made.name] if follows_gap else [])
    stack.adapt(traits)
    return key, TermScorer(stack)


class TermReward(EpisodeReward, RecordConstructorArgs):
    """Adds weight × value of a reward term to the reward, and its raw value to ``info["reward_terms"]``.

    By itself the wrapper holds the episode's sum of the term in ±1, so that the term moves an episode by at
    most its weight. Inside a ``RewardOrchestrator`` the raw values count and this reward is replaced.
    ``info["reward_task"]`` is the reward before any of these wrappers. The term learns at each episode's end.

    Args:
        env: the environment; for coherence and penalties its ``info`` must carry ``tool_calls``.
        term: ``curiosity``, ``coherence``, ``penalty``, ``potential``, ``progress``, ``module:Class``, a term
            or a plain function from a step (`pixelis.rewards.Transition`) to a number.
        weight: at least 0. None: the shipped one, small enough that all shipped terms together cannot make
            a failure worth more than a success (so less where the environment declares a ``task_gap`` below
            0.5, and 0 where it declares 0); an orchestrator then takes its own default.
        settings: keywords of the term's constructor.

    Raises:
        ConfigError: an unknown term or setting, or a bad weight.
        WrapperOrderError: the order of wrappers makes no sense; the message gives the right one.
    """

    reward_role = "term"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        term: str | RewardTerm[Any] | TermFunction,
        *,
        weight: float | None = None,
        **settings: Any,
    ) -> None:
        RecordConstructorArgs.__init__(self, term=term, weight=weight, **settings)
        self.given_weight = weight
        self.term_key, scorer = term_scorer(env, term, weight, settings)
        self.term_name = scorer.name
        check_term_order(env, type(self).__name__, self.term_name)
        EpisodeReward.__init__(self, env, scorer)


class CuriosityReward(TermReward):
    """Adds the novelty of what an action brought about; see ``pixelis.rewards.curiosity.term``.

    Measured: tools that are hardly used were found sooner on ZoomRead; on web sites it changed nothing, and
    code problems were learnt more slowly (docs/results/index.md, "Do they help to explore?").

    Args:
        env: the environment.
        weight: as for ``TermReward``; 0.1 when it is None.
        settings: keywords of ``CuriosityTerm``.
    """

    def __init__(self, env: gym.Env[Any, Any], *, weight: float | None = None, **settings: Any) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, **settings)
        super().__init__(env, "curiosity", weight=weight, **settings)


class CoherenceReward(TermReward):
    """Adds, with an episode's last step, the coherence of its tool calls; see ``rewards.terms.coherence``.

    Args:
        env: an environment whose ``info`` carries ``tool_calls``.
        weight: as for ``TermReward``; 0.05 when it is None.
        settings: keywords of ``CoherenceTerm``.
    """

    def __init__(self, env: gym.Env[Any, Any], *, weight: float | None = None, **settings: Any) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, **settings)
        super().__init__(env, "coherence", weight=weight, **settings)


class ToolPenalty(TermReward):
    """Charges misused tools and a missing answer; see ``pixelis.rewards.terms.penalties``.

    Args:
        env: an environment whose ``info`` carries ``tool_calls``.
        weight: as for ``TermReward``; 0.08 when it is None.
        settings: keywords of ``PenaltyTerm``.
    """

    def __init__(self, env: gym.Env[Any, Any], *, weight: float | None = None, **settings: Any) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, **settings)
        super().__init__(env, "penalty", weight=weight, **settings)
