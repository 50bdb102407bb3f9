"""AdamW with warm-up and gradient clipping that refuses to apply a gradient which is not finite."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from pixelis.errors import TrainingError

_LOG = logging.getLogger(__name__)
MAX_SKIPPED_IN_A_ROW = 3


FINAL_SHARE = 0.1
"""Share of the learning rate that is left when it has fallen."""


def schedule(done: int, warmup_steps: int, decay_steps: int) -> float:
    """Return the share of the learning rate that the next step uses.

    The smallest of 1, ``(done + 1) / (warmup_steps + 1)`` and, with ``decay_steps``,
    ``1 - 0.9 done / decay_steps``, which stays at 0.1 from ``decay_steps`` on.

    Args:
        done: optimiser steps taken so far.
        warmup_steps: see `Optimiser`.
        decay_steps: see `Optimiser`.
    """
    rising = (done + 1) / (warmup_steps + 1)
    falling = 1 - (1 - FINAL_SHARE) * min(done, decay_steps) / decay_steps if decay_steps else 1.0
    return min(1.0, rising, falling)


class Before(NamedTuple):
    """Weights and the optimiser's state as they were before a step.

    Attributes:
        weights: copies of the trained tensors, in the order of the parameters.
        state: a copy of `Optimiser.state_dict`.
    """

    weights: list[torch.Tensor]
    state: dict[str, Any]


class Optimiser:
    """AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101) and its schedule.

    The learning rate rises for ``warmup_steps`` optimiser steps; with ``decay_steps`` it then falls linearly
    to a tenth; see `schedule`.

    Args:
        parameters: what is trained.
        lr: learning rate after warm-up.
        warmup_steps: optimiser steps over which it rises.
        decay_steps: the optimiser step at which it has fallen to a tenth, and stays; 0: it does not fall.
        weight_decay: AdamW's.
        max_grad_norm: gradients are scaled down to this 2-norm.

    Attributes:
        skipped: how many steps were left out because the loss or the gradient was not finite.
    """

    def __init__(
        self,
        parameters: Sequence[torch.nn.Parameter],
        *,
        lr: float,
        warmup_steps: int = 0,
        decay_steps: int = 0,
        weight_decay: float = 0.0,
        max_grad_norm: float = 1.0,
    ) -> None:
        self._parameters, self._max_grad_norm = list(parameters), max_grad_norm
        self._adamw = torch.optim.AdamW(self._parameters, lr=lr, weight_decay=weight_decay)
        self._share = lambda done: schedule(done, warmup_steps, decay_steps)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._adamw, self._share)
        self.skipped = self._in_a_row = 0

    @property
    def lr(self) -> float:
        """The learning rate of the next step: `rate` times `share`."""
        return float(self._adamw.param_groups[0]["lr"])

    @property
    def rate(self) -> float:
        """The learning rate without its schedule; see `steer`."""
        return float(self._schedule.base_lrs[0])

    @property
    def share(self) -> float:
        """The share of `rate` that the next step uses, see `schedule`."""
        return self._share(self._schedule.last_epoch)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        self._adamw.zero_grad(set_to_none=True)

    def step(self, loss: float) -> float:
        """Clip the gradients and apply them; leave the step out when they, or the loss, are not finite.

        Args:
            loss: the value whose gradients were computed.

        Returns:
            The norm of the gradient before clipping.

        Raises:
            TrainingError: this was the third step in a row to be left out.
        """
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm))
        if math.isfinite(loss) and math.isfinite(norm):
            self._adamw.step()
            self._schedule.step()
            self._in_a_row = 0
        else:
            self._skip(loss, norm)
        return norm

    def steer(self, rate: float) -> None:
        """Let another `rate` be that of the steps to come."""
        self._schedule.base_lrs = [rate]
        self._set_lr(rate * self.share)

    def remember(self) -> Before:
        """Return what `take_back` needs: three times the memory of what is trained."""
        return Before(self.copy_weights(), copy.deepcopy(self.state_dict()))

    def copy_weights(self) -> list[torch.Tensor]:
        """Return copies of the trained tensors, in the order of the parameters."""
        return [each.detach().clone() for each in self._parameters]

    def distance(self, weights: Sequence[torch.Tensor]) -> float:
        """Return the 2-norm of the difference between the trained tensors and copies of them."""
        pairs = zip(self._parameters, weights, strict=True)
        return math.sqrt(sum(float((one.detach() - other).float().square().sum()) for one, other in pairs))

    @contextmanager
    def nudged(self, amount: float) -> Iterator[list[torch.Tensor]]:
        """Add a number to every trained weight, for as long as the context is entered; gives those before."""
        weights = self.copy_weights()
        with torch.no_grad():
            for parameter in self._parameters:
                parameter.add_(amount)
        try:
            yield weights
        finally:
            self._put(weights)

    @contextmanager
    def swapped(self, weights: Sequence[torch.Tensor]) -> Iterator[None]:
        """Put other weights in the place of the trained ones, for as long as the context is entered."""
        now = self.copy_weights()
        self._put(weights)
        try:
            yield
        finally:
            self._put(now)

    def take_back(self, before: Before) -> None:
        """Undo the steps since ``before``, in the weights and in the optimiser; the gradients stay."""
        self._put(before.weights)
        # AdamW would go on with the very tensors it is given, and the next try needs them as they are.
        self.load_state_dict(copy.deepcopy(before.state))

    def again(self, lr: float) -> None:
        """Take the step that was taken back, its clipped gradients still there, at another learning rate."""
        self._set_lr(lr)
        self._adamw.step()
        self._schedule.step()

    @torch.no_grad()
    def _put(self, weights: Sequence[torch.Tensor]) -> None:
        for parameter, each in zip(self._parameters, weights, strict=True):
            parameter.copy_(each)

    def _set_lr(self, lr: float) -> None:
        for group in self._adamw.param_groups:
            group["lr"] = lr

    def _skip(self, loss: float, norm: float) -> None:
        self.zero_grad()
        self.skipped += 1
        self._in_a_row += 1
        _LOG.warning("update skipped: loss %s, gradient norm %s (%d so far)", loss, norm, self.skipped)
        if self._in_a_row >= MAX_SKIPPED_IN_A_ROW:
            raise TrainingError(
                f"the loss or its gradient was not finite {self._in_a_row} times in a row (last loss {loss}, "
                f"gradient norm {norm}); resume from the last checkpoint, or start again with a lower --lr"
            )

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs: tensors and plain data."""
        return {
            "adamw": self._adamw.state_dict(),
            "schedule": self._schedule.state_dict(),
            "skipped": [self.skipped, self._in_a_row],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the state of another instance whose parameters have the same shapes in the same order."""
        self._adamw.load_state_dict(state["adamw"])
        self._schedule.load_state_dict(state["schedule"])
        self.skipped, self._in_a_row = state["skipped"]
