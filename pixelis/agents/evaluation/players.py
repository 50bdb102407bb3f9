"""Whoever can play, by name: scripted players, run folders, adapters, models, addresses, own functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pixelis.agents.endpoint.address import is_address
from pixelis.agents.models.named_models import NAMED_MODELS, note_untaught
from pixelis.agents.run_files.trained_settings import is_run_folder
from pixelis.agents.settings.endpoint import EndpointSettings
from pixelis.errors import CheckpointError, ConfigError, suggest
from pixelis.user_code import load_function

if TYPE_CHECKING:
    from pixelis.agents.endpoint.agent import EndpointAgent
    from pixelis.agents.episodes.function_agent import FunctionAgent
    from pixelis.agents.episodes.task_env import TaskEnv
    from pixelis.agents.models.policy import Policy
    from pixelis.agents.sb3.agent import Sb3Agent

Player: TypeAlias = "Policy | Sb3Agent | EndpointAgent | FunctionAgent | str"
"""Who plays; a text is the name of a scripted player of the env."""


@dataclass(frozen=True)
class Loading:
    """How a model is loaded, see `pixelis.agents.models.policy.Policy.load`, or asked at an address."""

    device: str = "auto"
    dtype: str = "float32"
    quantization: str = "none"
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)


def find_player(name: str, env: TaskEnv, loading: Loading) -> Player:
    """Return who plays by that name: loaded, ready to be asked, or the name of a scripted player.

    Raises:
        ConfigError: the name is neither a player of the env nor anything that could be a model.
        ModelLoadError, CheckpointError: it cannot be loaded.
    """
    if name in env.players:
        return name
    if is_address(name):
        from pixelis.agents.endpoint.agent import EndpointAgent  # needs openai

        return EndpointAgent(name, loading.endpoint)
    if ":" in name and not Path(name).exists():
        from pixelis.agents.episodes.function_agent import FunctionAgent

        return FunctionAgent(load_function(name, "agent"), name)
    from pixelis.agents.models.policy import Policy
    from pixelis.agents.run_files.saved_run import settings_of

    if is_run_folder(name):
        if "agent" in settings_of(name):
            from pixelis.agents.sb3.run import load_agent

            return load_agent(name, env)
    elif name not in NAMED_MODELS and not Path(name).exists():
        _check_possible(name, env)
    note_untaught(name, env.id, env.difficulty)
    return Policy.load(name, device=loading.device, dtype=loading.dtype, quantization=loading.quantization)


def _check_possible(name: str, env: TaskEnv) -> None:
    """Refuse what is no folder and cannot be a hub id either."""
    parent = Path(name).parent
    runs = sorted(filter(is_run_folder, map(str, parent.iterdir()))) if parent.is_dir() else []
    if "/" not in name:
        known = [*env.players, *NAMED_MODELS, *runs]
        raise ConfigError(
            f"unknown agent {name!r}: no player of {env.id}, no folder, no hub id.{suggest(name, known)}"
        )
    if runs:  # where runs are, a run is meant and no model of a hub
        raise CheckpointError(f"there is no run at {name!r}.{suggest(name, runs)}")
