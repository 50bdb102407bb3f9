"""What `tweet_study.py` makes of the runs and their replies: numbers, a table, three pictures."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.lora_analysis import layer_updates, report_layer
from pixelis.agents.metrics import read_metrics
from pixelis.agents.policy import Policy
from pixelis.agents.run_folder import write_atomically
from pixelis.agents.saved_run import ADAPTER, checkpoint_of
from pixelis.rewards.diversity import (
    best_at_k,
    collapse_point,
    distinct_n,
    efficiency_ratio,
    embedding_diversity,
    hypervolume,
    pareto_front,
    pass_at_k,
    self_bleu,
    vendi_score,
)

PASSES = 0.7
"""Least reward of a reply that passes, as in the env's ``success``."""
WORST = (-1.0, 0.0)
"""Reward and embedding diversity from which the hypervolume is measured."""
DISTINCT_WORDS = 500
"""Words of a run's replies that distinct-n looks at; with fewer there is no value."""
LOGGED = "diversity/mean_distance"
_SERIES = ("pareto", "diversity", "lora_norms")

Numbers = dict[str, float | None]


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


def diversity_course(folder: Path) -> tuple[list[int], list[float]]:
    """Return the steps at which a run logged how different its samples were, and these numbers."""
    path = folder / "metrics.jsonl"
    rows = [row for row in (read_metrics(path) if path.is_file() else []) if row.get(LOGGED) is not None]
    return [row["step"] for row in rows], [row[LOGGED] for row in rows]


def layer_norms(folder: Path) -> dict[str, float]:
    """Return the Frobenius norm of each layer's update in a run's newest adapter; none without training."""
    if not (folder / "checkpoints").is_dir():
        return {}
    policy = Policy.load(checkpoint_of(folder) / ADAPTER, device="cpu")
    return {update.name: report_layer(update).norm for update in layer_updates(policy)}


def by_depth(norms: Mapping[str, float]) -> dict[int, float]:
    """Return the norm of all updates of each block of the model, by its number."""
    squares: defaultdict[int, float] = defaultdict(float)
    for name, norm in norms.items():
        number = re.search(r"\.(?:layers|h|blocks)\.(\d+)\.", name)
        if number and "vision" not in name:
            squares[int(number[1])] += norm**2
    return {depth: math.sqrt(square) for depth, square in sorted(squares.items())}


def measure_run(folder: Path, embed: Any) -> dict[str, Any]:
    """Return all that is told of a run."""
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = measure_replies([json.loads(line) for line in lines[1:]], embed)
    steps, values = diversity_course(folder)
    lost = values and values[0] > 0
    return {
        "numbers": numbers,
        "collapse": collapse_point(steps, values) if lost else None,
        "course": {"steps": steps, "values": values},
        "layer_norms": layer_norms(folder),
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
            name: (runs[seed]["numbers"]["reward"], runs[seed]["numbers"]["embedding_diversity"])
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


def write_report(runs: Mapping[str, Sequence[Path]], output: Path) -> str:
    """Measure the runs of each paradigm, write the report's files; return the table.

    Args:
        runs: paradigm → the folders of its runs, the same seeds in each.
        output: where to.
    """
    from pixelis.rewards.tweet.encoders import CachedEncoder

    embed = CachedEncoder("minilm")
    measured = {name: [measure_run(folder, embed) for folder in folders] for name, folders in runs.items()}
    told = summary(measured)
    table = table_of(told)
    write_atomically(
        output / "study.json", json.dumps({"summary": told, "runs": measured}, indent=1, allow_nan=False)
    )
    write_atomically(output / "report.md", table + "\n")
    figures = (draw_pareto(told), draw_courses(measured), draw_norms(measured))
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
    """Return a figure of reward against diversity: a dot a run, a line along each seed's front."""
    figure, axes = _axes()
    names = list(told["paradigms"])
    for number, each in enumerate(told["fronts"]):
        for name, (x, y) in each["points"].items():
            axes.plot(x, y, "o", color=_colour(names, name), label=name if number == 0 else None)
        corners = [each["points"][name] for name in each["front"]]
        if corners:
            axes.step(*zip(*corners, strict=True), where="pre", color="0.6", lw=1, zorder=0)
    axes.set_xlabel("mean reward of the replies (robust preset)")
    axes.set_ylabel("embedding diversity of the replies to a tweet")
    _legend(figure, axes)
    return figure


def draw_courses(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a figure of the logged diversity over the steps, a line a run."""
    figure, axes = _axes()
    for name, runs in measured.items():
        for number, run in enumerate(runs):
            course = run["course"]
            if course["steps"]:
                label = name if number == 0 else None
                colour = _colour(list(measured), name)
                axes.plot(course["steps"], course["values"], ".-", color=colour, lw=1, label=label)
    axes.set_xlabel("step of training")
    axes.set_ylabel("mean distance of two samples for a tweet")
    axes.set_ylim(bottom=0)
    _legend(figure, axes)
    return figure


def draw_norms(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a figure of the size of the update of each of the model's blocks, a line a run."""
    figure, axes = _axes()
    for name, runs in measured.items():
        for number, run in enumerate(runs):
            depths = by_depth(run["layer_norms"])
            if depths:
                label = name if number == 0 else None
                colour = _colour(list(measured), name)
                axes.plot(list(depths), list(depths.values()), "o-", color=colour, lw=1, ms=3, label=label)
    axes.set_xlabel("block of the model")
    axes.set_ylabel("‖ΔW‖ of its LoRA updates")
    axes.set_ylim(bottom=0)
    _legend(figure, axes)
    return figure


def _axes() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.grid(alpha=0.25)
    return figure, axes


def _legend(figure: Any, axes: Any) -> None:
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside right upper", fontsize=8)
    else:
        axes.text(0.5, 0.5, "nothing could be measured", ha="center", transform=axes.transAxes)


def _colour(names: Sequence[str], name: str) -> Any:
    from matplotlib import colormaps

    return colormaps["tab20"](names.index(name) % 20)


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
