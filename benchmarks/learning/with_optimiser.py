"""`scripts/train_agent.py` with another optimiser in AdamW's place: what `step_size.py` compares it with.

    python benchmarks/learning/with_optimiser.py lion --config zoom_read --lr 0.0001

The trainer has AdamW alone. Here its class is replaced before training begins, so that all else (gradient
clipping, warm-up, checkpoints) is the same. None of these has weight decay, and no setting is tuned.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable

import torch

from pixelis.cli.main import main as command

BETAS = (0.9, 0.99)
"""Lion's: how much of the mean gradient the update keeps, and how much the mean keeps (arXiv 2302.06675)."""
MOMENTUM = 0.9


class _Plain(torch.optim.Optimizer):
    """What the three share: a learning rate, and a step for all weights at once."""

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], lr: float, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Move all weights that have a gradient."""
        self._move()

    @abstractmethod
    def _move(self) -> None: ...

    def _with_gradients(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        weights = [weight for group in self.param_groups for weight in group["params"]]
        return [(weight, weight.grad) for weight in weights if weight.grad is not None]

    @property
    def _lr(self) -> float:
        return self.param_groups[0]["lr"]

    def _mean(self, weight: torch.nn.Parameter) -> torch.Tensor:
        return self.state[weight].setdefault("mean", torch.zeros_like(weight))

    @staticmethod
    def _root_size(pairs: Iterable[tuple[torch.nn.Parameter, torch.Tensor]]) -> float:
        """Return √n: an update of 2-norm √n moves the root mean square weight by 1, as AdamW's first does."""
        return sum(weight.numel() for weight, _ in pairs) ** 0.5


class Lion(_Plain):
    """Every weight moves by the rate, in the sign of an interpolated mean gradient (Chen et al. 2023)."""

    def _move(self) -> None:
        for weight, gradient in self._with_gradients():
            mean = self._mean(weight)
            weight.sub_(torch.sign(mean * BETAS[0] + gradient * (1 - BETAS[0])), alpha=self._lr)
            mean.mul_(BETAS[1]).add_(gradient, alpha=1 - BETAS[1])


class Momentum(_Plain):
    """SGD with momentum; the rate is multiplied by √n, so that a gradient of norm 1 counts as elsewhere."""

    def _move(self) -> None:
        pairs = self._with_gradients()
        for weight, gradient in pairs:
            mean = self._mean(weight).mul_(MOMENTUM).add_(gradient, alpha=1 - MOMENTUM)
            weight.sub_(mean, alpha=self._lr * self._root_size(pairs))


class Normalised(_Plain):
    """Every update has the same length: the gradient's direction alone, root mean square the rate."""

    def _move(self) -> None:
        pairs = self._with_gradients()
        norm = torch.stack([gradient.norm() for _, gradient in pairs]).norm()
        for weight, gradient in pairs:
            weight.sub_(gradient / norm.clamp(min=1e-12), alpha=self._lr * self._root_size(pairs))


OPTIMISERS = {"lion": Lion, "sgd": Momentum, "normalised": Normalised}


if __name__ == "__main__":
    torch.optim.AdamW = OPTIMISERS[sys.argv[1]]  # pyright: ignore[reportAttributeAccessIssue]
    raise SystemExit(command(["train", *sys.argv[2:]]))
