"""``RewardOrchestrator``: one total for an episode, from everything the wrappers inside report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from pixelis.errors import ConfigError, shown
from pixelis.rewards.stack.curriculum import StageChange, read_curriculum
from pixelis.rewards.stack.orchestrator import Orchestrator, by_step, with_raw
from pixelis.rewards.stack.reward_config import check_orchestrator_keys, default_weight, orchestrator_settings
from pixelis.rewards.stack.stack import RewardStack
from pixelis.rewards.terms.weights import TASK
from pixelis.wrappers.reward.episodes import EpisodeReward
from pixelis.wrappers.scoring.order import check_orchestrator_order, is_term, layers
from pixelis.wrappers.scoring.scoring import OrchestratorScorer, ReportedTerm
from pixelis.wrappers.scoring.traits import traits_of


def orchestrator_scorer(
    env: Any,
    weights: Mapping[str, float] | None,
    curriculum: Any,
    available_metrics: Collection[str],
    settings: Mapping[str, Any],
) -> OrchestratorScorer:
    """Return the scorer over the terms that the wrappers of ``env`` report and those that ``weights`` names.

    Raises:
        ConfigError: a weight, a setting or the curriculum is wrong, or nobody says the task's gap.
    """
    check_orchestrator_keys(settings)
    if weights is not None and not isinstance(weights, Mapping):
        raise ConfigError(f"weights: expected a mapping such as {{'coherence': 0.2}}, got {shown(weights)}")
    inner = {
        layer.term_name: default_weight(layer.term_key, True)
        if layer.given_weight is None
        else layer.given_weight
        for layer in reversed(list(layers(env)))
        if is_term(layer)
    }
    wrapped = [term for layer in layers(env) if is_term(layer) for term in layer.stack.terms.values()]
    chosen = with_raw(orchestrator_settings(settings), wrapped)
    stepwise = by_step(wrapped)
    orchestrator = Orchestrator({**inner, **(weights or {})}, chosen, stepwise)
    terms = [ReportedTerm(name, name in stepwise) for name in orchestrator.names if name != TASK]
    known = {*available_metrics, *orchestrator.metric_names}
    stages = None if curriculum is None else read_curriculum(curriculum, known)
    stack = RewardStack(terms, orchestrator, curriculum=stages)
    stack.adapt(traits_of(env))
    return OrchestratorScorer(stack)


class RewardOrchestrator(EpisodeReward, RecordConstructorArgs):
    """Replaces the reward by 0 and, at an episode's end, one total; see ``rewards.stack.orchestrator``.

    ``info["reward_parts"]`` then has ``raw``, ``normalised`` and ``weighted`` of the task and each component.
    The statistics move after each episode. Where every sub-environment of a vector is wrapped, each has its
    own; the twin in ``pixelis.wrappers.vector`` has one for all.

    Args:
        env: the environment with its reward wrappers.
        weights: component → weight. Those not named have their wrapper's weight where one was given, else
            the shipped one (task 1, curiosity 0.3, coherence 0.2, penalty 1). A term that the environment
            itself reports in ``info["reward_terms"]`` may be named too.
        curriculum: as for ``read_curriculum``; ``observe`` drives it.
        available_metrics: what ``observe`` will be given.
        settings: fields of ``OrchestratorSettings`` and ``NormaliserSettings``. ``task_gap`` is the
            environment's own where it declares one; of any other environment, give it here.

    Raises:
        ConfigError: a weight, a setting or the curriculum is wrong, or nobody says the task's gap.
        WrapperOrderError: the order of wrappers makes no sense; the message gives the right one.
    """

    reward_role = "orchestrator"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        weights: Mapping[str, float] | None = None,
        *,
        curriculum: Any = None,
        available_metrics: Collection[str] = (),
        **settings: Any,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, weights=weights, curriculum=curriculum, available_metrics=available_metrics, **settings
        )
        check_orchestrator_order(env, type(self).__name__)
        EpisodeReward.__init__(
            self, env, orchestrator_scorer(env, weights, curriculum, available_metrics, settings)
        )

    def observe(self, step: int, metrics: Mapping[str, float | None]) -> StageChange | None:
        """Show the curriculum a training step's metrics; see ``RewardStack.observe``."""
        return self.stack.observe(step, metrics)
