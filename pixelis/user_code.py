"""Code that is not ours: functions by name, and what went wrong in them, in a sentence with its line."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pixelis.errors import ConfigError, PixelisError, UserCodeError, import_hint, shown, suggest

_LONGEST = 300  # characters of an exception's message that are told
GIVEN = "given"
"""In the place of a module: the function was handed over in Python and cannot be imported."""
_GIVEN: dict[str, Any] = {}
_OURS = str(Path(__file__).parent)
_PATHS = sysconfig.get_paths()
_INSTALLED = tuple(_PATHS[name] for name in ("purelib", "platlib"))
_LIBRARY = tuple(_PATHS[name] for name in ("stdlib", "platstdlib"))


RAISED = (Exception, SystemExit)
"""What a stranger's code may raise: ``sys.exit`` in it is a mistake like any other, and no end of ours."""


def described(error: BaseException) -> str:
    """Return an exception's class and message in one line, cut when long."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # even the words of a stranger's exception are a stranger's code
        text = ""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace_of(error: BaseException) -> str:
    """Return an exception's traceback as text."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def place_of(error: BaseException) -> str | None:
    """Return where the user's code raised, as ``file:line``.

    That is the innermost line outside Pixelis, the standard library and what is installed; else outside
    Pixelis and the standard library (an installed plugin's); else the innermost one. None without any.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.lineno is not None]
    for outside in ((_OURS, *_LIBRARY, *_INSTALLED), (_OURS, *_without_installed()), ()):
        for frame in reversed(frames):
            if not _is_below(frame.filename, outside):
                return _shown(frame.filename, frame.lineno or 0)
    return None


def place_of_function(function: Callable[..., Any]) -> str | None:
    """Return where a function begins, as ``file:line``; None for one that has no Python source."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return _shown(code.co_filename, code.co_firstlineno) if code is not None else None


def load(path: str) -> Any:
    """Return what ``module:name`` names.

    Raises:
        ConfigError: it has not that form, or the module or the name does not exist.
    """
    if path in _GIVEN:
        return _GIVEN[path]
    module, _, name = path.partition(":")
    if module == GIVEN:
        raise ConfigError(
            f"the function {name} was given in Python and is not kept in the settings; give it again "
            "(pixelis.agents.train(resume=…, reward=…)), or name an importable one as module:name"
        )
    if not module or not name:
        raise ConfigError(f"expected module:name, got {shown(path)}; for example my_package.rewards:Brevity")
    try:
        found = importlib.import_module(module)
    except RAISED as error:  # a stranger's module may fail in any way
        raise ConfigError(f"{shown(path)} cannot be imported {import_hint(module, error)}") from error
    if not hasattr(found, name):
        hint = suggest(name, vars(found))
        raise ConfigError(f"{shown(path)} cannot be imported: {module:.60} has no {shown(name, 60)}.{hint}")
    return getattr(found, name)


def load_function(function: Any, what: str) -> Callable[..., Any]:
    """Return a function that was given as such, or as ``module:name``.

    Raises:
        ConfigError: it is neither; ``what`` names it in the message.
    """
    try:
        found = load(function) if isinstance(function, str) else function
    except ConfigError as error:
        raise ConfigError(f"{what}: {error}") from error.__cause__
    if not callable(found):
        raise ConfigError(f"{what} must be a function or its module:name, got {shown(function, 60)}")
    return found


def name_of_function(function: Callable[..., Any]) -> str:
    """Return what settings call a function: ``module:name``, or ``given:`` and its place.

    Under the second kind of name, which other processes do not know, `load` finds it in this one.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
    if module not in (None, "__main__") and getattr(sys.modules.get(module), name, None) is function:
        return f"{module}:{name}"
    known_as = f"{GIVEN}:{place_of_function(function) or type(function).__name__}"
    give(known_as, function)
    return known_as


def give(name: str, function: Callable[..., Any]) -> None:
    """Let `load` find a function in this process under a name that begins with ``given:``."""
    _GIVEN[name] = function


@contextlib.contextmanager
def user_code(what: str) -> Iterator[None]:
    """Turn what a stranger's function raises into one error with its line; our own errors pass.

    Args:
        what: the function, for the message.

    Raises:
        UserCodeError: something was raised in the block.
    """
    try:
        yield
    except PixelisError:
        raise
    except RAISED as error:
        raise failed_code(what, error) from error


def failed_code(what: str, error: BaseException) -> UserCodeError:
    """Return the error that tells of an exception of a stranger's code."""
    return UserCodeError(f"{what} raised {with_place(described(error), place_of(error))}", trace_of(error))


def guarded(what: str, function: Any) -> Any:
    """Return a function under `user_code`; our own functions as they are."""
    module = getattr(function, "__module__", None) or ""
    if not inspect.isfunction(function) or module.partition(".")[0] == "pixelis":
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Call it; what it raises is told with its line."""
        with user_code(what):
            return function(*args, **kwargs)

    return call


def with_place(text: str, place: str | None) -> str:
    """Return a text, and the place behind it where there is one and the text does not end with it."""
    return text if place is None or text.endswith(f"({place})") else f"{text} ({place})"


def _without_installed() -> tuple[str, ...]:
    """Return folders of the standard library and of Gymnasium, which calls what is installed."""
    import gymnasium

    return (*_LIBRARY, str(Path(gymnasium.__file__).parent))


def _is_below(file: str, folders: Sequence[str]) -> bool:
    """Whether a file lies in one of some folders; packages that lie in the library's are not of it."""
    if file.startswith("<"):
        return bool(folders)
    installed = file.startswith(_INSTALLED) or "site-packages" in Path(file).parts
    for folder in folders:
        inside = file.startswith(folder + os.sep)
        if inside and (folder not in _LIBRARY or not installed):
            return True
    return installed and any(folder in _INSTALLED for folder in folders)


def _shown(file: str, line: int) -> str:
    """Return ``file:line``, from the current folder where it lies below it."""
    near = os.path.relpath(file) if os.path.isabs(file) and file.startswith(os.getcwd() + os.sep) else file
    return f"{near}:{line}"
