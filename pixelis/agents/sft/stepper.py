"""What the trainers of supervised runs share: the learner and its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pixelis.agents.models.policy import Policy
from pixelis.agents.publish.language_stepper import LanguageStepper
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.learning_rate import rate_of
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.sft import SupervisedConfig
from pixelis.agents.sft.learner import SftLearner, SftSettings

C = TypeVar("C", bound=SupervisedConfig)


class SupervisedStepper(LanguageStepper[C]):
    """A trainer whose steps are those of a `SftLearner`; see `Stepper`.

    Attributes:
        learner: applies the optimiser.
        rate: the learning rate at its peak; an alarm may lower it.
    """

    def __init__(self, config: C, policy: Policy, run: RunFolder) -> None:
        super().__init__(config, policy, run)
        self.rate = rate_of(config, policy)
        self.learner = SftLearner(policy, learner_settings(config, self.rate))

    def lower_rate(self, factor: float) -> Row:
        """Multiply the learning rate."""
        self.rate *= factor
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the learner's state."""
        return {**self.learner.state_dict(), "rate": self.rate}

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.learner.load_state_dict(tensors)
        self.rate = float(tensors.get("rate", self.rate))  # older checkpoints: it was never lowered


def learner_settings(config: SupervisedConfig, rate: float) -> SftSettings:
    """Return how the learner of a run works at a learning rate."""
    return SftSettings(
        batch_size=config.batch_size,
        learning_rate=rate,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        seed=config.seed,
        micro_batch_size=config.micro_batch_size,
        packing=config.packing,
        pack_length=config.pack_length,
    )
