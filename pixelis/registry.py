"""Functions chosen by name: the one mechanism behind every choice that makes up a loss.

A choice is a `Registry`; the function is registered where it is defined::

    @SURROGATES.register("my_loss")
    def my_loss(given, constants): ...

and picked by its name, or as ``module:my_loss``, which imports ``module`` first. See
``docs/guide/new_loss.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pixelis.errors import ConfigError, import_hint, shown, suggest
from pixelis.user_code import guarded

F = TypeVar("F", bound=Callable[..., Any])


class Registry(dict[str, F]):
    """Name → function.

    Args:
        choice: what the functions are, for error messages.
    """

    def __init__(self, choice: str) -> None:
        super().__init__()
        self.choice = choice
        self._by: dict[str, str] = {}  # name → the module that registered it

    def register(self, name: str) -> Callable[[F], F]:
        """Return a decorator that puts a function under ``name``.

        What a function that is not ours raises when it is called is a ``UserCodeError`` with its line.

        Raises:
            ConfigError: the name holds a colon, or another function has it (the same one, from a module that
                was reloaded, may take its own place).
        """
        if ":" in name:
            raise ConfigError(f"the name of a registered {self.choice} cannot hold a colon, got {name!r}")

        def put(function: F) -> F:
            """Keep the function and hand it back unchanged."""
            known = self.get(name)
            if known is not None and _origin(known) != _origin(function):
                raise ConfigError(
                    f"a {self.choice} named {name!r} exists already ({_origin(known)}); choose another name"
                )
            self._by[name] = sys._getframe(1).f_globals.get("__name__", "")
            self[name] = guarded(f"{self.choice} {name!r}", function)
            return function

        return put

    def find(self, name: str) -> F:
        """Return the function registered as ``name``; for ``module:name`` import the module first.

        Raises:
            ConfigError: there is none, the module cannot be imported, or another package has that name.
        """
        module, _, own = name.rpartition(":")
        here = own in self and self._by.get(own) == "__main__" and _is_main(module)
        if module and not here:
            try:
                import_module(module)
            except Exception as error:  # a stranger's module may fail in any way
                raise ConfigError(
                    f"{self.choice} {shown(name)}: cannot import module {shown(module)} "
                    f"{import_hint(module, error)}"
                ) from error
        if own not in self:
            raise ConfigError(f"no {self.choice} is registered as {own!r}.{suggest(own, self)}")
        origin = self._by.get(own, self[own].__module__)
        if module and not here and origin.partition(".")[0] != module.partition(".")[0]:
            raise ConfigError(
                f"{self.choice} {shown(name)}: {module} registers none of that name, which is {origin}'s; "
                "choose another name"
            )
        return self[own]


def _is_main(module: str) -> bool:
    """Whether a module is the program that runs, which imported again would register everything again."""
    main = sys.modules.get("__main__")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return module == (spec.name if spec else Path(file).stem if file else "")


def _origin(function: Callable[..., Any]) -> str:
    """Return where a function was defined."""
    return f"{function.__module__}.{getattr(function, '__qualname__', repr(function))}"
