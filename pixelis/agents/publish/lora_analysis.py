"""What an adapter has learnt, layer by layer: size, effective rank and stable rank of its update.

The update of a layer is ΔW = s B A with A [r, in], B [out, r] and s = alpha / r. It has at most r singular
values, and they are those of an r×r core: with B = Q_B R_B and Aᵀ = Q_A R_A, ΔW = Q_B (s R_B R_Aᵀ) Q_Aᵀ, so
ΔW itself is never made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pixelis.agents.models.policy import Policy
from pixelis.errors import ConfigError


@dataclass(frozen=True)
class LayerUpdate:
    """The update of one layer, as its factors.

    Attributes:
        name: the layer's module name in the base model.
        a: float [r, in].
        b: float [out, r].
        scale: alpha / r, or what the adapter's kind uses instead.
        weight_norm: Frobenius norm of the base weight, > 0.
    """

    name: str
    a: torch.Tensor
    b: torch.Tensor
    scale: float
    weight_norm: float


@dataclass(frozen=True)
class LayerReport:
    """What is told of one layer.

    Attributes:
        name: the layer's module name in the base model.
        rank: r of the adapter.
        norm: Frobenius norm ‖ΔW‖.
        relative_norm: ‖ΔW‖ / ‖W‖.
        effective_rank: see `effective_rank`, in [1, r]; 0 for an update of zero.
        stable_rank: see `stable_rank`, in [1, r]; 0 for an update of zero.
        cosine: cosine of the angle to the same layer's update in the first adapter, in [-1, 1]; None where
            there is none or one of the two is zero.
    """

    name: str
    rank: int
    norm: float
    relative_norm: float
    effective_rank: float
    stable_rank: float
    cosine: float | None = None


def singular_values(a: torch.Tensor, b: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the singular values of ``scale * b @ a``, float64 [min(r, in, out)], largest first.

    Args:
        a: [r, in].
        b: [out, r].
        scale: a factor.
    """
    _, left = torch.linalg.qr(b.double())
    _, right = torch.linalg.qr(a.double().T)
    return torch.linalg.svdvals(scale * left @ right.T)


def effective_rank(values: torch.Tensor) -> float:
    """Return exp(H(p)) with p_i = σ_i / Σ σ and H the entropy in nats (Roy and Vetterli 2007, EUSIPCO).

    It is k for k equal singular values and 1 for a single one; 0 where all are zero.

    Args:
        values: singular values, [n], >= 0.
    """
    total = float(values.sum())
    if total == 0:
        return 0.0
    shares = values / total
    shares = shares[shares > 0]
    return math.exp(float(-(shares * shares.log()).sum()))


def stable_rank(values: torch.Tensor) -> float:
    """Return ‖ΔW‖_F² / ‖ΔW‖₂² = Σ σ² / max σ² (Rudelson and Vershynin 2007, arXiv math/0503442), or 0."""
    largest = float(values.max())
    return float((values / largest).square().sum()) if largest else 0.0


def inner_product(one: LayerUpdate, two: LayerUpdate) -> float:
    """Return ⟨ΔW₁, ΔW₂⟩ = s₁ s₂ tr((B₁ᵀ B₂)(A₂ A₁ᵀ)), through r×r matrices."""
    left = one.b.double().T @ two.b.double()
    right = two.a.double() @ one.a.double().T
    return one.scale * two.scale * float((left * right.T).sum())


def report_layer(update: LayerUpdate, against: LayerUpdate | None = None) -> LayerReport:
    """Return what is told of one layer.

    Args:
        update: the layer's update.
        against: the same layer's update in another adapter, for the cosine.
    """
    values = singular_values(update.a, update.b, update.scale)
    norm = float(values.square().sum().sqrt())
    cosine = None
    if against is not None:
        lengths = norm * math.sqrt(max(0.0, inner_product(against, against)))
        cosine = max(-1.0, min(1.0, inner_product(update, against) / lengths)) if lengths else None
    return LayerReport(
        update.name,
        len(update.a),
        norm,
        norm / update.weight_norm,
        effective_rank(values),
        stable_rank(values),
        cosine,
    )


def compare(adapters: Mapping[str, Sequence[LayerUpdate]]) -> dict[str, list[LayerReport]]:
    """Return the reports of adapters, name → one for each layer; cosines are to the first adapter.

    Args:
        adapters: name → updates, at least one adapter.
    """
    first = {update.name: update for update in next(iter(adapters.values()))}
    return {
        name: [report_layer(update, first.get(update.name) if index else None) for update in updates]
        for index, (name, updates) in enumerate(adapters.items())
    }


def layer_updates(policy: Policy) -> list[LayerUpdate]:
    """Return the updates of a policy's adapter, in the order of the model's layers.

    Raises:
        ConfigError: it has no adapter, or none on a linear layer.
    """
    from peft.tuners.lora import Linear

    updates = [
        _update(name, module) for name, module in policy.base.named_modules() if isinstance(module, Linear)
    ]
    if not updates:
        raise ConfigError("there is no LoRA adapter on a linear layer; give an adapter folder or a run")
    return updates


def _update(name: str, layer: Any) -> LayerUpdate:
    (adapter,) = layer.active_adapters
    weight = layer.get_base_layer().weight.detach()
    return LayerUpdate(
        name,
        layer.lora_A[adapter].weight.detach().cpu(),
        layer.lora_B[adapter].weight.detach().cpu(),
        float(layer.scaling[adapter]),
        float(torch.linalg.vector_norm(weight.double())),
    )
