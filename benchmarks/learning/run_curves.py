"""What happened during runs of GRPO, imported by other benchmarks: metrics by ten steps, and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from pixelis.agents.runs.metrics import read_metrics

CURVES = {
    "success/rate": "success in training",
    "policy/entropy": "entropy, nats",
    "policy/step_kl": "KL of an update, nats",
    "completion/mean": "sampled tokens of an episode",
    "groups/filter_rate": "share of groups of one reward",
    "policy/lr": "learning rate",
}
"""Metric → what the figure calls it."""
TEN = 10
LEVEL = "levels/family="
PARTS = {"first 20 steps": slice(20), "last 20 steps": slice(-20, None)}

Row = Mapping[str, Any]


def training(runs: Mapping[str, Path], figure: Path | None) -> dict[str, Any]:
    """Return what happened in runs (name → folder), ``by ten steps`` and by level; draw it to ``figure``."""
    curves = {name: by_tens(run) for name, run in runs.items()}
    if figure is not None:
        draw(curves, figure)
    levels = {
        name: {part: by_level(run, steps) for part, steps in PARTS.items()} for name, run in runs.items()
    }
    return {"by ten steps": curves, "success by level": levels}


def by_tens(run: Path) -> dict[str, list[float | None]]:
    """Return metric → its mean over each ten steps of a run; None where no step of ten has it."""
    rows = read_metrics(run / "metrics.jsonl")
    tens = [rows[start : start + TEN] for start in range(0, len(rows), TEN)]
    return {key: [_mean([row.get(key) for row in ten]) for ten in tens] for key in CURVES}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(f"{np.mean(known):.4g}") if known else None


def by_level(run: Path, steps: slice) -> dict[str, list[float]]:
    """Return ``FAMILY,difficulty=N`` → success in these steps, and of how many groups of episodes."""
    found: dict[str, list[float]] = {}
    for row in read_metrics(run / "metrics.jsonl")[steps]:
        for key, success in row.items():
            level, _, name = key.removeprefix(LEVEL).rpartition("/")
            if not key.startswith(LEVEL) or name != "success" or ",difficulty=" not in level:
                continue
            groups = row[f"{LEVEL}{level}/groups"]
            if groups:
                solved, count = found.get(level, [0.0, 0.0])
                found[level] = [solved + success * groups, count + groups]
    return {level: [solved / count, count] for level, (solved, count) in sorted(found.items())}


def draw(curves: Mapping[str, Mapping[str, Sequence[float | None]]], path: Path) -> None:
    """Draw a panel for each metric of `by_tens`, in it a line for each run (name → metrics)."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6))
    for panel, (key, name) in zip(axes.flat, CURVES.items(), strict=True):
        for label, found in curves.items():
            values = [np.nan if value is None else value for value in found[key]]
            panel.plot([TEN * (at + 0.5) for at in range(len(values))], values, label=label)
        panel.set_title(name)
        panel.set_xlabel("steps")
        panel.set_ylim(bottom=0)
    axes.flat[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
