"""The dimensions of a state that an agent's actions have to do with, learnt through the inverse model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from pixelis.rewards.features.state_encoder import STATE_DIMS

CLOSED = -5.0
"""Least log-gate: a dimension that counts e⁻⁵."""
_ADAM = (0.9, 0.99, 1e-8)


class ControllableFeatures:
    """φ(s) = gate ⊙ (encoding − mean): the encoding's dimensions, open as far as they tell the action.

    The gates move by the inverse model's loss alone (Pathak et al. 2017, arXiv:1705.05363), and only on
    transitions that the inverse model has *not* been trained on: what it has learnt by heart about noise
    then counts against the noise. What never varies is zero after centring, so it gets no gradient and stays
    open for what is new there. A gate is at most 1, and slowly reopens when nothing speaks against its
    dimension: neither can features blow up nor all of them fade.

    Args:
        learning_rate: of the log-gates (Adam, arXiv:1412.6980); 0 leaves every gate open.
        recovery: share of a log-gate that each step takes back.
    """

    def __init__(self, learning_rate: float, recovery: float) -> None:
        self.learning_rate, self.recovery = learning_rate, recovery
        self.log_gates = torch.zeros(STATE_DIMS)
        self.mean = torch.zeros(STATE_DIMS)
        self._first, self._second = torch.zeros(STATE_DIMS), torch.zeros(STATE_DIMS)
        self.steps = self.seen = 0

    @property
    def gates(self) -> torch.Tensor:
        """How far each dimension is open, float32 [768] in (0, 1]."""
        return self.log_gates.exp()

    def __call__(self, encodings: torch.Tensor, gates: torch.Tensor | None = None) -> torch.Tensor:
        """Return the features, [n, 768], of encodings [n, 768]; ``gates`` replaces this object's own."""
        return (encodings - self.mean) * (self.gates if gates is None else gates)

    def step(self, gradient: torch.Tensor) -> None:
        """Move the log-gates against the gradient, [768], that the inverse model's loss has there."""
        first, second, epsilon = _ADAM
        self.steps += 1
        self._first.lerp_(gradient, 1 - first)
        self._second.lerp_(gradient.square(), 1 - second)
        mean = self._first / (1 - first**self.steps)
        spread = (self._second / (1 - second**self.steps)).sqrt() + epsilon
        self.log_gates.mul_(1 - self.recovery).sub_(mean / spread, alpha=self.learning_rate)
        self.log_gates.clamp_(CLOSED, 0.0)

    def count(self, encodings: torch.Tensor) -> None:
        """Move the mean by states seen, [n, 768]: it is that of all states so far."""
        self.seen += len(encodings)
        self.mean += (encodings - self.mean).sum(0) / self.seen

    def state_dict(self) -> dict[str, Any]:
        """Return gates, mean and the optimiser's moments."""
        tensors = {name: getattr(self, name).clone() for name in ("log_gates", "mean", "_first", "_second")}
        return {**tensors, "steps": self.steps, "seen": self.seen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what `state_dict` returned."""
        for name in ("log_gates", "mean", "_first", "_second"):
            getattr(self, name).copy_(state[name])
        self.steps, self.seen = int(state["steps"]), int(state["seen"])
