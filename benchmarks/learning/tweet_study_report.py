"""What `tweet_study.py` makes of the runs and their replies: numbers, a table, three pictures."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diversity_of_runs import collapse_point, hypervolume, pareto_front

from pixelis.agents.models.policy import Policy
from pixelis.agents.publish.lora_analysis import LayerUpdate, inner_product, layer_updates
from pixelis.agents.run_files.saved_run import ADAPTER, checkpoint_of
from pixelis.agents.runs.metrics import read_metrics
from pixelis.envs.tweet.reward import EvaluationReward
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY
from pixelis.files import write_atomically
from pixelis.rewards.text.diversity import (
    best_at_k,
    distinct_n,
    efficiency_ratio,
    embedding_diversity,
    pass_at_k,
    self_bleu,
    vendi_score,
)

PASSES = GOOD_REPLY
"""Least reward of a reply that passes, as in the env's ``success``."""
QUALITY, DIVERSITY = "never_paid", "embedding_diversity"
"""What the front is drawn of. What was paid can be had by what only the paid reward likes."""
WORST = (0.0, 0.0)
"""Quality and diversity from which the hypervolume is measured."""
DISTINCT_WORDS = 500
"""Words of a run's replies that distinct-n looks at; with fewer there is no value."""
LOGGED = "diversity/mean_distance"
WINDOW = 5
"""Measurements that are averaged: one step has few samples, and a single low one is no collapse."""
_SERIES = ("pareto", "diversity", "lora_norms")

Numbers = dict[str, float | None]


@dataclass(frozen=True)
class Paradigm:
    """A way to train.

    Attributes:
        name: what it and its configuration are called; ``base`` trains nothing.
        kind: ``none``, ``sft`` or ``grpo``: the command that trains it.
        start: the paradigm whose adapter it starts from, None for the model alone.
        one_of_six: whether it is one of the prior work's six.
    """

    name: str
    kind: str
    start: str | None = None
    one_of_six: bool = False


def measure_replies(rows: Sequence[Mapping[str, Any]], embed: Any) -> Numbers:
    """Return the numbers of a run from its replies; None where something cannot be measured.

    Args:
        rows: one a tweet: ``replies``, each with ``text``, ``reward``, ``gate``.
        embed: from texts to vectors [n, d].
    """
    rewards = [[one["reward"] for one in row["replies"]] for row in rows]
    every = [one for row in rows for one in row["replies"]]
    texts = [[one["text"] for one in row["replies"] if one["text"].strip()] for row in rows]
    sets = [each for each in texts if len(each) > 1]
    found: Numbers = {
        "reward": statistics.fmean(one["reward"] for one in every),
        "stopped": sum(one["gate"] is not None for one in every) / len(every),
    }
    n = len(rewards[0])
    for k in sorted({1, min(5, n), min(10, n)}):
        passing = [sum(reward >= PASSES for reward in each) for each in rewards]
        found[f"pass@{k}"] = statistics.fmean(pass_at_k(n, count, k) for count in passing)
        found[f"best@{k}"] = statistics.fmean(best_at_k(each, k) for each in rewards)
    found["efficiency"] = _efficiency(found, min(10, n))
    found["self_bleu"] = _mean([self_bleu(each) for each in sets])
    together = [text for each in texts for text in each]
    for size in (1, 2):
        found[f"distinct_{size}"] = _distinct(together, size)
    vectors = [_seen(embed(each)) for each in sets]
    vectors = [each for each in vectors if len(each) > 1]
    found["vendi"] = _mean([vendi_score(each) for each in vectors])
    found["embedding_diversity"] = _mean([embedding_diversity(each) for each in vectors])
    return found


def never_paid(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean number, 0-1, that `EvaluationReward` gives the replies, of which no training knows."""
    pairs = [(row["tweet"], one["text"]) for row in rows for one in row["replies"]]
    return statistics.fmean(EvaluationReward()(pairs))


def diversity_course(folder: Path) -> tuple[list[int], list[float]]:
    """Return the steps at which a run logged how different its samples were, and these numbers."""
    path = folder / "metrics.jsonl"
    rows = [row for row in (read_metrics(path) if path.is_file() else []) if row.get(LOGGED) is not None]
    return [row["step"] for row in rows], [row[LOGGED] for row in rows]


def smoothed(values: Sequence[float]) -> list[float]:
    """Return the mean of the last `WINDOW` values, or of as many as there are, at each place."""
    return [statistics.fmean(values[max(0, at - WINDOW + 1) : at + 1]) for at in range(len(values))]


def adapter_updates(folder: Path) -> list[LayerUpdate]:
    """Return the updates of a run's newest adapter; none without training."""
    if not (folder / "checkpoints").is_dir():
        return []
    return layer_updates(Policy.load(checkpoint_of(folder) / ADAPTER, device="cpu"))


def layer_norms(
    updates: Sequence[LayerUpdate], start: Sequence[LayerUpdate] = ()
) -> dict[str, dict[str, float]]:
    """Return by layer the Frobenius norms ‖ΔW‖ of an adapter (``norm``) and ‖ΔW − ΔW₀‖ (``change``).

    Args:
        updates: of the adapter.
        start: of the adapter that training started from, ΔW₀; none: from nothing.
    """
    before = {update.name: update for update in start}
    found = {}
    for update in updates:
        square = inner_product(update, update)
        change, old = square, before.get(update.name)
        if old is not None:
            change += inner_product(old, old) - 2 * inner_product(update, old)
        found[update.name] = {"norm": math.sqrt(square), "change": math.sqrt(max(0.0, change))}
    return found


def by_depth(norms: Mapping[str, Mapping[str, float]], what: str) -> dict[int, float]:
    """Return the norm of all updates, or all changes, of each block of the model, by its number."""
    squares: defaultdict[int, float] = defaultdict(float)
    for name, norm in norms.items():
        number = re.search(r"\.(?:layers|h|blocks)\.(\d+)\.", name)
        if number and "vision" not in name:
            squares[int(number[1])] += norm[what] ** 2
    return {depth: math.sqrt(square) for depth, square in sorted(squares.items())}


def measure_run(folder: Path, start: Path | None, embed: Any) -> dict[str, Any]:
    """Return all that is told of a run.

    Args:
        folder: of the run, its replies among its files.
        start: of the run whose adapter it started from.
        embed: see `measure_replies`.
    """
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    numbers = {QUALITY: never_paid(rows), **measure_replies(rows, embed)}
    steps, values = diversity_course(folder)
    means = smoothed(values)
    known = bool(means) and means[0] > 0
    return {
        "numbers": numbers,
        "collapse": collapse_point(steps, means) if known else None,
        "course": {"steps": steps, "values": values, "means": means},
        "layer_norms": layer_norms(adapter_updates(folder), adapter_updates(start) if start else ()),
    }


def summary(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return means over seeds, their deviations, and the front and hypervolume of each seed's points."""
    rows: dict[str, dict[str, Any]] = {}
    for name, runs in measured.items():
        keys = runs[0]["numbers"]
        rows[name] = {key: _spread([run["numbers"][key] for run in runs]) for key in keys}
        rows[name]["collapse"] = [run["collapse"] for run in runs]
    fronts = []
    for seed in range(len(next(iter(measured.values())))):
        points = {
            name: (runs[seed]["numbers"][QUALITY], runs[seed]["numbers"][DIVERSITY])
            for name, runs in measured.items()
        }
        known = {name: point for name, point in points.items() if None not in point}
        values = list(known.values())
        fronts.append(
            {
                "points": known,
                "front": [list(known)[place] for place in pareto_front(values)] if values else [],
                "hypervolume": hypervolume(values, WORST) if values else 0.0,
            }
        )
    return {"paradigms": rows, "fronts": fronts, "reference": WORST}


def write_report(runs: Mapping[str, Sequence[Path]], paradigms: Mapping[str, Paradigm], output: Path) -> str:
    """Measure the runs of each paradigm, write the report's files; return the table.

    Args:
        runs: paradigm → the folders of its runs, the same seeds in each.
        paradigms: name → what it is.
        output: where to.
    """
    from pixelis.rewards.text.encoders import CachedEncoder

    embed = CachedEncoder("minilm")
    measured: dict[str, list[dict[str, Any]]] = {}
    for name, folders in runs.items():
        start = paradigms[name].start
        starts: Sequence[Path | None] = runs[start] if start else [None] * len(folders)
        measured[name] = [measure_run(*both, embed) for both in zip(folders, starts, strict=True)]
    told = summary(measured)
    table = table_of(told)
    write_atomically(
        output / "study.json", json.dumps({"summary": told, "runs": measured}, indent=1, allow_nan=False)
    )
    write_atomically(output / "report.md", table + "\n")
    kinds = {name: paradigms[name].kind for name in runs}
    figures = (draw_pareto(told), draw_courses(measured, kinds), draw_norms(measured))
    for name, figure in zip(_SERIES, figures, strict=True):
        for kind in ("png", "svg"):
            figure.savefig(output / f"{name}.{kind}")
    return table


def table_of(told: Mapping[str, Any]) -> str:
    """Return the paradigms as lines of a Markdown table, and the fronts below it."""
    rows = told["paradigms"]
    columns = [key for key in next(iter(rows.values())) if key != "collapse"]
    lines = [
        "| paradigm | " + " | ".join(columns) + " | collapse |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for name, row in rows.items():
        cells = [_cell(row[column]) for column in columns]
        points = ", ".join("–" if step is None else str(step) for step in row["collapse"])
        lines.append(f"| {name} | {' | '.join(cells)} | {points} |")
    lines.append("")
    lines += [
        f"Front {number}: {', '.join(each['front']) or 'none'}; hypervolume {each['hypervolume']:.3f}"
        for number, each in enumerate(told["fronts"])
    ]
    return "\n".join(lines)


def draw_pareto(told: Mapping[str, Any]) -> Any:
    """Return a figure of quality against diversity: a mark a run, a line along each seed's front."""
    figure, (axes,) = _panels(1)
    names = list(told["paradigms"])
    for each in told["fronts"]:
        for name, (x, y) in each["points"].items():
            axes.plot(x, y, **(_style(names, name) | {"ls": "", "ms": 8}))
        corners = [each["points"][name] for name in each["front"]]
        if corners:
            axes.step(*zip(*corners, strict=True), where="pre", color="0.6", lw=1, zorder=0)
    axes.set_xlabel("mean of the reward that was never paid")
    axes.set_ylabel("embedding diversity of the replies to a tweet")
    _finish(figure, [axes])
    return figure


def draw_courses(measured: Mapping[str, Sequence[Mapping[str, Any]]], kinds: Mapping[str, str]) -> Any:
    """Return a figure of the logged diversity over the steps: SFT on the left, GRPO on the right.

    A line a run is the mean of the last `WINDOW` measurements, which are dots.
    """
    figure, panels = _panels(2)
    for axes, kind in zip(panels, ("sft", "grpo"), strict=True):
        for name, runs in measured.items():
            style = _style(list(measured), name) | {"marker": ""}
            for course in (run["course"] for run in runs if kinds[name] == kind):
                axes.plot(course["steps"], course["means"], **style)
                axes.scatter(course["steps"], course["values"], s=6, alpha=0.3, color=style["color"])
        axes.set_xlabel(f"step of {kind.upper()}")
    panels[0].set_ylabel("mean distance of two samples for a tweet")
    _finish(figure, panels)
    return figure


def draw_norms(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a figure of each block's update, a line a run: whole on the left, since its start right."""
    figure, panels = _panels(2)
    titles = {"norm": "‖ΔW‖ of the adapter", "change": "‖ΔW − ΔW₀‖ since the start of the run"}
    for axes, (what, title) in zip(panels, titles.items(), strict=True):
        for name, runs in measured.items():
            for run in runs:
                depths = by_depth(run["layer_norms"], what)
                axes.plot(list(depths), list(depths.values()), **_style(list(measured), name))
        axes.set_xlabel("block of the model")
        axes.set_title(title, fontsize=10)
    _finish(figure, panels)
    return figure


def _panels(count: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5 + 3.5 * count, 5.5), dpi=120, layout="constrained")
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    for axes in panels:
        axes.grid(alpha=0.25)
    return figure, panels


def _style(names: Sequence[str], name: str) -> dict[str, Any]:
    """Return how a paradigm is drawn in every picture: colour, mark and line of its own."""
    from matplotlib import colormaps

    place = names.index(name)
    style = {"color": colormaps["tab10"](place % 10), "marker": "osD^v<>pPX*hd"[place % 13]}
    return style | {"ls": ("-", "--", ":")[place % 3], "lw": 1.2, "ms": 5, "alpha": 0.75, "label": name}


def _finish(figure: Any, panels: Sequence[Any]) -> None:
    """Count steps and blocks in whole numbers, begin at 0, and name each paradigm once."""
    from matplotlib.ticker import MaxNLocator

    named: dict[str, Any] = {}
    for axes in panels:
        axes.set_ylim(bottom=0)
        if len(panels) > 1:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        handles, labels = axes.get_legend_handles_labels()
        drawn = [handle for handle in handles if len(handle.get_xdata())]
        if not drawn:
            axes.text(0.5, 0.5, "nothing could be measured", ha="center", transform=axes.transAxes)
        named |= {label: one for label, one in zip(labels, handles, strict=True) if one in drawn}
    if named:
        figure.legend(named.values(), named.keys(), loc="outside right upper", fontsize=8)


def _seen(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors of the texts in which the encoder sees something."""
    return vectors[np.linalg.norm(vectors, axis=1) > 0]


def _efficiency(found: Numbers, k: int) -> float | None:
    single, many = found["pass@1"], found[f"pass@{k}"]
    return efficiency_ratio(single, many, k) if single and many is not None else None


def _distinct(texts: Sequence[str], n: int) -> float | None:
    words = sum(len(text.split()) for text in texts)
    return distinct_n(texts, n, tokens=DISTINCT_WORDS) if words >= DISTINCT_WORDS else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Return mean and sample deviation over the runs that have a value, and how many these are."""
    known = [value for value in values if value is not None]
    return {
        "mean": _mean(known),
        "std": statistics.stdev(known) if len(known) > 1 else None,
        "runs": len(known),
    }


def _cell(spread: Mapping[str, Any]) -> str:
    if spread["mean"] is None:
        return "–"
    return f"{spread['mean']:.3f}" + ("" if spread["std"] is None else f" ± {spread['std']:.3f}")
