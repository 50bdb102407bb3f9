"""GRPO against PPO on the same small network: ``python benchmarks/grpo_vs_ppo_discrete.py``.

Both have the same network, first weights, learning rate, entropy bonus, clip range, epochs and batch size,
and about as many env steps an update. Counted are the episodes played until the mean success of ten training
steps is 0.80. The learning curves are plotted against the episodes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelis.agents.metrics import Row
from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.sb3.run import Sb3Run

GOAL = 0.80
AGENTS = ("sb3-ppo", "sb3-grpo")


def learn(config: Sb3Config, most_episodes: int) -> dict[str, Any]:
    """Train until the goal is reached or the episodes are used up; return the curve and what it cost."""
    rows: list[Row] = []

    def over() -> bool:
        """Whether there is no more to learn, or no more to spend."""
        if not rows:
            return False
        reached = len(rows) >= 10 and (rows[-1]["success/ma10"] or 0) >= GOAL
        return reached or (rows[-1]["episodes/total"] or 0) >= most_episodes

    start = time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sb3Run.start(config.with_values(output=f"{folder}/r")) as run,
    ):
        run.train(rows.append, over)
    reached = len(rows) >= 10 and (rows[-1]["success/ma10"] or 0) >= GOAL
    return {
        "agent": config.agent,
        "seed": config.seed,
        "episodes_to_goal": rows[-1]["episodes/total"] if reached else None,
        "env_steps_to_goal": rows[-1]["env_steps/total"] if reached else None,
        "cpu_seconds": time.process_time() - start,
        "curve": [[row["episodes/total"], row["success/ma10"]] for row in rows],
    }


def table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the medians (lowest to highest) of the runs that reached the goal, as Markdown."""
    names = ("episodes_to_goal", "env_steps_to_goal", "cpu_seconds")
    lines = ["| | reached | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for agent, runs in results.items():
        good = [run for run in runs if run["episodes_to_goal"] is not None]
        cells = [_cell([run[name] for run in good]) for name in names]
        lines.append(f"| {agent} | {len(good)} of {len(runs)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{statistics.median(values):.0f} ({min(values):.0f}–{max(values):.0f})"


def plot(results: Mapping[str, Sequence[Mapping[str, Any]]], title: str, path: Path) -> None:
    """Draw the learning curves of all runs, a colour for each agent."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for index, (agent, runs) in enumerate(results.items()):
        for number, run in enumerate(runs):
            label = agent if number == 0 else None
            axes.plot(*zip(*run["curve"], strict=True), color=f"C{index}", alpha=0.7, label=label)
    axes.axhline(GOAL, color="grey", linestyle=":")
    axes.set(xlabel="episodes", ylabel="success, mean of 10 steps", ylim=(0, 1), title=title)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Compare from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="Pixelis/SizeCompare-v0")
    parser.add_argument("--difficulty", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--episodes", type=int, default=30_000, help="most episodes of a run")
    parser.add_argument("--settings", type=json.loads, default={}, help="more settings, as JSON")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--plot", type=Path, help="file for the plot, PNG or SVG")
    given = parser.parse_args()
    values = {"env": given.env, "difficulty": given.difficulty, "env_kwargs": {"reader": "truth"}}
    values |= {"steps": 10**6, "eval_episodes": 0, "checkpoint_every": 10**6, **given.settings}
    results: dict[str, list[dict[str, Any]]] = {agent: [] for agent in AGENTS}
    for seed in given.seeds:
        for agent in AGENTS:
            config = Sb3Config.from_mapping({**values, "agent": agent, "seed": seed})
            results[agent].append(learn(config, given.episodes))
            shown = {key: value for key, value in results[agent][-1].items() if key != "curve"}
            print(json.dumps(shown), flush=True)
            if given.json is not None:
                given.json.write_text(json.dumps({"settings": values, "runs": results}, indent=1) + "\n")
    print(table(results))
    if given.plot is not None:
        plot(results, f"{given.env}, difficulty {given.difficulty}", given.plot)


if __name__ == "__main__":
    main()
