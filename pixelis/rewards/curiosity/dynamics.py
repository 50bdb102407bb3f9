"""The two networks of curiosity: what an action will bring about, and which action it was."""

from __future__ import annotations

import itertools

import torch
from torch import nn
from torch.nn import functional

from pixelis.rewards.features.state_encoder import ACTION_DIMS, STATE_DIMS

HIDDEN_DIMS = 256
LORA_SCALE = 2.0
"""Alpha ÷ rank of the adapters, as 16 ÷ 8."""


def seeded_linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with torch's usual start, U(±1/√inputs), drawn from a generator of one's own."""
    # The constructor would draw from the global generator.
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    assert isinstance(layer, nn.Linear)  # for type checkers, which are told Module
    bound = inputs**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trainable product of two thin matrices (Hu et al. 2021, arXiv:2106.09685).

    y = W x + b + 2 · up · down · x, where ``up`` [outputs, rank] starts at zero. Written out because PEFT
    takes three seconds to import and a third more time for one row, and gives nothing else here.
    """

    def __init__(self, inputs: int, outputs: int, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.base = seeded_linear(inputs, outputs, generator).requires_grad_(False)
        down = torch.empty(rank, inputs).uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)
        self.down, self.up = nn.Parameter(down), nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [n, outputs] of [n, inputs]."""
        low = functional.linear(x, self.down)
        return torch.addmm(self.base(x), low, self.up.t(), alpha=LORA_SCALE)

    def folded(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the weight [outputs, inputs] and bias of the one linear layer that computes the same."""
        with torch.no_grad():
            return torch.addmm(self.base.weight, self.up, self.down, alpha=LORA_SCALE), self.base.bias


class LoRADynamicsModel(nn.Module):
    """Predicts the next state's features from a state's and an action's: 896 → 256 → 256 → 768, ReLU.

    The base is random and frozen; only the adapters are trained: with rank 8, 21,504 of 514,304 parameters.

    Args:
        rank: of the adapter of each layer, at least 1.
        generator: draws base and adapters.
    """

    def __init__(self, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        sizes = (STATE_DIMS + ACTION_DIMS, HIDDEN_DIMS, HIDDEN_DIMS, STATE_DIMS)
        self.layers = nn.ModuleList(
            LoRALinear(inputs, outputs, rank, generator) for inputs, outputs in itertools.pairwise(sizes)
        )

    @property
    def trainable_parameters(self) -> int:
        """Numbers that training moves."""
        return sum(part.numel() for part in self.parameters() if part.requires_grad)

    def forward(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Return the prediction, [n, 768], for states [n, 768] and actions [n, 128]."""
        x = torch.cat([states, actions], 1)
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        return self.layers[-1](x)

    def folded(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return weights and biases with the adapters added in of each layer."""
        return [layer.folded() for layer in self.layers if isinstance(layer, LoRALinear)]


class InverseModel(nn.Module):
    """Tells the action from the features before and after it: 1536 → 256 → 128, ReLU.

    Args:
        generator: draws the weights.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.hidden = seeded_linear(2 * STATE_DIMS, HIDDEN_DIMS, generator)
        self.out = seeded_linear(HIDDEN_DIMS, ACTION_DIMS, generator)

    def forward(self, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        """Return the action's features, [n, 128], for two states' [n, 768]."""
        return self.out(functional.relu(self.hidden(torch.cat([before, after], 1))))
