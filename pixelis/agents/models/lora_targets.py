"""Which layers of a model get an adapter."""

from __future__ import annotations

import re
from typing import Any

import torch

from pixelis.errors import ConfigError, suggest

ALL_LINEAR = "all-linear"

# Their fused kernels read this layer's weight and would pass its adapter by; PEFT refuses one there.
_FUSED = {name: "out_proj" for name in ("falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h")}
_NAMES = re.compile(r"\s*[\w.-]+\s*(,\s*[\w.-]+\s*)*")


def language_linears(model: Any, *, include_vision: bool = False) -> list[str]:
    """Return the names of the linear layers of a model's language part, the output head left out.

    ``include_vision`` adds the rest of the model. Short names (``q_proj``) where they name no layer outside
    the language part, else full ones.
    """
    named = _linears(model)
    inside = set(map(id, (model if include_vision else model.get_decoder()).modules()))
    wanted = [name for name, module in named.items() if id(module) in inside]
    leaves = {name.rsplit(".", 1)[-1] for name in wanted}
    outside = {name.rsplit(".", 1)[-1] for name in [*named, *_head_names(model)] if name not in wanted}
    return wanted if leaves & outside else sorted(leaves)


def chosen_linears(model: Any, targets: str) -> list[str]:
    """Return the full names of the linear layers that a text chooses.

    Args:
        model: a transformers model without an adapter.
        targets: ``all-linear`` for every linear layer of the whole model, its vision part included; names
            separated by commas, each of which chooses the layers that are called so or end in ``.name``; or a
            regular expression that a layer's whole name must match.

    Raises:
        ConfigError: a name or the expression chooses no linear layer, or the expression is none. The output
            head cannot be chosen: its weight is often that of the embedding.
    """
    named = list(_linears(model))
    if targets == ALL_LINEAR:
        return named
    if _NAMES.fullmatch(targets):
        wanted = [part.strip() for part in targets.split(",")]
        chosen = {name: [each for each in named if f".{each}".endswith(f".{name}")] for name in wanted}
    else:
        try:
            pattern = re.compile(targets)
        except re.error as error:
            raise ConfigError(
                f"lora_targets {targets[:200]!r} is no list of names and no regular expression: {error}"
            ) from error
        chosen = {targets: [each for each in named if pattern.fullmatch(each)]}
    for name, found in chosen.items():
        if not found:
            leaves = sorted({each.rsplit(".", 1)[-1] for each in named})
            raise ConfigError(
                f"lora_targets: {name[:200]!r} chooses no linear layer of {type(model).__name__} (the output "
                f"head cannot be chosen).{suggest(name, leaves)}"
            )
    wanted = {each for found in chosen.values() for each in found}
    return [each for each in named if each in wanted]


def _linears(model: Any) -> dict[str, torch.nn.Linear]:
    """Return the linear layers that can have an adapter, by name; the output head is not among them."""
    head, fused = model.get_output_embeddings(), _FUSED.get(model.config.model_type)
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head and name.rsplit(".", 1)[-1] != fused
    }


def _head_names(model: Any) -> list[str]:
    head = model.get_output_embeddings()
    return [
        name
        for name, module in model.named_modules()
        if module is head and isinstance(module, torch.nn.Linear)
    ]
