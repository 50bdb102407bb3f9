"""What a subclass puts in the place of its base's: a property for a property, a method for a method."""

from __future__ import annotations

import inspect

from pixelis.errors import ConfigError


def check_overrides(kind: type, base: type) -> None:
    """Refuse a class that defines a method where its base has a property, or the other way round.

    A method in the place of a property counts as true wherever it is read: every episode would be over.

    Raises:
        ConfigError: it does; the message names it.
    """
    for name, given in vars(kind).items():
        declared = inspect.getattr_static(base, name, None)
        if isinstance(declared, property) and inspect.isfunction(given):
            raise ConfigError(
                f"{kind.__name__}.{name} must be a property, got a method; put @property above it"
            )
        if inspect.isfunction(declared) and isinstance(given, property):
            raise ConfigError(f"{kind.__name__}.{name} must be a method, got a property; leave @property out")
