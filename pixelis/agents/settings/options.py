"""Fields of a configuration that carry their own help text, group and allowed values.

One row in a dataclass is then the flag, the YAML key, the help line and the check. A field typed
``Literal["a", "b"] | str`` is a choice that others can extend: it takes ``a``, ``b`` and ``module:name``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pixelis.errors import ConfigError, suggest


@dataclass(frozen=True)
class Option:
    """What is known about one field.

    Attributes:
        group: heading under which ``--help`` shows it.
        help: one line for people, units included.
        bounds: interval of allowed numbers such as ``(0, 1]`` or ``[1, inf)``; empty for any.
        identity: whether it decides the numbers of a run; a run can only be resumed with the same values.
    """

    group: str
    help: str
    bounds: str = ""
    identity: bool = True


def option(group: str, default: Any, help: str, bounds: str = "", *, identity: bool = True) -> Any:
    """Return a dataclass field that carries an `Option`; the default ``dict`` means a new one each time."""
    metadata = {"option": Option(group, help, bounds, identity)}
    if default is dict:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def option_of(item: Field[Any]) -> Option:
    """Return the `Option` of a field that `option` made."""
    return item.metadata["option"]


def default_of(item: Field[Any]) -> Any:
    """Return a field's default value."""
    return item.default if item.default is not MISSING else item.default_factory()  # type: ignore[misc]


def rows(settings: type[Any]) -> list[Field[Any]]:
    """Return the fields of a dataclass of options in the order in which people see them.

    That of its groups in the class attribute ``headings``, where it has one, and within a group that of the
    fields. What a base class adds to a group thus stands in that group.
    """
    headings: tuple[str, ...] = getattr(settings, "headings", ())
    places = {group: place for place, group in enumerate(headings)}
    return sorted(fields(settings), key=lambda item: places.get(option_of(item).group, len(places)))


def check_options(config: Any) -> None:
    """Check every field of a dataclass made of options against its type, choices and bounds.

    Raises:
        ConfigError: naming the field, what was expected and what came.
    """
    hints = get_type_hints(type(config))
    for item in fields(config):
        check_value(item.name, getattr(config, item.name), hints[item.name], option_of(item).bounds)


def check_value(name: str, value: Any, hint: Any, bounds: str) -> None:
    """Check one value.

    Args:
        name: what to call it in the message.
        value: what came.
        hint: the type it should have.
        bounds: the interval it should lie in, if it is a number.

    Raises:
        ConfigError: it has another type or lies elsewhere.
    """
    if not _has_type(value, hint):
        guess = suggest(str(value), choices_of(hint)) if choices_of(hint) else ""
        raise ConfigError(f"{name} must be {_expectation(hint, bounds)}, got {value!r}.{guess}".rstrip("."))
    if _is_number(value) and not within(value, bounds):
        raise ConfigError(f"{name} must be {_expectation(hint, bounds)}, got {value!r}")


def within(value: float, bounds: str) -> bool:
    """Return whether a number lies in an interval written as ``[low, high)``; NaN and infinity never do."""
    if not math.isfinite(value):
        return False
    if not bounds:
        return True
    low, high = (float(end) for end in bounds[1:-1].split(","))
    above = value >= low if bounds[0] == "[" else value > low
    return above and (value <= high if bounds[-1] == "]" else value < high)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the hint alone."""
    return get_args(hint) if get_origin(hint) not in (None, Literal, dict) else (hint,)


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the words a field may hold, empty when it is not a choice."""
    return tuple(
        name for each in _alternatives(hint) if get_origin(each) is Literal for name in get_args(each)
    )


def is_open(hint: Any) -> bool:
    """Return whether a choice also takes the ``module:name`` of what another module registers."""
    return bool(choices_of(hint)) and str in _alternatives(hint)


def _has_type(value: Any, hint: Any) -> bool:
    if is_open(hint) and isinstance(value, str):
        return value in choices_of(hint) or all(value.rpartition(":"))
    return any(_is_one(value, each) for each in _alternatives(hint))


def _is_one(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is dict:
        return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    if kind is float:
        return _is_number(value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


_NAMES = {int: "an integer", float: "a number", str: "text", bool: "true or false", NoneType: "none"}


def _expectation(hint: Any, bounds: str) -> str:
    names = []
    for each in _alternatives(hint):
        if each is str and is_open(hint):
            names.append("module:name")
        elif get_origin(each) is Literal:
            names.append("one of " + ", ".join(get_args(each)))
        else:
            names.append(_NAMES.get(each, "a mapping"))
    names[0] += f" in {bounds}" if bounds else ""
    return " or ".join(names)
