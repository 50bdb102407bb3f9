"""``scripts/evaluate_agent.py``: play held-out tasks with any agent, print and save a table."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pixelis.agents.evaluation.plan import Plan, plan_for
from pixelis.agents.evaluation.players import Loading, Player, find_player
from pixelis.agents.evaluation.playing import modes_of, play_asked
from pixelis.agents.evaluation.settings import EvaluationSettings
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.interrupts import Interrupts
from pixelis.cli.results import Results, check_place, free_path
from pixelis.cli.usage import usage_lines, usage_of
from pixelis.errors import ConfigError, UserCodeError, suggest

if TYPE_CHECKING:
    from rich.console import Console

PROGRAM = "evaluate_agent.py"
DEFAULT_ENV = "Pixelis/ZoomRead-v0"
DESCRIPTION = """\
Play held-out tasks with one or more agents and print their success with a 95 % interval.
An agent is a scripted player of the env (oracle, random, nothing, ...), a run folder of train_agent.py,
a model or adapter folder, a hub id, a name (pixelis-tiny, pixelis-mini, …, smollm2), or a model that others
serve, openai:MODEL@URL. A run brings its environment along."""
EXAMPLES = """\
examples:
  evaluate_agent.py --agent oracle,random,nothing
  evaluate_agent.py --agent runs/zoomread-pixelis-tiny-seed0 --episodes 500
  evaluate_agent.py --agent pixelis-tiny --mode sampled --difficulty 2
  evaluate_agent.py --agent openai:my-model@http://127.0.0.1:8000/v1 --env Pixelis/CodeProblem-v0"""


class _Agents(Settings):
    agent: str = setting("oracle", "who plays; several are separated by commas")


class EvaluateSettings(EvaluationSettings, _Agents):
    """The flags of ``evaluate_agent.py``."""

    env: str | None = setting(None, f"Gymnasium id of the environment; null: the run's, else {DEFAULT_ENV}")
    difficulty: int | None = setting(
        None, "the env's difficulty dial; null: as the run had it, else the env's default"
    )
    quantization: Literal["none", "8bit", "4bit"] | None = setting(
        None, "load the weights in fewer bits: bitsandbytes, CUDA only; null: as the run had it"
    )
    output: str | None = setting(None, "JSON file for the table; null makes one under runs/evaluations/")
    demonstrations: str | None = setting(
        None, "JSONL file for the episodes that succeeded, as chats that train_sft.py --data reads"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_evaluate, words)


def _evaluate(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, EvaluateSettings, EXAMPLES).read(words)
    names = [name.strip() for name in settings.agent.split(",") if name.strip()]
    path = Path(settings.output) if settings.output else None
    if path is not None:
        check_place(path)  # before what is slow
    console = open_console()
    with Interrupts(), warnings_on(console):
        plan = plan_for(names, settings, DEFAULT_ENV)
        if not names:
            known = [*plan.env.players, *NAMED_MODELS]
            raise ConfigError(f"--agent must name at least one agent.{suggest('', known)}")
        plan = replace(plan, pictures=settings.demonstrations is not None)
        loading = Loading(settings.device, plan.dtype, plan.quantization, settings.endpoint)
        agents = [(name, find_player(name, plan.env, loading)) for name in names]
        console.print(plan.told(), soft_wrap=True)
        if plan.env.split_note:
            console.print(plan.env.split_note, soft_wrap=True)
        more = {"settings": _settings(plan, settings)}
        results = Results(path or free_path(_default_path(plan, settings), more), more)
        from pixelis.agents.sft.write_chats import ChatFile

        wanted = settings.demonstrations
        chats = None if wanted is None else ChatFile(Path(wanted), plan.env.tool_schemas)
        with contextlib.nullcontext() if chats is None else chats:
            if chats is not None:
                results.also.append(chats.take)
            _play_all(agents, plan, settings, results, console)
        if chats is not None:
            kept = f"{chats.count} episodes that succeeded are in {wanted}"
            none = "no episode succeeded, so there are no demonstrations"
            console.print(kept if chats.count else none, soft_wrap=True)
    return 0


def _play_all(
    agents: Sequence[tuple[str, Player]],
    plan: Plan,
    settings: EvaluateSettings,
    results: Results,
    console: Console,
) -> None:
    """Play with everybody, and print the table; where that is cut off, say what was kept."""
    from pixelis.agents.run_files.run_folder import log_failure
    from pixelis.agents.runs.evaluate import evaluation_table, oracle_gaps

    try:
        with results:
            try:
                for name, agent in agents:
                    for mode in modes_of(agent, settings.mode):
                        _play(name, agent, mode, plan, settings, results=results, console=console)
            finally:
                if usage := usage_of(agents):
                    results.more["usage"] = usage
    except BaseException as error:
        if isinstance(error, UserCodeError):
            log_failure(results.log, error)
        if results.partial:
            console.print(results.partial, soft_wrap=True)
        raise
    finally:
        for _, agent in agents:
            close = getattr(agent, "close", None)  # an SB3 agent's environments, connections
            if close is not None:
                close()
        for line in usage_lines(usage_of(agents)):
            console.print(line, soft_wrap=True)
    title = f"{plan.env.id}, {plan.env.tasks_named(settings.split)}"
    console.print(evaluation_table(oracle_gaps(results.rows), title=title))
    console.print(f"saved as {results.path}, every episode in {results.transcripts}", soft_wrap=True)


def _play(
    name: str,
    agent: Player,
    mode: str,
    plan: Plan,
    settings: EvaluateSettings,
    *,
    results: Results,
    console: Console,
) -> None:
    from pixelis.agents.runs.evaluate import summarise
    from pixelis.cli.progress import EvaluationProgress

    planned = replace(
        summarise([], agent=name, mode=mode),
        env_id=plan.env.id,
        planned=settings.episodes,
        tasks=plan.env.tasks_named(settings.split),
    )
    with (
        EvaluationProgress(console, f"{name} {mode}", settings.episodes) as progress,
        results.row(planned, progress) as listener,
    ):
        play_asked(agent, plan, mode, settings, listener)


def _default_path(plan: Plan, settings: EvaluateSettings) -> Path:
    words = f"{plan.env.id.rpartition('/')[2]}-{settings.agent}"
    return Path("runs", "evaluations", f"{re.sub(r'[^A-Za-z0-9.]+', '-', words).strip('-').lower()}.json")


def _settings(plan: Plan, settings: EvaluateSettings) -> dict[str, Any]:
    """Return the settings that made a table, those of the runs included."""
    chosen = {name: getattr(plan, name) for name in ("max_new_tokens", "temperature", "top_p", "dtype")}
    played = {"env": plan.env.id, "env_kwargs": dict(plan.env.kwargs), "difficulty": plan.difficulties[0]}
    return {
        **settings.to_mapping(),
        **chosen,
        "quantization": plan.quantization,
        **played,
        "from": dict(plan.origins),
    }
