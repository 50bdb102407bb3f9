"""Reading a YAML file that a person names, with errors that fit on one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pixelis.errors import ConfigError


def read_yaml(path: str, named_by: str, holds: str = "settings") -> Any:
    """Return what a YAML file holds.

    Args:
        path: of the file.
        named_by: the flag or setting that names it, for the message.
        holds: what should be in it, for the message.

    Raises:
        ConfigError: there is no such file, or it is not YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(f"{named_by} must name a YAML file of {holds}, there is none at {path!r}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{named_by}: {path!r} is not YAML: {' '.join(str(error).split())}") from error


def read_settings_file(path: str, named_by: str) -> dict[str, Any]:
    """Return the settings that a YAML file holds, unchecked; see `read_yaml`.

    Raises:
        ConfigError: likewise, or they are not lines of names and values.
    """
    values = read_yaml(path, named_by)
    if not isinstance(values, dict):
        raise ConfigError(f"{named_by}: {path!r} must hold settings as 'name: value' lines")
    return values
