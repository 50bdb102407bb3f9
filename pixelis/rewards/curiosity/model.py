"""Curiosity's model: the intrinsic reward, and the training that makes what is seen again worth less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

from pixelis.errors import RewardError
from pixelis.rewards.curiosity.controllable import ControllableFeatures
from pixelis.rewards.curiosity.dynamics import InverseModel, LoRADynamicsModel
from pixelis.rewards.curiosity.experience import ROW_DIMS, EncodedRows, Experience, check_packed
from pixelis.rewards.curiosity.settings import CuriositySettings
from pixelis.rewards.features.state_encoder import STATE_DIMS

_WEIGHT_DECAY = 0.01  # of the inverse model only; the forward model's adapters may stay where they are


class CuriosityModel:
    """Intrinsic curiosity (Pathak et al. 2017, arXiv:1705.05363) on fixed encodings of states and actions.

    The reward of a transition is η · ½ · mean over dimensions of (φ̂(s') − φ(s'))², where φ̂ is the forward
    model's prediction from φ(s) and a, and φ are `ControllableFeatures`. The models minimise
    β · forward loss + (1 − β) · inverse loss on batches of remembered transitions; the gates of φ minimise
    the inverse loss on new ones.

    Everything is drawn from a generator of its own: equal calls give equal bits (with the same number of
    threads), and torch's global generator is neither used nor moved.
    """

    def __init__(self, settings: CuriositySettings) -> None:
        self.settings, self.updates = settings, 0
        self._generator = torch.Generator().manual_seed(settings.seed)
        self.forward_model = LoRADynamicsModel(settings.rank, self._generator)
        self.inverse_model = InverseModel(self._generator)
        self.features = ControllableFeatures(settings.gate_learning_rate, settings.gate_recovery)
        self._experience = Experience(settings.memory_size)
        self._waiting = torch.zeros(0, ROW_DIMS, dtype=torch.float16)
        adapters = [part for part in self.forward_model.parameters() if part.requires_grad]
        self._optimiser = torch.optim.AdamW(
            [
                {"params": adapters, "weight_decay": 0.0},
                {"params": list(self.inverse_model.parameters()), "weight_decay": _WEIGHT_DECAY},
            ],
            lr=settings.learning_rate,
            fused=True,
        )
        self._scorer: FoldedForwardModel | None = None  # of the model as it is

    def rewards(self, rows: EncodedRows) -> torch.Tensor:
        """Return the intrinsic rewards, float32 [n] and at least 0, of transitions."""
        self._scorer = self._scorer or FoldedForwardModel(self.forward_model, self.features)
        return self._scorer.squared_errors(rows).mul_(0.5 * self.settings.eta)

    def learn(self, packed: torch.Tensor) -> dict[str, float]:
        """Train on new transitions and on remembered ones; return losses and counts.

        Args:
            packed: new transitions, as `EncodedRows.packed` gives them; those that do not fill a batch of
                ``fresh_size`` wait for the next call.

        Raises:
            RewardError: the loss is not finite.
        """
        size, updates = self.settings.fresh_size, 0
        waiting = torch.cat([self._waiting, packed])
        losses: list[torch.Tensor] = []
        while len(waiting) >= size:
            fresh, waiting = waiting[:size], waiting[size:]
            full = updates + self.settings.updates_per_batch > self.settings.max_updates
            losses += self._learn_batch(fresh, 0 if full else self.settings.updates_per_batch)
            updates += 0 if full else self.settings.updates_per_batch
        self._waiting = waiting.clone()
        self.updates += updates
        return {"updates": float(updates), **self._report(losses)}

    def state_dict(self) -> dict[str, Any]:
        """Return all that was learnt: JSON values and tensors."""
        optimiser = self._optimiser.state_dict()["state"]
        return {
            "forward": _copies(self.forward_model.state_dict()),
            "inverse": _copies(self.inverse_model.state_dict()),
            "optimiser": {str(index): _copies(moments) for index, moments in optimiser.items()},
            "features": self.features.state_dict(),
            "experience": self._experience.state_dict(),
            "waiting": self._waiting.clone(),
            "generator": self._generator.get_state(),
            "updates": self.updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what `state_dict` returned, of equal settings; after an error the model is no good."""
        self.forward_model.load_state_dict(state["forward"])
        self.inverse_model.load_state_dict(state["inverse"])
        moments = {int(index): _copies(values) for index, values in state["optimiser"].items()}
        groups = self._optimiser.state_dict()["param_groups"]
        self._optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self.features.load_state_dict(state["features"])
        self._experience.load_state_dict(state["experience"])
        self._waiting = check_packed(state["waiting"])
        self._generator.set_state(state["generator"])
        self.updates, self._scorer = int(state["updates"]), None

    # ------------------------------------------------------------------ private

    def _learn_batch(self, fresh: torch.Tensor, updates: int) -> list[torch.Tensor]:
        rows = EncodedRows.unpacked(fresh)
        if updates:
            self._step_gates(rows)
        self.features.count(rows.next_states)
        self._experience.add(fresh)
        self._scorer = None
        return [self._step_models() for _ in range(updates)]

    def _step_gates(self, rows: EncodedRows) -> None:
        """Move the gates on transitions that the inverse model has not learnt from yet."""
        if not self.settings.gate_learning_rate:
            return
        log_gates = self.features.log_gates.clone().requires_grad_()
        before, after = (self.features(part, log_gates.exp()) for part in (rows.states, rows.next_states))
        loss = functional.mse_loss(self.inverse_model(before, after), rows.actions)
        self.features.step(torch.autograd.grad(loss, log_gates)[0])

    def _step_models(self) -> torch.Tensor:
        """Take one step on a batch of remembered transitions; return forward and inverse loss, [2]."""
        rows = self._experience.sample(self.settings.batch_size, self._generator)
        before, after = self.features(rows.states), self.features(rows.next_states)
        forward = 0.5 * functional.mse_loss(self.forward_model(before, rows.actions), after)
        inverse = functional.mse_loss(self.inverse_model(before, after), rows.actions)
        beta = self.settings.beta
        self._optimiser.zero_grad()
        (beta * forward + (1 - beta) * inverse).backward()
        self._optimiser.step()
        return torch.stack([forward, inverse]).detach()

    def _report(self, losses: list[torch.Tensor]) -> dict[str, float]:
        if not losses:
            return {}
        forward, inverse = torch.stack(losses).mean(0).tolist()
        if not torch.isfinite(torch.stack(losses)).all():
            raise RewardError(
                f"curiosity: the loss is not finite (forward {forward}, inverse {inverse}); lower "
                f"learning_rate ({self.settings.learning_rate}) or the scale of the encoder's embeddings"
            )
        gates = self.features.gates.mean().item()
        return {"forward_loss": forward, "inverse_loss": inverse, "gates_mean": gates}


class FoldedForwardModel:
    """The forward model as three plain layers, with adapters, centring and gates folded into them.

    Half as many products, and no copy of the rows: with g the gates and m the mean, W g (s − m) is a product
    with s, and φ̂ − g (s' − m) is (φ̂ + g m) − g s'.
    """

    def __init__(self, model: LoRADynamicsModel, features: ControllableFeatures) -> None:
        (weight, bias), self._middle, (last, last_bias) = model.folded()
        self._gates = features.gates
        states = weight[:, :STATE_DIMS] * self._gates
        self._actions, self._states = weight[:, STATE_DIMS:].t(), states.t()
        self._bias = bias.detach() - states @ features.mean
        self._last = (last, last_bias.detach() + self._gates * features.mean)

    def squared_errors(self, rows: EncodedRows) -> torch.Tensor:
        """Return the mean over dimensions of (φ̂(s') − φ(s'))², float32 [n]."""
        with torch.no_grad():
            x = torch.addmm(self._bias, rows.states, self._states).addmm_(rows.actions, self._actions).relu_()
            x = functional.linear(x, *self._middle).relu_()
            errors = functional.linear(x, *self._last).addcmul_(rows.next_states, self._gates, value=-1)
            return torch.linalg.vector_norm(errors, dim=1).square_().div_(STATE_DIMS)


def _copies(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.clone() for name, value in tensors.items()}
