"""GRPO against PPO on the same small network: ``python benchmarks/studies/grpo_vs_ppo_discrete.py``.

Both have the same network, first weights, learning rate, entropy bonus, clip range, epochs and batch size,
and about as many episodes an update; all of it stands in the config. Counted are the episodes played until
the success of the last three training steps together (300 to 400 episodes) is 0.80. The learning curves are
plotted against the episodes.
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

from pixelis.agents.runs.metrics import Row
from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.sb3.run import Sb3Run
from pixelis.agents.settings.files import read_settings_file
from pixelis.agents.settings.plain import merged

GOAL, WINDOW = 0.80, 3
CONFIG = Path(__file__).parents[2] / "configs" / "size_compare_sb3_tools.yaml"
AGENTS = ("sb3-ppo", "sb3-grpo")


def recent(rows: Sequence[Row]) -> float:
    """Return the success of the episodes of the last steps; 0 before there are so many steps."""
    last = rows[-WINDOW:]
    count = sum(row["episodes/count"] or 0 for row in last)
    won = sum((row["success/rate"] or 0) * (row["episodes/count"] or 0) for row in last)
    return won / count if len(last) == WINDOW and count else 0.0


def learn(config: Sb3Config, most_episodes: int) -> dict[str, Any]:
    """Train until the goal is reached or the episodes are used up; return the curve and what it cost."""
    rows: list[Row] = []

    def over() -> bool:
        """Whether there is no more to learn, or no more to spend."""
        return bool(rows) and (recent(rows) >= GOAL or (rows[-1]["episodes/total"] or 0) >= most_episodes)

    start = time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sb3Run.start(config.with_values(output=f"{folder}/r")) as run,
    ):
        run.train(rows.append, over)
    reached = recent(rows) >= GOAL
    return {
        "agent": config.agent.type,
        "seed": config.seed,
        "episodes_to_goal": rows[-1]["episodes/total"] if reached else None,
        "env_steps_to_goal": rows[-1]["env_steps/total"] if reached else None,
        "cpu_seconds": round(time.process_time() - start, 1),
        "curve": [
            [row["episodes/total"], round(recent(rows[:end]), 4)]
            for end, row in enumerate(rows, 1)
            if end >= WINDOW
        ],
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
    axes.set(xlabel="episodes", ylabel=f"success, last {WINDOW} training steps", ylim=(0, 1), title=title)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Compare from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--episodes", type=int, default=8_000, help="most episodes of a run")
    parser.add_argument("--settings", type=json.loads, default={}, help="more settings, as JSON")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--plot", type=Path, help="file for the plot, PNG or SVG")
    given = parser.parse_args()
    values = read_settings_file(str(given.config), "--config")
    grpo = values.pop("agent")  # what both share of it is PPO's too
    ppo = {name: grpo[name] for name in ("epochs", "entropy")} | {"n_steps": 32, "gamma": 0.99}
    how = {"sb3-grpo": grpo, "sb3-ppo": {"type": "sb3-ppo", **ppo}}
    short = {"steps": 10**6, "eval_episodes": 0, "checkpoint_every": 10**6}
    values = merged({**values, **short}, given.settings)
    results: dict[str, list[dict[str, Any]]] = {agent: [] for agent in AGENTS}
    for seed in given.seeds:
        for agent in AGENTS:
            config = Sb3Config.from_mapping({**values, "agent": how[agent], "seed": seed})
            results[agent].append(learn(config, given.episodes))
            shown = {key: value for key, value in results[agent][-1].items() if key != "curve"}
            print(json.dumps(shown), flush=True)
            if given.json is not None:
                given.json.write_text(json.dumps({"settings": values, "runs": results}, indent=1) + "\n")
    print(table(results))
    if given.plot is not None:
        plot(results, f"{values['env']}, difficulty {values['difficulty']}", given.plot)


if __name__ == "__main__":
    main()
