"""``scripts/compare_models.py``: two models on the same held-out tasks, and what one gains over the other."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from pixelis.agents.evaluation.plan import Plan, check_runs_fit, plan_for
from pixelis.agents.evaluation.players import Loading, Player, find_player
from pixelis.agents.evaluation.settings import EvaluationSettings
from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.interrupts import Interrupts
from pixelis.cli.results import Results, check_place
from pixelis.cli.usage import usage_lines, usage_of
from pixelis.errors import ConfigError, UserCodeError

PROGRAM = "compare_models.py"
DESCRIPTION = """\
Let two models play the same held-out tasks and print what the second gains over the first: the difference of
their success rates with a 95 % interval for paired proportions and an exact test, and that of their rewards.
A model is a run folder, a model or adapter folder, a hub id, a name (pixelis-tiny, pixelis-mini, …, smollm2),
one that others serve (openai:MODEL@URL) or a scripted player."""
EXAMPLES = """\
examples:
  compare_models.py --b runs/zoomread-pixelis-tiny-seed0
  compare_models.py --a smollm2 --b runs/web-sft --difficulty 0,1 --output compared.json
  compare_models.py --a runs/web-sft/adapter --b runs/web --mode greedy"""
MODELS = "Models"


class _Two(Settings):
    a: str | None = setting(None, "the first; null: the model that the second was made from")
    b: str | None = setting(None, "the second, usually a run folder")


class CompareSettings(EvaluationSettings, _Two):
    """The flags of ``compare_models.py``."""

    difficulty: int | str | None = setting(
        None, "difficulties, separated by commas, that tasks are of in turn; null: as the run had it"
    )
    output: str | None = setting(None, "JSON file for the tables and for how every task ended")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_compare, words)


def make_plan(settings: CompareSettings) -> Plan:
    """Return what is played: what the settings say, else what the runs were trained in.

    Raises:
        ConfigError: no environment is known, or the runs are of others than the one that is named.
        PixelisError: it cannot be made; see `TaskEnv.open`.
    """
    names = [name for name in (settings.a, settings.b) if name is not None]
    check_runs_fit(names, settings.env)
    return plan_for(names, settings)


def _compare(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, CompareSettings, EXAMPLES).read(words)
    if settings.b is None:
        raise ConfigError("--b must name what is compared, e.g. a run folder")
    path = Path(settings.output) if settings.output is not None else None
    if path is not None:
        check_place(path)  # before what is slow

    from pixelis.agents.run_files.run_folder import log_failure
    from pixelis.agents.runs.evaluate import evaluation_table
    from pixelis.cli.pair import PlayerPair, comparison_table, play_pair  # slow; a wrong flag is told before

    console = open_console()
    with Interrupts(), warnings_on(console):
        plan = make_plan(settings)
        loading = Loading(settings.device, plan.dtype, plan.quantization, settings.endpoint)
        second = find_player(settings.b, plan.env, loading)
        name = settings.a or _base_of(settings.b, second)
        first = find_player(name, plan.env, loading)
        console.print(plan.told(), soft_wrap=True)
        if plan.env.split_note:
            console.print(plan.env.split_note, soft_wrap=True)
        chosen = {**settings.to_mapping(), "a": name, "env": plan.env.id, "env_kwargs": dict(plan.env.kwargs)}
        results = None if path is None else Results(path, {"settings": chosen, "tasks": [], "pairs": {}})
        pair = PlayerPair((name, first), (settings.b, second), plan, settings)
        try:
            with contextlib.nullcontext() if results is None else results:
                try:
                    rows, found = play_pair(pair, console, results)
                finally:
                    usage = usage_of([pair.first, pair.second])
                    if usage and results is not None:
                        results.more["usage"] = usage
        except BaseException as error:
            if results is not None:
                if isinstance(error, UserCodeError):
                    log_failure(results.log, error)
                if results.partial:
                    console.print(results.partial, soft_wrap=True)
            raise
    for line in usage_lines(usage):
        console.print(line, soft_wrap=True)
    console.print(evaluation_table(rows, title=f"{plan.env.id}, {plan.env.tasks_named(settings.split)}"))
    console.print(comparison_table(found, title=f"{settings.b} minus {name}, task by task"))
    if results is not None:
        console.print(f"saved as {results.path}, every episode in {results.transcripts}", soft_wrap=True)
    return 0


def _base_of(name: str, player: Player) -> str:
    from pixelis.agents.models.policy import Policy

    if isinstance(player, Policy) and player.has_adapter:
        return player.base_name
    if isinstance(player, Policy) and player.trained_from != player.base_name:
        return player.trained_from
    raise ConfigError(f"{name!r} is no adapter of another model, so --a must say what to compare it with")
