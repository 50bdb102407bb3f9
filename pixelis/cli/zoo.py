"""``pixelis zoo``: which agents can be made here, and ``pixelis zoo make NAME``, which makes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pixelis.cli import run_command
from pixelis.cli.console import open_console
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

USAGE = """\
usage: pixelis zoo
       pixelis zoo make NAME [flags of pixelis train]

Agents that a command makes on this machine: each is trained by the lesson of its name (ten minutes),
evaluated before and after on held-out tasks, and left in the cache with its adapter, its card and its curve.
Stopped, the same command goes on. Afterwards the name stands for the agent:

  pixelis zoo make CodeProblem --minutes 5
  pixelis enjoy CodeProblem"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_zoo, words)


def _zoo(words: Sequence[str]) -> int:
    from pixelis.agents.publish.zoo import exhibits

    if "-h" in words[:1] or "--help" in words[:1]:
        print(USAGE)
        return 0
    if not words:
        open_console().print(_table())
        return 0
    if words[0] != "make" or len(words) < 2 or words[1].startswith("-"):
        raise ConfigError(
            f"expected 'make NAME' or nothing, got {' '.join(words)!r}; names: {', '.join(exhibits())}"
        )
    return _make(words[1], words[2:])


def _make(name: str, flags: Sequence[str]) -> int:
    """Train, or go on, or say that it is there."""
    from pixelis.agents.publish.zoo import exhibit, publish
    from pixelis.agents.run_files.checkpoint import list_checkpoints
    from pixelis.agents.run_files.run_folder import RunFolder
    from pixelis.cli.train import COMMAND

    wanted = exhibit(name)
    if wanted.is_made:
        print(f"{name} is in {wanted.published}; remove that folder and {wanted.run} to make it anew")
        return 0
    if any(flag.partition("=")[0] in ("--output", "--resume", "--config") for flag in flags):
        raise ConfigError(
            "--config, --output and --resume are the zoo's own; train by pixelis train to choose them"
        )
    begun = list_checkpoints(RunFolder(wanted.run).checkpoints)
    start = (
        ["--resume", str(wanted.run)] if begun else ["--config", wanted.lesson, "--output", str(wanted.run)]
    )
    if code := COMMAND([*start, *flags]):
        return code
    if any(flag.partition("=")[0] == "--dry-run" for flag in flags):
        return 0
    print(f"{name}: adapter, card and curve are in {publish(wanted)}; watch it: pixelis enjoy {name}")
    return 0


def _table() -> Table:
    from rich.table import Table

    from pixelis.agents.publish.zoo import exhibits

    table = Table(title="agents that pixelis zoo make NAME makes")
    for column in ("name", "environment", "model", "minutes", "success here, before → after"):
        table.add_column(column, overflow="fold")
    for name, each in exhibits().items():
        settings, reached = each.settings, each.success
        told = " → ".join(f"{reached[phase]:.3f}" for phase in ("before", "after") if phase in reached)
        made = told or ("made" if each.is_made else "not made")
        table.add_row(name, settings["env"], settings["model"], f"{settings['minutes']:g}", made)
    return table
