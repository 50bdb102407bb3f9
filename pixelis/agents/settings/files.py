"""Reading YAML files of settings: found by path or by name, each on top of the one that it extends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.settings.plain import merged
from pixelis.errors import ConfigError, suggest

SHIPPED = Path(__file__).parents[2] / "configs"
"""The configurations that come with the package."""
EXTENDS = "extends"


class _Loader(yaml.SafeLoader):
    """YAML as people write it: ``1e-4`` is a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789")
)


def loaded(text: str) -> Any:
    """Return what a text means as YAML.

    Raises:
        yaml.YAMLError: nothing.
    """
    try:
        return yaml.load(text, _Loader)
    except (ValueError, RecursionError) as error:  # what looks like a date and is none, a thousand brackets
        raise yaml.YAMLError(str(error)) from error


def read_yaml(path: str | Path, named_by: str, holds: str = "settings") -> Any:
    """Return what a YAML file holds.

    Args:
        path: of the file.
        named_by: the flag or setting that names it, for the message.
        holds: what should be in it, for the message.

    Raises:
        ConfigError: there is no such file, or it is not YAML.
    """
    try:
        return loaded(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(
            f"{named_by} must name a YAML file of {holds}, there is none at {str(path)!r}"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{named_by}: {str(path)!r} is not YAML: {' '.join(str(error).split())}") from error


def shipped_names() -> list[str]:
    """Return the names of the configurations that come with the package, such as ``zoom_read``."""
    return sorted(str(path.relative_to(SHIPPED).with_suffix("")) for path in SHIPPED.rglob("*.yaml"))


def settings_file(name: str, named_by: str) -> Path:
    """Return the file of settings of this path, else the configuration of this name.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    if name in shipped_names():
        return SHIPPED / f"{name}.yaml"
    known = suggest(name.removesuffix(".yaml").removeprefix("configs/"), shipped_names())
    raise ConfigError(
        f"{named_by} must name a YAML file of settings, there is none at {name!r}, nor a configuration of "
        f"that name.{known}"
    )


def read_settings_file(name: str, named_by: str) -> dict[str, Any]:
    """Return the settings of a YAML file and of those that it ``extends``, unchecked.

    What the file says wins over what it extends, setting by setting (`merged`).

    Args:
        name: path of the file, or name of a configuration that comes with the package.
        named_by: the flag or setting that names it, for the message.

    Raises:
        ConfigError: there is no such file, it is not YAML, does not hold lines of names and values, or
            extends itself.
    """
    return _read(settings_file(name, named_by), named_by, ())


def _read(path: Path, named_by: str, above: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in above:
        circle = " -> ".join(each.name for each in (*above, path.resolve()))
        raise ConfigError(f"{named_by}: files of settings extend each other in a circle: {circle}")
    values = read_yaml(path, named_by)
    if not isinstance(values, dict):
        raise ConfigError(f"{named_by}: {str(path)!r} must hold settings as 'name: value' lines")
    base = values.pop(EXTENDS, None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise ConfigError(f"{named_by}: extends in {str(path)!r} must name one YAML file, got {base!r}")
    named = f"extends in {str(path)!r}"
    beside = path.parent / base
    other = beside if beside.is_file() else settings_file(base, named)
    return merged(_read(other, named, (*above, path.resolve())), values)
