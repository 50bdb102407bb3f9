"""Short training runs on the toy of the tests, for comparing ways to train; imported by other benchmarks."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "agents" / "rl"))  # the toy env and the letter model live there

from letter_model import build_letter_model  # noqa: E402  # pyright: ignore[reportMissingImports]

from pixelis.agents.rl.run import TrainingRun  # noqa: E402
from pixelis.agents.settings.rl import TrainConfig  # noqa: E402

COMMON: Mapping[str, Any] = {
    "env": "toy_env:Toy/Echo-v0",
    "max_new_tokens": 1,
    "lr": 0.003,
    "beta": 0.0,
    "eval_episodes": 0,
    "checkpoint_every": 10**6,
}
GOOD = 0.8  # share of the best reward
OWN = ("staleness",)  # what variants say to `Arrange` and not to the run
Arrange = Callable[[TrainingRun, Mapping[str, Any]], None]
"""Changes a run, by the settings of its variant, before it begins."""


def measure(
    model: Path, seed: int, settings: Mapping[str, Any], arrange: Arrange | None = None
) -> dict[str, float]:
    """Train once; return the mean reward a turn over all steps and over the last ten, and what it cost.

    ``reached`` is the first step at which the mean of the last ten steps is 0.8 of the best reward, NaN if
    none is.
    """
    rewards, episodes, start = [], 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        values = {**COMMON, "model": str(model), "seed": seed, "output": f"{folder}/run", **settings}
        if values["env"] != COMMON["env"]:  # the rate and the turn's length are the toy's
            values = {name: value for name, value in values.items() if name != "lr"}
        values = {name: value for name, value in values.items() if name not in OWN}
        config = TrainConfig.from_mapping(values)
        turns = config.env_kwargs.get("turns", 1)
        with TrainingRun.start(config) as run:
            if arrange is not None:
                arrange(run, settings)
            for _ in range(config.steps):
                row, _, _ = run.trainer.step()
                rewards.append((row["reward/mean"] or 0.0) / turns)
                episodes += int(row["episodes/count"] or 0)
    means = [statistics.fmean(rewards[max(0, i - 9) : i + 1]) for i in range(len(rewards))]
    return {
        "all": statistics.fmean(rewards),
        "last10": means[-1],
        "reached": next((i + 1.0 for i, mean in enumerate(means) if i >= 9 and mean >= GOOD), float("nan")),
        "episodes": episodes,
        "cpu_seconds": time.process_time() - start,
    }


def compare(
    variants: Mapping[str, Mapping[str, Any]], seeds: Sequence[int], arrange: Arrange | None = None
) -> dict[str, list[dict[str, float]]]:
    """Train every variant with every seed, seed by seed; print a line for each run."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        model = build_letter_model(Path(folder))
        for seed in seeds:
            for name, settings in variants.items():
                results[name].append(measure(model, seed, settings, arrange))
                numbers = "  ".join(f"{key} {value:.3f}" for key, value in results[name][-1].items())
                print(f"seed {seed}  {name:32} {numbers}", flush=True)
    return results


def table(results: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return a Markdown table: mean over the seeds (lowest to highest)."""
    names = list(next(iter(results.values()))[0])
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for variant, runs in results.items():
        cells = [_cell([run[name] for run in runs]) for name in names]
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: Sequence[float]) -> str:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return f"0 of {len(values)}"
    share = f", {len(known)} of {len(values)}" if len(known) < len(values) else ""
    return f"{statistics.fmean(known):.3g} ({min(known):.3g}–{max(known):.3g}{share})"


def main(
    description: str | None,
    variants: Mapping[str, Mapping[str, Any]] | Callable[[str], Mapping[str, Mapping[str, Any]]],
    *,
    tasks: Sequence[str] = ("toy",),
    arrange: Arrange | None = None,
) -> None:
    """Compare variants from the command line.

    Args:
        description: of the command.
        variants: by name; or a function that returns those of a task.
        tasks: what ``--task`` can be, the first one without it.
        arrange: changes each run before it begins.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path, help="file for the numbers of each run")
    parser.add_argument("--task", choices=tasks, default=tasks[0])
    arguments = parser.parse_args()
    chosen = variants(arguments.task) if callable(variants) else variants
    results = compare(chosen, arguments.seeds, arrange)
    print(table(results))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"seeds": arguments.seeds, "runs": results}, indent=1) + "\n")
