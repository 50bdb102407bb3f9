"""Every error Pixelis raises on purpose: one class per mistake.

A message says what was expected, what came, and what to do. Each class also derives from the built-in
exception a caller would expect, so that ``except ValueError`` keeps working.
A model's bad action is *not* here: it is an observation (see ``pixelis.envs.tools.ToolResult``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PixelisError(Exception):
    """Superclass of every error below."""


class ConfigError(PixelisError, ValueError):
    """A setting has an unknown name, a wrong type or a value out of range."""


class UnknownEnvError(PixelisError, ValueError):
    """No environment is registered under the id that was asked for."""


class DifficultyError(PixelisError, ValueError):
    """A difficulty outside the range the environment declares."""


class SplitError(PixelisError, ValueError):
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


class DatasetError(PixelisError, ValueError):
    """A file of tasks is missing, has bad rows or has changed; the message names the lines."""


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


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known name (letter case ignored), or all of them."""
    names = sorted(known)
    by_folded = {known_name.casefold(): known_name for known_name in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.5)
    return f" Did you mean {by_folded[close[0]]!r}?" if close else f" Known: {', '.join(names)}."
