"""What reward terms do to learning: ``python benchmarks/studies/reward_ablation.py [--task size_compare]``.

Trains ``pixelis-tiny`` as ``configs/zoom_read.yaml`` says, but for a fixed number of steps, under six rewards
and with three seeds each; one torch thread a run, two runs at a time. On SizeCompare, which the model was
not pretrained for, all runs start from the same adapter, learnt here from demonstrations of its policy
``listed``. Writes a table (JSON and Markdown) and a plot. What exists in ``--runs`` is not trained again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import yaml

from pixelis.rewards.stack.stages import PERFORMANCE_CURRICULUM, STEP_CURRICULUM

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "zoom_read.yaml"
TASKS: Mapping[str, Mapping[str, Any]] = {
    "zoom_read": {},
    "size_compare": {
        "env": "Pixelis/SizeCompare-v0",
        "difficulty": 0,
        "max_new_tokens": 96,
        "temperature": 0.5,
        "lora": {"rank": 64, "alpha": 64},
    },
}
"""What differs from the shipped configuration."""
DEMONSTRATIONS: Mapping[str, Any] = {
    **{key: value for key, value in TASKS["size_compare"].items() if key != "temperature"},
    "env_kwargs": {"max_turns": 4},
    "demonstrator": "listed",
    "demonstrations": 1024,
    "lr": 0.003,
    "eval_episodes": 100,
    "eval_every": 40,
}
LAST = 10
"""Steps at the end of training over which RaPR and calls are averaged."""
GOOD = 0.8

COHERENCE = {"coherence": {"encoder": "hashed"}}
# The defaults of the day on which it was run; they are less now.
CURIOSITY = {"curiosity": {"batch_size": 64, "max_updates": 16}}
FULL: Mapping[str, Any] = {**COHERENCE, **CURIOSITY, "penalty": {}}
STAGE_STEPS = {"task": 15, "some": 15, "learn_goal": 30, "learn_coherence": 30}
"""The shipped stages' lengths, cut to a run of 45 steps; windows, patience and samples are cut as well."""


def shortened(curriculum: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shipped curriculum cut to a short run."""
    short = json.loads(re.sub(r"_ma\d+", "_ma5", json.dumps(curriculum)))
    for name, stage in short["stages"].items():
        stage.update({"steps": STAGE_STEPS[name]} if "steps" in stage else {})
        stage.update({"min_samples": 5} if "min_samples" in stage else {})
        for condition in stage.get("exits", ()):
            condition.update({"patience": 3} if "patience" in condition else {})
    if "rollback" in short:
        short["rollback"]["cooldown"] = 5
        short["check_every"] = 2
    return short


ARMS: Mapping[str, Mapping[str, Any]] = {
    "task": {},
    "coherence": COHERENCE,
    "curiosity": CURIOSITY,
    "full": FULL,
    "steps": {**FULL, "curriculum": shortened(STEP_CURRICULUM)},
    "performance": {**FULL, "curriculum": shortened(PERFORMANCE_CURRICULUM)},
}
TITLES = {
    "task": "task only",
    "coherence": "+ coherence",
    "curiosity": "+ curiosity",
    "full": "full",
    "steps": "full, step curriculum",
    "performance": "full, performance curriculum",
}


def train(task: str, arm: str, seed: int, steps: int, episodes: int, runs: Path) -> None:
    """Train once and play held-out tasks, in this process."""
    import torch

    from pixelis.agents.rl.run import TrainingRun
    from pixelis.agents.settings.files import read_settings_file
    from pixelis.agents.settings.rl import TrainConfig

    torch.set_num_threads(1)
    folder = runs / f"{arm}-{seed}"
    changes = {
        **TASKS[task],
        **({} if task == "zoom_read" else {"model": str(runs / "demonstrated" / "adapter")}),
        "rewards": dict(ARMS[arm]),
        "seed": seed,
        "steps": steps,
        "minutes": None,
        "baselines": False,
        "env_threads": 1,
        "eval_episodes": episodes,
        "output": str(folder),
    }
    config = TrainConfig.from_mapping(read_settings_file(str(CONFIG), "CONFIG") | changes)
    begun = (folder / "config.yaml").exists() and any((folder / "checkpoints").glob("step-*"))
    with TrainingRun.resume(folder, config) if begun else TrainingRun.start(config) as run:
        run.train()
        run.evaluate("after")


def demonstrate(folder: Path) -> None:
    """Learn the adapter that the runs on SizeCompare start from, unless it is there."""
    if (folder / "adapter").exists():
        return
    path = folder.with_suffix(".yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({**DEMONSTRATIONS, "output": str(folder)}))
    subprocess.run([sys.executable, ROOT / "scripts" / "train_sft.py", "--config", path], check=True)


def finished(folder: Path) -> bool:
    """Return whether a run's folder holds its evaluation."""
    path = folder / "evaluation.json"
    return path.exists() and "after" in json.loads(path.read_text())


def measured(folder: Path) -> dict[str, float]:
    """Return the numbers of a finished run."""
    rows = metrics(folder)
    success = np.array([row["success/rate"] for row in rows])
    means = np.convolve(success, np.ones(5) / 5, "valid")
    reached = np.flatnonzero(means >= GOOD)
    held_out = {
        row["mode"]: row["success_rate"]
        for row in json.loads((folder / "evaluation.json").read_text())["after"]
    }
    last = rows[-LAST:]
    found = {
        "sampled": held_out["sampled"],
        "greedy": held_out["greedy"],
        "training": float(success.mean()),
        "reached": float(reached[0] + 5) if len(reached) else float(len(rows)),
        "rapr_episodes": statistics.fmean(row["visual/episodes"] for row in last),
        "calls": statistics.fmean(row["tools/per_episode"] for row in last),
    }
    shares = [row["visual/calls"] for row in last if row["visual/calls"] is not None]  # none without calls
    if shares:
        found["rapr_calls"] = statistics.fmean(shares)
    for name in ("duplicate_rate", "cache_hit_rate"):
        rates = [row[f"rewards/curiosity/{name}"] for row in rows if f"rewards/curiosity/{name}" in row]
        found |= {name: rates[-1]} if rates else {}
    return found


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's ``metrics.jsonl``."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def markdown(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: mean and range over the seeds."""
    columns = {
        "held-out, sampled": "sampled",
        "held-out, greedy": "greedy",
        "in training": "training",
        f"steps to {GOOD}": "reached",
        "RaPR, episodes": "rapr_episodes",
        "RaPR, calls": "rapr_calls",
        "calls an episode": "calls",
        "duplicates": "duplicate_rate",
        "cache hits": "cache_hit_rate",
    }
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for arm, runs in result["arms"].items():
        runs = [
            {**run, "reached": math.nan if run["reached"] >= result["steps"] else run["reached"]}
            for run in runs
        ]
        cells = [_cell([run[key] for run in runs if key in run], key) for key in columns.values()]
        lines.append(f"| {TITLES[arm]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(values: Sequence[float], key: str) -> str:
    if not values:
        return "–"
    if any(map(math.isnan, values)):
        return "never" if all(map(math.isnan, values)) else "not always"
    digits = 0 if key == "reached" else 2 if key in ("calls", "duplicate_rate", "cache_hit_rate") else 3
    mean, low, high = statistics.fmean(values), min(values), max(values)
    return f"{mean:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def plot(runs: Mapping[str, Sequence[Path]], path: Path) -> None:
    """Draw the success of the training episodes against steps: mean of the seeds, and their range."""
    figure, axes = plt.subplots(2, 3, figsize=(9, 4.8), dpi=150, sharex=True, sharey=True)
    window = np.ones(5) / 5
    task = _smooth(runs["task"], window) if "task" in runs else None
    for axis, (arm, folders) in zip(axes.flat, runs.items(), strict=False):
        curves = _smooth(folders, window)
        steps = np.arange(5, 5 + curves.shape[1])
        if task is not None and arm != "task":
            axis.plot(steps, task.mean(0), color="0.5", lw=1, ls="--", label="task only")
        axis.fill_between(steps, curves.min(0), curves.max(0), alpha=0.2, lw=0)
        axis.plot(steps, curves.mean(0), label=TITLES[arm])
        axis.set_title(TITLES[arm], fontsize=9)
        axis.grid(alpha=0.25)
    for axis in axes[1]:
        axis.set_xlabel("training steps")
    for axis in axes[:, 0]:
        axis.set(ylabel="success", ylim=(0, 1.02))
    figure.tight_layout()
    figure.savefig(path)


def _smooth(folders: Sequence[Path], window: np.ndarray) -> np.ndarray:
    return np.array(
        [np.convolve([row["success/rate"] for row in metrics(folder)], window, "valid") for folder in folders]
    )


def main() -> None:
    """Train, tabulate, plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=list(TASKS), default="zoom_read")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=45)
    parser.add_argument(
        "--episodes", type=int, default=200, help="held-out episodes, greedy and sampled each"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=Path, help="default: runs/reward_ablation/TASK")
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument(
        "--one", nargs=2, metavar=("ARM", "SEED"), help="train this one only, in this process"
    )
    options = parser.parse_args()
    options.runs = options.runs or Path("runs/reward_ablation") / options.task
    if options.one:
        arm, seed = options.one[0], int(options.one[1])
        train(options.task, arm, seed, options.steps, options.episodes, options.runs)
        return
    if options.task == "size_compare":
        demonstrate(options.runs / "demonstrated")
    folders = {arm: [options.runs / f"{arm}-{seed}" for seed in options.seeds] for arm in options.arms}
    todo = [
        (arm, seed)
        for seed in options.seeds
        for arm in options.arms
        if not finished(options.runs / f"{arm}-{seed}")
    ]
    command = [sys.executable, __file__, "--task", options.task, "--steps", options.steps]
    command += ["--episodes", options.episodes]
    command += ["--runs", options.runs, "--one"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with ThreadPoolExecutor(options.workers) as pool:
        jobs = [[*map(str, command), arm, str(seed)] for arm, seed in todo]
        list(pool.map(lambda words: subprocess.run(words, check=True, env=environment), jobs))
    script = "python benchmarks/studies/reward_ablation.py"
    result = {
        "command": f"{script} --task {options.task} --steps {options.steps}",
        "steps": options.steps,
        "seeds": options.seeds,
        "episodes": options.episodes,
        "arms": {arm: [measured(folder) for folder in paths] for arm, paths in folders.items()},
    }
    options.results.mkdir(parents=True, exist_ok=True)
    name = "reward_ablation" if options.task == "zoom_read" else f"reward_ablation_{options.task}"
    (options.results / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(folders, options.results / f"{name}.png")
    print(markdown(result))


if __name__ == "__main__":
    main()
