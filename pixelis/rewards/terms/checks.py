"""Checks of settings that are names of tools, or numbers, whoever has them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from pixelis.errors import ConfigError, shown


def check_names(setting: str, value: Any) -> tuple[str, ...]:
    """Return a list of names; one text is no list of its letters.

    Raises:
        ConfigError: it is none; the message begins with ``setting``.
    """
    listed = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    if not listed or not all(isinstance(name, str) for name in value):
        raise ConfigError(f"{setting}: expected a list of names, got {shown(value)}")
    return tuple(value)


def check_name_pairs(setting: str, value: Any) -> frozenset[tuple[str, str]]:
    """Return a list of pairs of names.

    Raises:
        ConfigError: it is none; the message begins with ``setting``.
    """
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        raise ConfigError(f"{setting}: expected a list of pairs of names, got {shown(value)}")
    pairs = [check_names(setting, pair) for pair in value]
    if any(len(pair) != 2 for pair in pairs):
        raise ConfigError(f"{setting}: expected pairs of names, got {shown(value)}")
    return frozenset((one, other) for one, other in pairs)


def check_name_mapping(setting: str, value: Any) -> dict[str, str]:
    """Return a mapping of name to name.

    Raises:
        ConfigError: it is none; the message begins with ``setting``.
    """
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in (*value, *value.values())):
        raise ConfigError(f"{setting}: expected a mapping of tool to tool, got {shown(value)}")
    return dict(value)


def check_finite(setting: str, value: Any) -> float:
    """Return a finite number as a float; text that looks like one, and true and false, are none.

    Raises:
        ConfigError: it is none; the message begins with ``setting``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(f"{setting}: expected a finite number, got {shown(value)}")
    return float(value)
