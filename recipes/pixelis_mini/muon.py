"""torch's Muon (Jordan et al. 2024) on processors without bfloat16, whose emulation took most of a step.

torch takes the products of its Newton-Schulz iteration in bfloat16 whatever the device. Elsewhere they are
taken in float32, some fifty times faster there and more exact; what is trained differs by that rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.optim._muon as torchs
from torch import Tensor

from pixelis.agents.models.weight_types import slowdown


def muon(parameters: Sequence[Tensor], **settings: object) -> torch.optim.Muon:
    """Return ``torch.optim.Muon`` of some matrices, with products in the type that is fast there."""
    if slowdown(torch.bfloat16, parameters[0].device) > 1:
        torchs._zeropower_via_newtonschulz = orthogonal
    return torch.optim.Muon(parameters, **settings)  # type: ignore[arg-type]


def orthogonal(grad: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Return about the nearest matrix with orthonormal rows or columns: singular values come near to one.

    Args:
        grad: ``[rows, columns]``, float32.
        coefficients: a, b and c of the polynomial a X + b (X Xᵀ) X + c (X Xᵀ)² X.
        steps: how often it is applied.
        eps: least norm that is divided by.
    """
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    matrix = grad.T if tall else grad
    matrix = matrix / matrix.norm().clamp(min=eps)
    for _ in range(steps):
        gram = matrix @ matrix.T
        matrix = a * matrix + (b * gram + c * gram @ gram) @ matrix
    return matrix.T if tall else matrix
