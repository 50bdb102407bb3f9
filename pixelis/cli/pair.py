"""Two players on the same tasks, and the tables of how they compare."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.table import Table

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.evaluation.plan import Plan
from pixelis.agents.evaluation.playing import modes_of, play_asked
from pixelis.agents.runs.evaluate import NOTHING, Evaluation, summarise
from pixelis.agents.runs.paired import PairedComparison, compare
from pixelis.cli.progress import EvaluationProgress
from pixelis.cli.results import Results

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.evaluation.players import Player
    from pixelis.cli.compare import CompareSettings


@dataclass(frozen=True)
class PlayerPair:
    """Two players and what they play.

    Attributes:
        first: its name and itself.
        second: likewise.
        plan: what is played.
        settings: the flags.
    """

    first: tuple[str, Player]
    second: tuple[str, Player]
    plan: Plan
    settings: CompareSettings


def play_pair(
    pair: PlayerPair, console: Console, results: Results | None
) -> tuple[list[Evaluation], dict[str, PairedComparison]]:
    """Let both play in every mode; return the rows of the table, and mode → what was found."""
    rows, found, tasks = [], {}, []
    for mode in _modes(pair.first[1], pair.second[1], pair.settings.mode):
        both = []
        for label, agent in (pair.first, pair.second):
            row, episodes = _episodes(label, agent, mode, pair, results, console)
            rows.append(row)
            both.append(episodes)
        found[mode] = compare(*both)
        tasks += [_task(mode, x, y) for x, y in zip(*both, strict=True)]
        if results is not None:
            results.more |= {"pairs": {name: each.to_json() for name, each in found.items()}, "tasks": tasks}
    return rows, found


def _modes(first: Any, second: Any, mode: str) -> tuple[str, ...]:
    ways = [way for each in (first, second) if (way := modes_of(each, mode)) != ["scripted"]]
    return tuple(min(ways, key=len)) if ways else ("scripted",)


def _episodes(
    label: str,
    player: Player,
    mode: str,
    pair: PlayerPair,
    results: Results | None,
    console: Console,
) -> tuple[Evaluation, list[Episode]]:
    """Return the row of one player, and one episode a task."""
    settings, plan = pair.settings, pair.plan
    (shown,) = modes_of(player, mode)
    planned = replace(
        summarise([], agent=label, mode=shown),
        env_id=plan.env.id,
        planned=settings.episodes,
        tasks=plan.env.tasks_named(settings.split),
    )
    with EvaluationProgress(console, f"{label} {shown}", settings.episodes) as progress:
        row = contextlib.nullcontext(progress) if results is None else results.row(planned, progress)
        with row as listener:
            episodes = play_asked(player, plan, mode, settings, listener)
    found = summarise(episodes, agent=label, mode=shown)
    return replace(found, planned=settings.episodes, tasks=planned.tasks), episodes


def _task(mode: str, a: Episode, b: Episode) -> dict[str, Any]:
    ends = [{"success": x.success, "reward": x.reward, "valid": x.valid_for_training} for x in (a, b)]
    task = a.info.get("task")
    task = task.get("id") if isinstance(task, Mapping) else None
    return {"mode": mode, "seed": a.seed, "task": task, "a": ends[0], "b": ends[1]}


def comparison_table(found: Mapping[str, PairedComparison], title: str = "") -> Table:
    """Return a table for `rich.print`, a row a mode."""
    table = Table(title=title or None)
    heads = ("mode", "pairs", "both", "only first", "only second", "neither")
    for head in (*heads, "success (95 %)", "p (McNemar)", "reward (95 %)"):
        table.add_column(head, justify="left" if head == "mode" else "right", overflow="fold")
    for mode, one in found.items():
        pairs = f"{one.pairs}" + (f" (+{one.left_out} failed)" if one.left_out else "")
        counts = [str(count) for count in (one.both, one.only_a, one.only_b, one.neither)]
        gain, p_value = _gain(one.difference, one.interval), f"{one.p_value:.2g}"
        if not (one.says_success and one.pairs):
            counts, gain, p_value = [NOTHING] * 4, NOTHING, NOTHING
        table.add_row(mode, pairs, *counts, gain, p_value, _gain(one.reward_difference, one.reward_interval))
    return table


def _gain(value: float, interval: tuple[float, float]) -> str:
    if math.isnan(value):
        return NOTHING
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})"
