"""GRPO against expert iteration at equal episodes: ``python benchmarks/studies/expert_iteration.py``.

The toy of the tests: say the letter you were shown (chance 1/8; with two turns, one letter each). Every
method plays the same tasks, 64 episodes a step, from the same random model, at each learning rate and seed;
nothing is chosen in between. Writes ``docs/results/expert_iteration.json`` and prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "agents" / "rl"))

from letter_model import build_letter_model  # noqa: E402  # pyright: ignore[reportMissingImports]

from pixelis.agents.rl.run import TrainingRun  # noqa: E402
from pixelis.agents.runs.metrics import Row  # noqa: E402
from pixelis.agents.settings.expert import ExpertConfig  # noqa: E402
from pixelis.agents.settings.rl import TrainConfig  # noqa: E402
from pixelis.agents.sft.expert.run import ExpertRun  # noqa: E402

GRPO = "GRPO"
METHODS: Mapping[str, Mapping[str, Any]] = {
    GRPO: {"beta": 0.0},
    "expert iteration, best of 8": {"select": "best"},
    "expert iteration, all above 0": {"select": "all", "batch_size": 64},
    "the same, from the start each round": {"select": "all", "batch_size": 64, "restart": True, "epochs": 10},
}
GOAL = 0.9


def play(method: str, seed: int, lr: float, turns: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train once and return success by step, and greedy success on 100 held-out tasks at the end."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        common = {
            "env": "toy_env:Toy/Echo-v0",
            "env_kwargs": {"turns": turns},
            "model": str(arguments.model),
            "output": f"{folder}/run",
            "groups": 8,
            "group_size": 8,
            "max_new_tokens": 1,
            "steps": arguments.steps,
            "checkpoint_every": arguments.steps + 1,
            "eval_episodes": 100,
            "seed": seed,
            "lr": lr,
        }
        values = {**common, **METHODS[method]}
        run: Any = (
            TrainingRun.start(TrainConfig.from_mapping(values))
            if method == GRPO
            else ExpertRun.start(ExpertConfig.from_mapping(values))
        )
        with run:
            run.train(on_step=rows.append)
            greedy, _ = run.evaluate("after")
    success = [float(row["success/rate"] or 0.0) for row in rows]
    return {"success": success, "held_out": greedy.success_rate, "episodes": 64 * len(rows)}


def last_ten(run: Mapping[str, Any]) -> float:
    """Return the mean success of the last ten steps."""
    return float(np.mean(run["success"][-10:]))


def episodes_to_goal(run: Mapping[str, Any]) -> int | None:
    """Return after how many episodes the mean of five steps first reached the goal, None for never."""
    means = np.convolve(run["success"], np.ones(5) / 5, "valid")
    reached = np.flatnonzero(means >= GOAL)
    return 64 * (int(reached[0]) + 5) if len(reached) else None


def measure(method: str, lr: float, turns: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train once for each seed."""
    runs = [play(method, seed, lr, turns, arguments) for seed in arguments.seeds]
    return {
        "method": method,
        "turns": turns,
        "lr": lr,
        "last_ten": [round(last_ten(run), 4) for run in runs],
        "episodes_to_goal": [episodes_to_goal(run) for run in runs],
        "held_out_greedy": [run["held_out"] for run in runs],
        "episodes": runs[0]["episodes"],
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table for the docs."""
    lines = [
        f"| turns | method | lr | success, last 10 steps | episodes until {GOAL} | held out, greedy |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            " / ".join("–" if value is None else format(value, form) for value in row[name])
            for name, form in (("last_ten", ".2f"), ("episodes_to_goal", "d"), ("held_out_greedy", ".2f"))
        ]
        lines.append(f"| {row['turns']} | {row['method']} | {row['lr']:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Train and tabulate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--lrs", type=float, nargs="+", default=[0.001, 0.003, 0.01])
    parser.add_argument("--turns", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=40, help="of 64 episodes each")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "results" / "expert_iteration.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = build_letter_model(Path(folder) / "letters")
        rows = []
        for turns in arguments.turns:
            for method in METHODS:
                for lr in arguments.lrs:
                    rows.append(measure(method, lr, turns, arguments))
                    print(json.dumps(rows[-1]), flush=True)
    result = {
        "command": "python benchmarks/studies/expert_iteration.py",
        "hardware": f"{os.cpu_count()} CPU cores ({platform.machine()}), no GPU",
        "seeds": arguments.seeds,
        "steps": arguments.steps,
        "rows": rows,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(markdown(rows))


if __name__ == "__main__":
    main()
