"""The value head: an estimate of the return before each sampled token, from the policy's own features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode, join_images
from pixelis.agents.models.policy import Policy
from pixelis.agents.scoring.collation import collate


class ValueHead(torch.nn.Module):
    """A linear map from the last hidden state to the value, float32, 0 at the start.

    It reads the hidden states of the policy's model and does not change them: the value loss trains the head
    alone, so that it cannot disturb the policy, and the states of the rollout are computed once.

    Args:
        width: of the hidden states.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(width, 1)
        torch.nn.init.zeros_(self.linear.weight)
        torch.nn.init.zeros_(self.linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Return values [N] of hidden states [N, E]."""
        return self.linear(states)[:, 0]


def clipped_value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float) -> Tensor:
    """Return the loss of each token.

        max((V - R)^2, (V_old + clamp(V - V_old, -clip, clip) - R)^2) / 2

    Args:
        values: float [N], with gradient.
        old_values: float [N], before the update.
        returns: float [N].
        clip: how far a value may move before its gradient stops, > 0.

    Source: Schulman et al. 2016 (arXiv 1506.02438) fit values; the clipping is that of OpenAI's ppo2, see
    Engstrom et al. 2020 (arXiv 2005.12729), section 3.
    """
    if not values.shape == old_values.shape == returns.shape or values.ndim != 1:
        raise ValueError(
            f"values, old_values and returns must share a shape [N], got {tuple(values.shape)}, "
            f"{tuple(old_values.shape)}, {tuple(returns.shape)}"
        )
    near = old_values + (values - old_values).clamp(-clip, clip)
    return torch.maximum((values - returns) ** 2, (near - returns) ** 2) / 2


@torch.no_grad()
def token_states(policy: Policy, episodes: Sequence[Episode], micro_batch_size: int) -> list[Tensor]:
    """Return the last hidden states from which each episode's sampled tokens were drawn, float32 [n, E]."""
    found: list[Tensor] = []
    for start in range(0, len(episodes), micro_batch_size):
        rows = episodes[start : start + micro_batch_size]
        tokens, valid, positions, mask = collate(policy, rows)
        images = join_images([row.images for row in rows])
        options = {"logits_to_keep": 1} if "logits_to_keep" in policy.forward_keywords else {}
        output = policy.forward(
            tokens, valid, positions, images, use_cache=False, output_hidden_states=True, **options
        )
        states = output.hidden_states[-1].float()
        found += [states[row, :-1][mask[row, 1:]] for row in range(len(rows))]
    return found
