"""``pixelis enjoy AGENT``: watch an agent play, turn by turn, in the terminal or as a film."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pixelis.agents.evaluation.plan import plan_for
from pixelis.agents.evaluation.players import Loading, find_player
from pixelis.agents.evaluation.playing import modes_of, play_asked
from pixelis.agents.evaluation.settings import EvaluationSettings
from pixelis.agents.settings.base import setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.interrupts import Interrupts
from pixelis.errors import ConfigError

PROGRAM = "pixelis enjoy AGENT"
DESCRIPTION = """\
Watch an agent play held-out tasks: what the environment says, what the agent says, what its calls gave and
what was paid. AGENT is a name of the zoo (pixelis zoo), or whoever evaluate_agent.py can let play."""
EXAMPLES = """\
examples:
  pixelis enjoy CodeProblem
  pixelis enjoy runs/zoomread-pixelis-tiny-seed0 --episodes 3 --film episode.gif
  pixelis enjoy oracle --env Pixelis/WebBrowse-v0"""
FRAMES_PER_SECOND = 1.0


class EnjoySettings(EvaluationSettings):
    """The flags of ``pixelis enjoy``."""

    mode: Literal["greedy", "sampled"] = setting("greedy", "how a model chooses tokens")  # type: ignore[assignment]
    episodes: int = setting(1, "how many tasks, one episode each", ge=1)
    difficulty: int | None = setting(None, "the env's difficulty dial; null: as the run had it")
    film: str | None = setting(
        None, "GIF or MP4 of what the agent was shown in the first episode, one picture a second"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_enjoy, words)


def _enjoy(words: Sequence[str]) -> int:
    given = words[:1] if words and not words[0].startswith("-") else []
    settings = Arguments(PROGRAM, DESCRIPTION, EnjoySettings, EXAMPLES).read(words[len(given) :])
    if not given:
        raise ConfigError("give an agent before the flags: a name of the zoo, a run, a model; see --help")

    from pixelis.agents.episode_files.stored import episode_of_row
    from pixelis.agents.runs.transcripts import episode_row
    from pixelis.agents.viewing.film import write_film
    from pixelis.agents.viewing.terminal import shown_episode

    name, console = _found(given[0]), open_console()
    with Interrupts(), warnings_on(console):
        plan = replace(plan_for([name], settings), pictures=settings.film is not None)
        player = find_player(
            name, plan.env, Loading(settings.device, plan.dtype, plan.quantization, settings.endpoint)
        )
        (mode,) = modes_of(player, settings.mode)
        try:
            episodes = play_asked(player, plan, mode, settings)
        finally:
            if (close := getattr(player, "close", None)) is not None:
                close()
    for number, episode in enumerate(episodes, start=1):
        row: Any = json.loads(json.dumps({**episode_row(episode), "pictures": []}, default=str))
        stored = episode_of_row({**row, "agent": given[0], "mode": mode}, Path(given[0]), number)
        console.print(shown_episode(stored, f"{given[0]} {mode}, {plan.env.id}, task {number}"))
    if settings.film is not None:
        write_film(episodes[0].pictures, Path(settings.film), FRAMES_PER_SECOND)
        console.print(f"the film is {settings.film}", soft_wrap=True)
    return 0


def _found(name: str) -> str:
    """Return the run of an agent of the zoo, any other name as it is.

    Raises:
        ConfigError: it has not been made.
    """
    from pixelis.agents.publish.zoo import exhibits

    known = exhibits().get(name)
    if known is None or Path(name).exists():
        return name
    if not known.is_made:
        raise ConfigError(f"{name} has not been made on this machine; make it: pixelis zoo make {name}")
    return str(known.run)
