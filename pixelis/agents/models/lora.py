"""Low-rank adapters: which layers get one, and folding it into the weights while sampling."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pixelis.errors import ConfigError, suggest
from pixelis.rewards.text.quiet import quiet_libraries

ALL_LINEAR = "all-linear"

# Their fused kernels read this layer's weight and would pass its adapter by; PEFT refuses one there.
_FUSED = {name: "out_proj" for name in ("falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h")}
_NAMES = re.compile(r"\s*[\w.-]+\s*(,\s*[\w.-]+\s*)*")
REFERENCE = "reference"
"""Name of the frozen copy of a trained adapter, and of the subfolder it is saved in."""


@dataclass(frozen=True)
class LoraSettings:
    """Low-rank adapter (Hu et al., 2021, arXiv:2106.09685) to train instead of the weights.

    Attributes:
        rank: inner dimension, at least 1.
        alpha: the update is scaled by ``alpha / rank``.
        dropout: probability in [0, 1) applied to the adapter's input while the model is in train mode.
        include_vision: also adapt the vision tower and the projector, not only the language model.
        target_modules: which layers to adapt instead of every linear layer but the output head; names, or
            text as `chosen_linears` takes it.
    """

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    include_vision: bool = False
    target_modules: tuple[str, ...] | str | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.rank < 1 or self.alpha <= 0 or not 0 <= self.dropout < 1:
            raise ConfigError(f"LoRA needs rank >= 1, alpha > 0 and 0 <= dropout < 1, got {self}")


def add_lora(model: Any, settings: LoraSettings) -> Any:
    """Return the model inside a `peft.PeftModel` with a fresh adapter that changes nothing yet.

    Raises:
        ConfigError: there is no layer to adapt, or ``target_modules`` names one that is not there.
    """
    import peft

    targets = _targets(model, settings)
    if not targets:
        raise ConfigError(
            f"{type(model).__name__} has no torch.nn.Linear in its language part to put an adapter on;"
            " use another model, or name target_modules"
        )
    config = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=targets,
        # A task type means AutoPeftModelForCausalLM, which knows no model with vision; without one, the
        # adapter names its base's class and AutoPeftModel loads it.
        task_type=None if _sees(model) else "CAUSAL_LM",
    )
    with quiet_libraries():
        return peft.get_peft_model(model, config).eval()


def _targets(model: Any, settings: LoraSettings) -> list[str]:
    if isinstance(settings.target_modules, str):
        return chosen_linears(model, settings.target_modules)
    return list(settings.target_modules or language_linears(model, include_vision=settings.include_vision))


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


def settings_of_adapter(model: Any) -> LoraSettings:
    """Return the settings of the active adapter, its targets by name."""
    config = model.peft_config[model.active_adapter]
    targets = config.target_modules
    named = targets if isinstance(targets, str) else tuple(sorted(targets or ()))
    return LoraSettings(config.r, config.lora_alpha, config.lora_dropout, target_modules=named)


def set_dropout(model: Any, probability: float) -> None:
    """Let every adapter's input be dropped with this probability in train mode."""
    for config in model.peft_config.values():
        config.lora_dropout = probability
    for layer in _adapted(model):
        for name in layer.lora_dropout:
            layer.lora_dropout[name] = torch.nn.Dropout(probability) if probability else torch.nn.Identity()


def _sees(model: Any) -> bool:
    import transformers as hf

    return type(model.config) in hf.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING


def freeze_copy(model: Any) -> None:
    """Add a frozen copy of the active adapter under the name `REFERENCE`, in place of an older one."""
    import copy

    import peft

    active = model.active_adapter
    if REFERENCE in model.peft_config:
        model.delete_adapter(REFERENCE)
    weights = peft.get_peft_model_state_dict(model, adapter_name=active, save_embedding_layers=False)
    with quiet_libraries():
        model.add_adapter(REFERENCE, copy.deepcopy(model.peft_config[active]))
        peft.set_peft_model_state_dict(model, weights, adapter_name=REFERENCE)
    model.set_adapter(active)
    model.eval()


def load_copy(model: Any, folder: Path) -> None:
    """Load the frozen copy that saving wrote into a subfolder; nothing where there is none."""
    if (folder / REFERENCE / "adapter_config.json").is_file():
        with quiet_libraries():
            model.load_adapter(str(folder / REFERENCE), REFERENCE, is_trainable=False)
        model.eval()


def name_base(folder: Path, name: str) -> None:
    """Let the adapters that peft wrote into a folder name their base so, and drop peft's empty card.

    What is None is left out: each release of peft adds such fields, and an older one refuses those it lacks.
    """
    for each in (folder, folder / REFERENCE):
        config = each / "adapter_config.json"
        if config.is_file():
            values = {**json.loads(config.read_text(encoding="utf-8")), "base_model_name_or_path": name}
            given = {key: value for key, value in values.items() if value is not None}
            config.write_text(json.dumps(given, indent=2, sort_keys=True), encoding="utf-8")
            (each / "README.md").unlink(missing_ok=True)


@contextlib.contextmanager
def reference_active(model: Any) -> Iterator[None]:
    """Inside the block the frozen copy is the active adapter, or none is where there is no copy."""
    if REFERENCE not in model.peft_config:
        with model.disable_adapter():
            yield
        return
    active = model.active_adapter
    model.set_adapter(REFERENCE, inference_mode=True)
    try:
        yield
    finally:
        model.set_adapter(active)


@contextlib.contextmanager
def folded(model: Any, seed: int = 0) -> Iterator[None]:
    """Add the adapter into the weights inside the block; saves two small products a layer while sampling.

    The weights are put back as the very same tensors, so nothing drifts. In bfloat16 the sum is rounded up or
    down at random, so that its expectation is the sum: rounding to the nearest would lose every change that
    is small beside its weight, and the sampler would hardly move (Gupta et al. 2015, arXiv:1502.02551). What
    is left between sampler and trainer is logged as the mismatch. In float16 nothing is folded.

    Args:
        model: inside a `peft.PeftModel`, or without an adapter.
        seed: of the rounding.
    """
    layers = [layer for layer in _adapted(model) if _can_fold(layer)]
    kept = [(layer.get_base_layer().weight.data, layer.forward) for layer in layers]
    generator = torch.Generator(kept[0][0].device).manual_seed(seed) if kept else None
    try:
        for layer, (weight, _) in zip(layers, kept, strict=True):
            (adapter,) = layer.active_adapters
            with torch.no_grad():
                total = weight.float() + layer.get_delta_weight(adapter).float()
                layer.get_base_layer().weight.data = (
                    total if weight.dtype == torch.float32 else _rounded_at_random(total, generator)
                )
            layer.merged_adapters.append(adapter)
            layer.forward = layer.get_base_layer().forward
        for siblings in _attention_inputs(model, layers):
            read_together(siblings)
        yield
    finally:
        for layer, (weight, forward) in zip(layers, kept, strict=True):
            layer.get_base_layer().weight.data, layer.forward = weight, forward
            layer.merged_adapters.clear()


def _attention_inputs(model: Any, layers: list[Any]) -> list[list[Any]]:
    """Return the query, key and value layers of each attention that has all three among ``layers``."""
    chosen = set(map(id, layers))
    named = [
        [getattr(module, name, None) for name in ("q_proj", "k_proj", "v_proj")] for module in model.modules()
    ]
    return [parts for parts in named if all(id(part) in chosen for part in parts)]


def read_together(layers: list[Any]) -> None:
    """Let linear layers that are called one after the other with the same tensor be one product.

    The first makes what all of them say and the others hand it out; one that is called with another tensor
    computes by itself. On a CPU three small products cost half as much again as one of their size.
    """
    bases = [layer.get_base_layer() for layer in layers]
    if len({base.bias is None for base in bases}) > 1:
        return
    joined = torch.cat([base.weight.data for base in bases])
    bias = None if bases[0].bias is None else torch.cat([base.bias.data for base in bases])
    sizes = [len(base.weight) for base in bases]
    for base, part in zip(bases, joined.split(sizes), strict=True):
        base.weight.data = part  # a view: the weights are held once
    said: list[Any] = [None, ()]  # the last input, and what the layers say of it

    def first(x: torch.Tensor) -> torch.Tensor:
        said[:] = x, torch.nn.functional.linear(x, joined, bias).split(sizes, -1)
        return said[1][0]

    def later(index: int, x: torch.Tensor) -> torch.Tensor:
        return said[1][index] if x is said[0] else bases[index](x)

    layers[0].forward = first
    for index, layer in enumerate(layers[1:], 1):
        layer.forward = functools.partial(later, index)


def _rounded_at_random(values: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return bfloat16 of float32: up or down, the nearer the likelier, so that the mean is the value.

    A bfloat16 is a float32 without its lower 16 bits; adding a random number below 2**16 and cutting them off
    carries into the upper bits as often as the lower ones are large.
    """
    noise = torch.randint(
        0, 2**16, values.shape, dtype=torch.int32, device=values.device, generator=generator
    )
    return ((values.view(torch.int32) + noise) & -(2**16)).view(torch.float32).to(torch.bfloat16)


def streamline(model: Any) -> None:
    """Give adapted layers a forward of fewer passes over memory: ``W x + b`` and ``s B A x`` in two calls.

    The adapter computes in the precision of what comes in: with a base in half precision its float32 weights
    are rounded for the product only, and their gradients are float32 (mixed precision, Micikevicius et al.
    2017, arXiv:1710.03740). Layers that are not plain keep PEFT's own forward.
    """
    for layer in _adapted(model):
        layer.forward = functools.partial(_lean_forward, layer)


def _lean_forward(layer: Any, x: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    names = [name for name in layer.active_adapters if name in layer.lora_A]
    if args or options or layer.lora_variant or len(names) != 1 or _drops(layer, names[0]):
        return type(layer).forward(layer, x, *args, **options)
    base = layer.get_base_layer()(x)
    if layer.disable_adapters or layer.merged:
        return base
    down, up = (part[names[0]].weight.to(x.dtype) for part in (layer.lora_A, layer.lora_B))
    low = torch.nn.functional.linear(x, down) * layer.scaling[names[0]]
    return torch.addmm(base.flatten(0, -2), low.flatten(0, -2), up.t()).view(base.shape)


def _drops(layer: Any, name: str) -> bool:
    return layer.training and isinstance(layer.lora_dropout[name], torch.nn.Dropout)


def _adapted(model: Any) -> list[Any]:
    from peft.tuners.lora import Linear

    return [module for module in model.modules() if isinstance(module, Linear)]


def _can_fold(layer: Any) -> bool:
    foldable = layer.get_base_layer().weight.dtype in (torch.float32, torch.bfloat16)
    plain = foldable and not layer.lora_variant
    return plain and not layer.merged and not layer.disable_adapters and len(layer.active_adapters) == 1
