"""The vector twin of ``RewardOrchestrator``: one set of statistics for all environments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from pixelis.rewards.stack.curriculum import StageChange
from pixelis.wrappers.reward.orchestrator import orchestrator_scorer
from pixelis.wrappers.scoring.order import check_orchestrator_order
from pixelis.wrappers.vector.episodes import VectorEpisodeReward


class RewardOrchestrator(VectorEpisodeReward):
    """The twin of ``pixelis.wrappers.RewardOrchestrator``.

    Episodes that end in the same step are scored by the same statistics. Over reward wrappers that are
    inside the sub-environments, name their terms in ``weights``.

    Args:
        env: the vector environment with its reward wrappers.
        weights: component → weight; see the twin.
        curriculum: as for ``read_curriculum``; ``observe`` drives it.
        available_metrics: what ``observe`` will be given.
        settings: fields of ``OrchestratorSettings`` and ``NormaliserSettings``. ``task_gap`` is the smallest
            that the environments declare; of others, give it here.

    Raises:
        ConfigError: a weight, a setting or the curriculum is wrong, or nobody says the task's gap.
        WrapperOrderError: the order of wrappers makes no sense; the message gives the right one.
    """

    reward_role = "orchestrator"

    def __init__(
        self,
        env: VectorEnv[Any, Any, np.ndarray],
        weights: Mapping[str, float] | None = None,
        *,
        curriculum: Any = None,
        available_metrics: Collection[str] = (),
        **settings: Any,
    ) -> None:
        check_orchestrator_order(env, type(self).__name__)
        super().__init__(env, orchestrator_scorer(env, weights, curriculum, available_metrics, settings))

    def observe(self, step: int, metrics: Mapping[str, float | None]) -> StageChange | None:
        """Show the curriculum a training step's metrics; see ``RewardStack.observe``."""
        return self.stack.observe(step, metrics)
