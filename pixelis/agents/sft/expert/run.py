"""A whole expert iteration run."""

from __future__ import annotations

from typing import Any

from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.sft.expert.trainer import ExpertTrainer
from pixelis.agents.sft.run import SupervisedRun


class ExpertRun(SupervisedRun[ExpertConfig, ExpertTrainer]):
    """A run of expert iteration."""

    def make_trainer(self, material: Any) -> ExpertTrainer:
        """Return the trainer; there is nothing to prepare."""
        return ExpertTrainer(self.config, self.policy, self.folder, self.task_env)

    @classmethod
    def default_name(cls, config: ExpertConfig) -> str:
        """Return what a run without ``output`` is called after."""
        return f"expert-{config.env.rpartition('/')[2]}"
