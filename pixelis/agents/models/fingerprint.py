"""Whether two models have the same frozen weights, without reading all of them."""

from __future__ import annotations

import hashlib

import torch

_SAMPLES = 32


def frozen_fingerprint(model: torch.nn.Module) -> str:
    """Return the SHA-256 of the names and shapes of the frozen parameters and of 32 values of each.

    The values are spread evenly over each parameter. Two models whose weights differ in less than that have
    the same fingerprint; a model that was trained on, or begun from another seed, has another.

    Args:
        model: its trainable parameters (an adapter's) are left out.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        if parameter.requires_grad:
            continue
        flat = parameter.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLES)][:_SAMPLES]
        digest.update(f"{name} {tuple(parameter.shape)}\n".encode())
        digest.update(sample.to("cpu", torch.float64).numpy().tobytes())
    return digest.hexdigest()
