"""Less memory for more time: the activations of a layer are forgotten and computed again for the gradient.

Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv 1604.06174). transformers' own switch
acts in train mode only, where dropout is on, and would drop the cache of a rollout; here the same layers are
wrapped, and only where a gradient is asked for.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from pixelis.errors import ConfigError


def checkpoint_layers(base: Any) -> int:
    """Let the layers of a model's language part keep their inputs only; return how many there are.

    The gradient is that without, as each layer computes the same twice, with the same random numbers and by
    the same attention function.

    Args:
        base: the transformers model, without a PEFT wrapper around it.

    Raises:
        ConfigError: the architecture does not support it.
    """
    layers = [each for each in base.get_decoder().modules() if isinstance(each, GradientCheckpointingLayer)]
    if not layers or not base.supports_gradient_checkpointing:
        raise ConfigError(
            f"gradient_checkpointing needs layers that transformers can compute again, {type(base).__name__} "
            "has none; set gradient_checkpointing: false, and a smaller micro_batch_size to save memory"
        )
    config = base.config.get_text_config(decoder=True)
    for layer in layers:
        layer.forward = functools.partial(_checkpointed, layer.forward, config)
    return len(layers)


def _checkpointed(forward: Callable[..., Any], config: Any, *inputs: Any, **options: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*inputs, **options)
    attention = config._attn_implementation  # another one once the forward of the model is over

    def contexts() -> tuple[contextlib.AbstractContextManager[None], contextlib.AbstractContextManager[None]]:
        return contextlib.nullcontext(), _attending(config, attention)

    return checkpoint(forward, *inputs, use_reentrant=False, context_fn=contexts, **options)


@contextlib.contextmanager
def _attending(config: Any, implementation: str) -> Iterator[None]:
    before = config._attn_implementation
    config._attn_implementation = implementation
    try:
        yield
    finally:
        config._attn_implementation = before
