"""Every error Pixelis raises on purpose: one class per mistake.

A message says what was expected, what came, and what to do. Each class also derives from the built-in
exception a caller would expect, so that ``except ValueError`` keeps working.
A model's bad action is *not* here: it is an observation (see ``pixelis.envs.tools.ToolResult``).
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import PurePath
from types import NoneType
from typing import Any

SHOWN = 200
"""Characters of a value that a message shows."""
_MESSAGE = 3_000
_LONG_VALUE = re.compile(  # quoted (an apostrophe is no quote), in brackets, or one word
    r"(?<!\w)'[^']{200,}'(?!\w)" r'|"[^"]{200,}"' r"|\[[^\]]{200,}\]" r"|\{[^}]{200,}\}" r"|\S{300,}"
)
_LISTED = 240
_SAID = 200
"""Characters of another exception's message that a message repeats."""


class PixelisError(Exception):
    """Superclass of every error below.

    Whatever went into a message, it is one that can be read: what stands in quotes or brackets, or is one
    word, is cut beyond 200 characters, and so is the middle of a text of more than 3,000.
    """

    def __str__(self) -> str:
        """Return the message, cut."""
        text = super().__str__()
        if len(text) <= SHOWN:
            return text
        if len(text) > 4 * _MESSAGE:  # so that the search below stays cheap
            text = f"{text[: 2 * _MESSAGE]} … {text[-_MESSAGE:]}"
        text = _LONG_VALUE.sub(lambda found: f"{found[0][:SHOWN]}…{found[0][-1]}", text)
        return text if len(text) <= _MESSAGE else f"{text[: _MESSAGE // 2]} … {text[-_MESSAGE // 3 :]}"


class ConfigError(PixelisError, ValueError):
    """A setting has an unknown name, a wrong type or a value out of range."""


class UnknownEnvError(PixelisError, ValueError):
    """No environment is registered under the id that was asked for."""


class DifficultyError(ConfigError):
    """A difficulty outside the range the environment declares."""


class SplitError(ConfigError):
    """A split other than ``train`` or ``test``."""


class TaskError(PixelisError, ValueError):
    """A task given by the user cannot be played, or none could be generated."""


class ActionTypeError(PixelisError, TypeError):
    """``step`` was called with something that is not a string (a caller's mistake, not a model's)."""


class ImageSizeError(PixelisError, ValueError):
    """An image with no pixels, or with more than the limit."""


class ImageReadError(PixelisError, OSError):
    """An image is missing, damaged, or of a kind whose colours or frame cannot be told."""


class AnswerError(PixelisError, ValueError):
    """A truth (or its choices, or its tolerance) that no answer could be compared with."""


class DatasetError(ConfigError):
    """Rows or a file of tasks are missing, bad or have changed; the message names the lines."""


class MissingDependencyError(PixelisError, ImportError):
    """An optional package is needed; the message names the extra to install."""


class ModelLoadError(PixelisError, OSError):
    """A model could not be loaded from the folder or hub id that was given."""


class CheckpointError(PixelisError, ValueError):
    """A checkpoint is missing, corrupt, or belongs to another configuration."""


class OutputError(PixelisError, OSError):
    """A result could not be written (no permission, disk full)."""


class RewardError(PixelisError, ValueError):
    """A reward component was given something it cannot score (NaN, a wrong size); the message names it."""


class StateError(PixelisError, ValueError):
    """A saved state belongs to another version or to other settings."""


class WrapperOrderError(PixelisError, ValueError):
    """Wrappers were stacked in an order that makes no sense; the message gives the right one."""


class RecordingError(PixelisError, ValueError):
    """A recording is damaged, of another format version, or cannot be replayed."""


class TrainingError(PixelisError, RuntimeError):
    """Training cannot go on (for example repeated non-finite losses)."""


class SamplerError(TrainingError):
    """No server that samples can be used; training can go on from its last checkpoint once there is one."""


class LostProcessError(TrainingError):
    """Another process of a training is gone; it can go on from its last checkpoint."""


class EndpointError(PixelisError, RuntimeError):
    """A model's server refuses whatever it is asked: a wrong key, model or kind of request."""


class UserCodeError(PixelisError, RuntimeError):
    """Code that Pixelis was given failed: an environment, a reward, a scorer, a function of the loss.

    Attributes:
        trace: the traceback as text; empty where nothing was raised (a reward that is no number).
        log: the file that the traceback was written to, None before.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace
        self.log: str | None = None


class EpisodesFailedError(UserCodeError):
    """Not one episode of a step or of an evaluation could be played to its end; the message says why."""


class ScriptNeededError(PixelisError, ValueError):
    """A coding problem's tests are a script, which would have to run beside the candidate's code."""


class SandboxUnavailableError(PixelisError, RuntimeError):
    """Untrusted code cannot be confined as asked on this machine; the message names the missing layers."""


class SandboxJobError(PixelisError, ValueError):
    """A job for the sandbox has arguments that do not travel, or a limit out of range."""


class BrowserUnavailableError(PixelisError, RuntimeError):
    """No browser that could be driven was found; the message says how to install one."""


class PluginWarning(UserWarning):
    """An environment plugin failed to load; ``import pixelis`` goes on without it."""


class RewardWarning(UserWarning):
    """Rewards are paid otherwise than their reader may think; said once, training goes on."""


class RecordingWarning(UserWarning):
    """A recording ends in half a line, which its writer was killed in; the rest was read."""


def import_hint(module: str, error: BaseException) -> str:
    """Return why a module that a user named could not be imported, in brackets, and what to do about it."""
    text = " ".join(str(error)[:_SAID].split())
    what = f"({type(error).__name__}: {text}{'…' * (len(str(error)) > _SAID)})"
    top = module.partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or (error.name or top).partition(".")[0] != top:
        return f"{what}; the mistake is in the module, or in what it imports"
    if any(os.path.exists(name) for name in (top, f"{top}.py")):
        return f"{what}: the working directory, where it lies, is not on the path; put PYTHONPATH=. in front"
    return f"{what}; is its folder on PYTHONPATH? For the working directory put PYTHONPATH=. in front"


def shown(value: Any, limit: int = SHOWN) -> str:
    """Return how a message shows a value: its ``repr``, cut to ``limit`` characters, at a bounded cost.

    Values of Python's and NumPy's own plain types are written out, as far as there is room. Of anything else
    only the type is told, as its ``repr`` may take long, be long or fail.
    """
    text = _written(value, limit, 4)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _written(value: Any, room: int, depth: int) -> str:
    kind = type(value)
    if kind in (NoneType, bool, float, complex, range):
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() < 400 else f"an integer of {value.bit_length()} bits"
    for text in (str, bytes):
        if issubclass(kind, text):  # by their own methods, whatever a subclass makes of them
            count, start = text.__len__(value), text.__getitem__(value, slice(room))
            return repr(start) if count <= room else f"{start!r}… ({count:,} characters)"
    if kind in (list, tuple, set, frozenset, dict):
        return _written_container(value, room, depth)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        return repr(value)
    if issubclass(kind, PurePath):
        return _written(str(value), room, depth)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__name__[:60]}"


def _written_container(value: Any, room: int, depth: int) -> str:
    """Write a container of Python's own, its first items as far as there is room."""
    opening, closing = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: "{}"}[type(value)]
    if depth == 0 or room < 8:
        return f"{opening}…{closing}" if value else f"{opening}{closing}"
    parts: list[str] = []
    for item in value.items() if isinstance(value, dict) else value:
        if room < 8:
            parts.append("…")
            break
        if isinstance(value, dict):
            key, item = item
            part = f"{_written(key, room // 2, depth - 1)}: {_written(item, room // 2, depth - 1)}"
        else:
            part = _written(item, room // 2, depth - 1)
        room -= len(part) + 2
        parts.append(part)
    inside = ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "")
    return f"{opening}{inside}{closing}"


def closest(name: Any, known: Iterable[str]) -> str:
    """Return the known name that may have been meant, as a sentence after a blank; "" where none is close.

    Letter case is ignored. ``name`` may be anything: what is no text is close to nothing.
    """
    by_folded = {known_name.casefold(): known_name for known_name in sorted(set(known))}
    asked = name[:SHOWN].casefold() if isinstance(name, str) else ""
    close = difflib.get_close_matches(asked, by_folded, n=1, cutoff=0.5)
    return f" Did you mean {by_folded[close[0]]!r}?" if close else ""


def suggest(name: Any, known: Iterable[str]) -> str:
    """Return what may have been meant, as a sentence after a blank: the `closest` name, or all of them.

    Of many names the first are listed.
    """
    names = sorted(set(known))
    if close := closest(name, names):
        return close
    if len(", ".join(names)) <= _LISTED:
        return f" Known: {', '.join(names)}."
    fit = next(count for count in range(len(names), 0, -1) if len(", ".join(names[:count])) <= _LISTED)
    return f" Known: {', '.join(names[:fit])}, … ({len(names)} in all)."
