"""What a model was trained in: the settings of its run, or those that an exported folder brings along."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.errors import CheckpointError, ConfigError

EXPORTED = "pixelis.yaml"
"""File of an exported folder that says what the model was trained in."""
PLAYED = ("env", "env_kwargs", "difficulty", "max_new_tokens", "temperature", "top_p", "env_timeout_seconds")
"""Settings of a run that decide what and how its policy plays."""
_DEPTH = 3  # folders between a checkpoint's adapter and its run


def is_run_folder(name: str | Path) -> bool:
    """Return whether a folder is or was a run's: one without settings is found, and told.

    Raises:
        ConfigError: nothing can be named so, or one may not look there.
    """
    try:
        return (Path(name) / "config.yaml").is_file() or (Path(name) / "checkpoints").is_dir()
    except OSError as error:
        raise ConfigError(
            f"cannot look for a run at {str(name)!r}: {error.strerror}; name a run folder, model or player"
        ) from error


def trained_settings(name: str | Path) -> dict[str, Any] | None:
    """Return the settings that a model was trained with, None for one that does not say.

    Args:
        name: a run folder, a checkpoint or an adapter inside one, an exported folder, or anything else.

    Raises:
        ConfigError: nothing can be named so, or one may not look there.
        CheckpointError: the folder is that of a run and its settings are missing or damaged.
    """
    path = Path(name)
    if is_run_folder(path):
        return RunFolder.open(path)[1]
    if not path.is_dir():
        return None
    if (path / EXPORTED).is_file():
        return _read(path / EXPORTED)
    for folder in list(path.resolve().parents)[:_DEPTH]:
        if (folder / "config.yaml").is_file() and (folder / "checkpoints").is_dir():
            return RunFolder.open(folder)[1]
    return None


def played_settings(settings: Mapping[str, Any]) -> str:
    """Return the YAML of `EXPORTED`."""
    values = {name: settings[name] for name in PLAYED if name in settings}
    return yaml.safe_dump(values, sort_keys=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise CheckpointError(f"{str(path)!r} is damaged: {str(error).splitlines()[0]}") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{str(path)!r} is damaged: expected a mapping of settings")
    return values
