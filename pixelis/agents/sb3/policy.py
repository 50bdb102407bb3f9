"""The policy of PPO and GRPO: five categorical numbers, of which only those that matter are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.sb3.library import MultiCategoricalDistribution, MultiInputActorCriticPolicy

_TOOL, _SCALE = 0, 3  # places of the two numbers that say which of the five matter


class CountedNumbers(MultiCategoricalDistribution):
    """The distribution of what an action *does*: numbers that its tool ignores are summed out.

    The five numbers are independent given the observation, so the probability of a turn is the product over
    the numbers that matter for it (``DiscreteToolActions.counted``). Counting the others as well would add
    noise to every policy gradient, and would pay an entropy bonus for choices that nobody sees.

    Args:
        sizes: how many values each number has.
        counted: bool [tools + 1, scales, 5].
    """

    def __init__(self, sizes: list[int], counted: np.ndarray) -> None:
        super().__init__(sizes)
        self._counted = torch.as_tensor(counted, dtype=torch.float32)

    def log_prob(self, actions: Tensor) -> Tensor:
        """Return the log-probability [B] of the turns that ``actions`` [B, 5] stand for."""
        pairs = zip(self.distribution, actions.unbind(dim=1), strict=True)
        each = torch.stack([part.log_prob(number) for part, number in pairs], dim=1)
        numbers = actions.long()
        return (each * self._counted.to(each.device)[numbers[:, _TOOL], numbers[:, _SCALE]]).sum(dim=1)

    def entropy(self) -> Tensor:
        """Return the entropy [B] of the turn, exactly: each number's times the chance that it matters."""
        each = torch.stack([part.entropy() for part in self.distribution], dim=1)
        tool, scale = self.distribution[_TOOL].probs, self.distribution[_SCALE].probs
        matters = torch.einsum("bt,bs,tsi->bi", tool, scale, self._counted.to(each.device))
        return (each * matters).sum(dim=1)


class ToolPolicy(MultiInputActorCriticPolicy):
    """SB3's actor-critic network with `CountedNumbers` for a distribution.

    Args:
        args: see SB3.
        counted: ``DiscreteToolActions.counted`` of the environment.
        keywords: see SB3.
    """

    def __init__(self, *args: Any, counted: np.ndarray, **keywords: Any) -> None:
        self._counted_numbers = counted
        super().__init__(*args, **keywords)

    def _build(self, lr_schedule: Any) -> None:
        sizes: Any = self.action_space
        self.action_dist = CountedNumbers(sizes.nvec.tolist(), self._counted_numbers)
        super()._build(lr_schedule)
