"""Does it learn the same by vLLM's turns? ``python benchmarks/learning/vllm_learning.py --runs FOLDER``.

Trains the lesson CodeProblem with turns sampled by the model in the trainer's process, and by a vLLM
server that the trainer starts (``make vllm``): as many steps, from the same model, with the same seeds.
Evaluates before and after on the same held-out tasks, in the trainer's process. Killed, the same command goes
on. Writes a table, JSON and a figure of success by steps; a JSON keeps the runs that it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from every_env import MODES, measured, train
from learning_runs import STEPS, LearningRuns, arguments, write_result
from result_tables import interval_cell, markdown_table

from pixelis.agents.runs.metrics import read_metrics

ENV = "CodeProblem"
SAMPLERS: Mapping[str, tuple[str, ...]] = {"this process": (), "vLLM": ("--sampler", "vllm")}
"""Name → what the trainer is told."""
LINES = ("-", "--")
UNLIMITED = 600.0
"""Minutes of a run: its steps end it."""
COMMAND = "python benchmarks/learning/vllm_learning.py --runs FOLDER"


def measure(run: Path) -> dict[str, Any]:
    """Return what `every_env.measured` does, and medians over steps of what samplers differ in."""
    rows = read_metrics(run / "metrics.jsonl")
    keys = ("policy/mismatch", "time/generation", "time/step")
    medians = {key: float(f"{np.median([row[key] for row in rows]):.3g}") for key in keys}
    return {**measured(run), "medians": medians}


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each sampler and seed."""
    changes = (f"{mode}, before → after" for mode in MODES)
    head = ["turns by", "seed", *changes, "success in training", "mismatch, nats a token", "seconds a step"]
    rows = []
    for sampler, seeds in result["samplers"].items():
        for seed, run in sorted(seeds.items()):
            cells = (f"{_cell(run['before'][mode])} → **{_cell(run['after'][mode])}**" for mode in MODES)
            medians, learnt = run["medians"], np.mean(run["curve"]["success/rate"])
            told = (f"{learnt:.3f}", f"{medians['policy/mismatch']:.2g}", f"{medians['time/step']:.1f}")
            rows.append([sampler, seed, *cells, *told])
    return markdown_table(head, rows)


def _cell(found: Mapping[str, Any]) -> str:
    return interval_cell(found["success"], *found["interval"])


def smoothed(values: Sequence[float]) -> np.ndarray:
    """Return means over the last `STEPS` steps, fewer at the beginning."""
    return np.array([np.mean(values[max(0, end - STEPS) : end]) for end in range(1, len(values) + 1)])


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success in training by steps, and entropy, a line for each run."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6))
    panels = {"success/rate": "success in training", "policy/entropy": "entropy, nats a token"}
    for panel, (key, name) in zip(axes, panels.items(), strict=True):
        for line, (sampler, seeds) in zip(LINES, result["samplers"].items(), strict=False):
            for at, (seed, run) in enumerate(sorted(seeds.items())):
                panel.plot(smoothed(run["curve"][key]), line, color=f"C{at}", label=f"{sampler}, {seed}")
        panel.set_title(f"{name}, mean of {STEPS} steps")
        panel.set_xlabel("steps")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Train and evaluate what is not done yet, then write table, numbers and figure."""
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--samplers", nargs="*", default=list(SAMPLERS), choices=list(SAMPLERS))
    parser.add_argument("--steps", type=int, default=40, help="of training each")
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    parser.add_argument("--figure", type=Path, help="file for the curves")
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), {name: dict[str, Any]() for name in SAMPLERS}
    if args.json is not None and args.json.is_file():
        found |= json.loads(args.json.read_text("utf-8"))["samplers"]
    result = {"command": COMMAND, "steps": args.steps, "samplers": found}
    for seed in args.seeds:
        for name in args.samplers:
            folder = f"runs/{name.replace(' ', '-')}-seed{seed}"
            words = ["--steps", str(args.steps), *SAMPLERS[name]]
            run = train(runs, folder, ENV, seed, UNLIMITED, args.episodes, words)
            found[name][str(seed)] = measure(run)
            write_result(args.json, result)
    print(table(result))
    if args.figure is not None:
        draw(result, args.figure)


if __name__ == "__main__":
    main()
