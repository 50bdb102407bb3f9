"""The policy of a run: loaded as its settings say, and the settings that the loaded model decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pixelis.agents.models.gradient_checkpointing import checkpoint_layers
from pixelis.agents.models.lora import set_dropout, settings_of_adapter
from pixelis.agents.models.named_models import CHOOSE
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.models.weight_types import type_name
from pixelis.agents.runs.learning_rate import rate_of
from pixelis.agents.settings.run_settings import AUTO, AnyRunSettings, Lora, RunSettings
from pixelis.errors import ConfigError

C = TypeVar("C", bound=AnyRunSettings)


def load_policy(config: RunSettings, trained: Path | None = None, *, quantization: str = "none") -> Policy:
    """Return a run's model with what is trained of it: a LoRA adapter, or all weights.

    Args:
        config: which model, where, and what is trained.
        trained: folder of the adapter or the weights that a checkpoint holds; None for a new run.
        quantization: see `Policy.load`.

    Raises:
        ModelLoadError: it cannot be loaded.
        ConfigError: the settings ask for another adapter than the model comes with.
    """
    asked = config.adapter
    lora = LoraSettings(asked.rank, asked.alpha, asked.dropout, target_modules=asked.targets)
    full = config.train == "full"
    policy = Policy.load(
        trained or config.model,
        device=config.device,
        dtype=config.dtype,
        lora=lora,
        quantization=quantization,
        full=full,
    )
    if config.system_prompt is not None:
        policy.chat.system_prompt = config.system_prompt
    if policy.has_adapter and policy.came_with_adapter:
        set_dropout(policy.model, asked.dropout)
    if config.gradient_checkpointing:
        checkpoint_layers(policy.base)
    return policy


def settled(config: RunSettings, policy: Policy) -> Any:
    """Return the settings of a new run with what model and device decide: rate, prompt, adapter, type.

    An adapter that the model comes with is trained on as it is, so its size takes the place of the default.

    Raises:
        ConfigError: another size, or other layers, were asked for.
    """
    values: dict[str, Any] = {
        "lr": AUTO if config.lr == AUTO else rate_of(config, policy),
        "system_prompt": policy.chat.system_prompt or None,
    }
    if config.dtype == AUTO:
        values["dtype"] = type_name(policy.base.dtype)
    if policy.has_adapter and policy.came_with_adapter:
        found = settings_of_adapter(policy.model)
        has, asked, usual = {"rank": found.rank, "alpha": found.alpha}, config.adapter, Lora()
        for name, value in has.items():
            given = getattr(asked, name)
            if given not in (getattr(usual, name), value):
                raise _other_adapter(config, f"lora.{name} {value}", f"lora.{name} {given}")
        if asked.targets is not None:
            raise _other_adapter(config, "layers of its own", f"lora.targets {asked.targets!r}")
        values["lora"] = has
    return config.with_values(**values)


def as_chosen(config: C, saved: Any) -> C:
    """Return the settings with what a run chose by itself, where they leave the choice to it again.

    Args:
        config: what is asked for now.
        saved: the `identity` in the run's checkpoint.
    """
    open_choices = {
        "model": CHOOSE,
        "dtype": AUTO,
        "lr": None,
        "system_prompt": None,
    }
    known = saved if isinstance(saved, dict) else {}
    taken = {
        name: known[name]
        for name, unset in open_choices.items()
        if name in known and (name not in config.model_fields_set or getattr(config, name, ...) == unset)
    }
    return config.with_values(**taken) if taken else config


def _other_adapter(config: RunSettings, has: str, asked: str) -> ConfigError:
    return ConfigError(
        f"the model {config.model!r} is an adapter with {has}, which is trained on as it is, and {asked} was "
        "asked for. Leave it out, or merge the adapter first (scripts/export_model.py) and train a new one"
    )
