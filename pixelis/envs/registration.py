"""The table of environments, their registration with Gymnasium, and plugins.

Gymnasium ≥ 1.0 loads no entry points of its own, so ``import pixelis`` registers the ids below and then the
plugins; ``gym.make("pixelis:Pixelis/ZoomRead-v0")`` does both with no import.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

import gymnasium as gym

from pixelis.errors import PluginWarning, UnknownEnvError, import_hint, shown, suggest

NAMESPACE = "Pixelis"
PLUGIN_GROUP = "pixelis.plugins"


@dataclass(frozen=True)
class EnvEntry:
    """One row of the table: an id and ``module:class``, imported when the environment is made."""

    id: str
    entry_point: str


ENVIRONMENTS = (
    EnvEntry("Pixelis/ZoomRead-v0", "pixelis.envs.pixel.zoom_read.env:ZoomReadEnv"),
    EnvEntry("Pixelis/SizeCompare-v0", "pixelis.envs.pixel.size_compare.env:SizeCompareEnv"),
    EnvEntry("Pixelis/CountTiny-v0", "pixelis.envs.pixel.count_tiny.env:CountTinyEnv"),
    EnvEntry("Pixelis/ChartRead-v0", "pixelis.envs.pixel.chart_read.env:ChartReadEnv"),
    EnvEntry("Pixelis/ReceiptSum-v0", "pixelis.envs.pixel.receipt_sum.env:ReceiptSumEnv"),
    EnvEntry("Pixelis/WireTrace-v0", "pixelis.envs.pixel.wire_trace.env:WireTraceEnv"),
    EnvEntry("Pixelis/TrackRead-v0", "pixelis.envs.pixel.track_read.env:TrackReadEnv"),
    EnvEntry("Pixelis/AskImage-v0", "pixelis.envs.pixel.ask_image.env:AskImageEnv"),
    EnvEntry("Pixelis/WebBrowse-v0", "pixelis.envs.web.browse.env:WebBrowseEnv"),
    EnvEntry("Pixelis/TweetReply-v0", "pixelis.envs.tweet.tweet_reply.env:TweetReplyEnv"),
    EnvEntry("Pixelis/CodeProblem-v0", "pixelis.envs.coding.code_problem.env:CodeProblemEnv"),
)

BROWSER_ENVIRONMENTS = (
    EnvEntry("Pixelis/WebPage-v0", "pixelis.envs.web.foreign.web_page:WebPageEnv"),
    EnvEntry("Pixelis/MiniWoB-v0", "pixelis.envs.web.miniwob.env:MiniWoBEnv"),
)
"""On pages of others: they need a real browser, and have no oracle and no levels of their own."""

OWN_ROWS = EnvEntry("Pixelis/Rows-v0", "pixelis.envs.rows.env:RowsEnv")
"""On rows and with a reward of the user's, so it needs both."""


OF_OTHERS = (
    EnvEntry("Pixelis/Gymnasium-v0", "pixelis.envs.interop.gymnasium.env:GymnasiumEnv"),
    EnvEntry("Pixelis/ReasoningGym-v0", "pixelis.envs.interop.reasoning.env:ReasoningGymEnv"),
    EnvEntry("Pixelis/TextArena-v0", "pixelis.envs.interop.games.textarena:TextArenaEnv"),
    EnvEntry("Pixelis/Gem-v0", "pixelis.envs.interop.games.gem:GemEnv"),
)
"""Environments of other packages, which must be named: an id, a task or a game."""


def register_environments() -> None:
    """Register every environment; calling it again changes nothing."""
    for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS, OWN_ROWS, *OF_OTHERS):
        if entry.id not in gym.registry:
            gym.register(id=entry.id, entry_point=entry.entry_point)


_PENDING: list[EntryPoint] = []


def load_plugins() -> list[str]:
    """Call every entry point of the group ``pixelis.plugins``; return the names of those that loaded.

    A plugin is a callable without arguments that registers its environments with ``gymnasium.register``. One
    that fails is reported as a ``PluginWarning`` naming it and never stops ``import pixelis``. One whose own
    module is just being imported, and has imported Pixelis, is called when an id is looked for that is not
    known (`check_env_id`).
    """
    return [plugin.name for plugin in entry_points(group=PLUGIN_GROUP) if _load_plugin(plugin)]


def _load_plugin(plugin: EntryPoint) -> bool:
    if _is_half_imported(plugin.module):
        _PENDING.append(plugin)
        return False
    ours = {name: spec for name, spec in gym.registry.items() if name.startswith(f"{NAMESPACE}/")}
    try:
        plugin.load()()
    except (Exception, SystemExit) as error:  # whatever a stranger's code raises must not end the import
        distribution = f" of {plugin.dist.name}" if plugin.dist else ""
        warnings.warn(
            f"Pixelis plugin {plugin.name!r}{distribution} ({plugin.value}) failed to load and is left out: "
            f"{type(error).__name__}: {error}",
            PluginWarning,
            stacklevel=2,
        )
        return False
    finally:
        taken = sorted(name for name, spec in ours.items() if gym.registry.get(name) is not spec)
        gym.registry.update(ours)
    if taken:
        warnings.warn(
            f"Pixelis plugin {plugin.name!r} ({plugin.value}) registers {', '.join(taken)}, which is there "
            "already and stays what it is; it needs an id of its own",
            PluginWarning,
            stacklevel=2,
        )
    return True


def _is_half_imported(module: str) -> bool:
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def check_env_id(env_id: str) -> str:
    """Return ``env_id`` when Gymnasium can make it (``module:Id-v0`` included).

    Raises:
        UnknownEnvError: nothing is registered under it, or its module cannot be imported.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            __import__(module)
        except (Exception, SystemExit) as error:  # a stranger's module may fail in any way
            raise UnknownEnvError(
                f"environment {shown(env_id)}: cannot import module {shown(module)} "
                f"{import_hint(module, error)}"
            ) from None
    while name not in gym.registry and _PENDING and not _is_half_imported(_PENDING[-1].module):
        _load_plugin(_PENDING.pop())
    if name not in gym.registry:
        elsewhere = "" if module else " One of a module that is not installed as a plugin is module:Id-v0."
        raise UnknownEnvError(f"no environment is registered as {shown(name)}.{_suggest_id(name)}{elsewhere}")
    return env_id


def _suggest_id(name: str) -> str:
    """Return the closest of all ids, plugins' too; where none is close, our own: others' may be hundreds."""
    close = suggest(name, gym.registry)
    ours = [env_id for env_id in gym.registry if env_id.startswith("Pixelis/")]
    return close if close.startswith(" Did you mean") else suggest(name, ours)
