"""The learning rate where none is given: by the size of the model and by how it learns.

    reinforcement   lr = 1e-3 (2.5e6 / N)^(3/4)   held in [1e-5, 1e-3]
    demonstrations  lr = 1e-3 (2.5e6 / N)^(1/6)   held in [1e-4, 1e-3]
    full            a tenth of it, where all weights are trained and not an adapter

N is the number of the model's parameters, the adapter left out. Where the numbers come from is told in
``docs/guide/learning_rate.md``. The rule knows nothing of the task: it is where to begin, not what is best.
"""

from __future__ import annotations

from typing import Any

from pixelis.agents.models.policy import Policy
from pixelis.agents.settings.run_settings import AUTO, Learning, RunSettings

ANCHOR_PARAMETERS, ANCHOR_RATE = 2.5e6, 1e-3
"""What the rule is anchored in: ``pixelis-tiny`` and the rate at which it learns."""

EXPONENTS: dict[Learning, float] = {"reinforcement": 3 / 4, "demonstrations": 1 / 6}
FLOORS: dict[Learning, float] = {"reinforcement": 1e-5, "demonstrations": 1e-4}
FULL_SHARE = 0.1
"""What full fine-tuning takes of an adapter's rate."""


def rate_by_size(parameters: int, learning: Learning, *, full: bool = False) -> float:
    """Return the AdamW learning rate for a model of a size, rounded to two digits.

    Args:
        parameters: how many the model has, the adapter left out, at least 1.
        learning: from what it learns; expert iteration and PPO count as reinforcement.
        full: whether all weights are trained.
    """
    rate = ANCHOR_RATE * (ANCHOR_PARAMETERS / parameters) ** EXPONENTS[learning]
    rate = min(ANCHOR_RATE, max(FLOORS[learning], rate)) * (FULL_SHARE if full else 1.0)
    return float(f"{rate:.1e}")


def count_parameters(model: Any) -> int:
    """Return how many parameters a model has without its adapters; those of 4 bits are stored in pairs."""
    return sum(
        parameter.numel() * (2 if type(parameter).__name__ == "Params4bit" else 1)
        for name, parameter in model.named_parameters()
        if ".lora_" not in name
    )


def rate_of(config: RunSettings, policy: Policy) -> float:
    """Return the learning rate that a run begins with, by the model's size where its settings name none.

    Args:
        config: ``lr``, ``step_size.start`` where that is ``auto``, and ``learning`` (from what is learnt) as
            a class attribute.
        policy: what is trained.
    """
    given = config.step_size.start if config.lr == AUTO else config.lr  # type: ignore[attr-defined]
    if given is not None:
        return float(given)
    return rate_by_size(count_parameters(policy.model), config.learning, full=not policy.has_adapter)


def told_rate(config: RunSettings, policy: Policy) -> str:
    """Return how people are told the learning rate of a run."""
    rate = rate_of(config, policy)
    return f"{rate:g} to begin with, steered by the KL of updates" if config.lr == AUTO else f"{rate:g}"
