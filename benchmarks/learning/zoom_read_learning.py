"""The learning result of the README: ``python benchmarks/learning/zoom_read_learning.py``.

Trains ``pixelis-tiny`` on ZoomRead difficulty 1 with ``configs/zoom_read.yaml``, once per seed, through the
command a person types; then plays the baselines on the same held-out tasks. Writes a table (JSON and
Markdown) and a plot. Runs that exist in ``--runs`` are not trained again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from learning_runs import is_whole
from result_tables import interval_cell, markdown_table

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "zoom_read.yaml"


def train(seed: int, folder: Path, extra: list[str]) -> None:
    """Train one seed, unless the folder holds a finished run."""
    if is_whole(folder):
        return
    words = ["--config", str(CONFIG), "--seed", str(seed), "--output", str(folder), "--baselines", *extra]
    subprocess.run([sys.executable, str(ROOT / "scripts" / "train_agent.py"), *words], check=True)


def summary(seeds: list[int], runs: list[Path]) -> dict[str, Any]:
    """Return what the runs measured, with the machine and the command."""
    evaluations = [json.loads((run / "evaluation.json").read_text()) for run in runs]
    rows = [metrics(run)[-1] for run in runs]
    return {
        "command": "python benchmarks/learning/zoom_read_learning.py",
        "seeds": seeds,
        "hardware": f"{os.cpu_count()} CPU cores ({platform.machine()}), no GPU",
        "training_minutes": [round(row["time/elapsed"] / 60, 2) for row in rows],
        "steps": [row["step"] for row in rows],
        "before": [by_mode(evaluation["before"]) for evaluation in evaluations],
        "after": [by_mode(evaluation["after"]) for evaluation in evaluations],
        "baselines": by_mode(evaluations[0]["baselines"], key="agent"),
    }


def by_mode(rows: list[dict[str, Any]], key: str = "mode") -> dict[str, dict[str, Any]]:
    """Return the success rate and its interval by greedy/sampled, or by the policy's name."""
    return {
        row[key]: {
            "success": row["success_rate"],
            "interval": [round(value, 4) for value in row["interval"]],
            "episodes": row["episodes"],
        }
        for row in rows
    }


def metrics(run: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's ``metrics.jsonl``."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def markdown(result: dict[str, Any]) -> str:
    """Return the table for the docs."""
    rows = [
        [f"{phase}, {mode}", *(describe(run[mode]) for run in result[phase])]
        for phase in ("before", "after")
        for mode in ("sampled", "greedy")
    ]
    rows += [["minutes of training", *map(str, result["training_minutes"])]]
    rows += [["steps", *map(str, result["steps"])]]
    runs = markdown_table(["", *(f"seed {seed}" for seed in result["seeds"])], rows)
    baselines = [[name, describe(row)] for name, row in result["baselines"].items()]
    return f"{runs}\n\n{markdown_table(['baseline', 'success'], baselines)}\n"


def describe(row: dict[str, Any]) -> str:
    """Return a success rate with its interval."""
    return interval_cell(row["success"], *row["interval"])


def plot(result: dict[str, Any], runs: list[Path], path: Path) -> None:
    """Draw the success of each training step's episodes against minutes, one line a seed; baselines too."""
    figure, axes = plt.subplots(figsize=(7.2, 3.6), dpi=150)
    for seed, run in zip(result["seeds"], runs, strict=True):
        rows = metrics(run)
        minutes = np.array([row["time/elapsed"] for row in rows]) / 60
        success = np.array([row["success/rate"] for row in rows], float)
        window = np.ones(5) / 5
        line = axes.plot(minutes, success, lw=0.5, alpha=0.35)[0]
        axes.plot(
            minutes[4:], np.convolve(success, window, "valid"), color=line.get_color(), label=f"seed {seed}"
        )
    for name, style in (("random_sign", ":"), ("overview_only", "--")):
        if name in result["baselines"]:
            axes.axhline(result["baselines"][name]["success"], color="0.4", ls=style, lw=1, label=name)
    axes.set(xlabel="minutes of training on 2 CPU cores", ylabel="success (sampled)", ylim=(-0.02, 1.02))
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", fontsize=8)
    axes.set_title("GRPO on Pixelis/ZoomRead-v0, difficulty 1", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Train, tabulate, plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=Path, default=Path("runs/zoom_read_learning"))
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results")
    arguments, extra = parser.parse_known_args()
    runs = [arguments.runs / f"seed{seed}" for seed in arguments.seeds]
    for seed, run in zip(arguments.seeds, runs, strict=True):
        train(seed, run, extra)
    result = summary(arguments.seeds, runs)
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "zoom_read_learning.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(result, runs, arguments.results / "zoom_read_learning.png")
    print(markdown(result))


if __name__ == "__main__":
    main()
