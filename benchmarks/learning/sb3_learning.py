"""What PPO's small network learns, beside random and oracle: ``python benchmarks/learning/sb3_learning.py``.

For each config, difficulty and seed: train, then play held-out tasks of the test split. A run ends when the
mean success of ten training steps reaches ``--stop-at``, or after the config's ``steps``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.runs.evaluate import Evaluation, summarise
from pixelis.agents.runs.metrics import Row
from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.sb3.episodes import Observations, play
from pixelis.agents.sb3.run import Sb3Run
from pixelis.agents.settings.files import read_settings_file
from pixelis.agents.settings.plain import merged

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = (CONFIGS / "size_compare_sb3.yaml", CONFIGS / "zoom_read_sb3.yaml")
LEARNT = 0.85


def random_actions(run: Sb3Run, episodes: int, seed: int) -> Evaluation:
    """Play held-out tasks with actions drawn evenly from the action space."""
    agent, env = run.policy, run.task_env
    space: Any = agent.model.action_space
    space.seed(seed)

    def choose(seen: Observations) -> tuple[np.ndarray, np.ndarray]:
        """Draw an action for every environment."""
        count = len(seen["box"])
        return np.array([space.sample() for _ in range(count)]), np.zeros(count)

    seeds = env.held_out_seeds(episodes)
    requests = [EpisodeRequest(each, group, 0, env.options("test")) for group, each in enumerate(seeds)]
    records = [step.record for step in play(agent.vector, requests, choose) if step.record is not None]
    return summarise(records, agent="random actions", mode="sampled")


def measure(config: Sb3Config, stop_at: float) -> dict[str, Any]:
    """Train once; return what it cost, when it had learnt, and how it plays held-out tasks."""
    rows: list[Row] = []
    start = time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sb3Run.start(config.with_values(output=f"{folder}/r")) as run,
    ):
        floor = random_actions(run, config.eval_episodes, config.seed)
        run.train(rows.append, lambda: len(rows) >= 10 and (rows[-1]["success/ma10"] or 0) >= stop_at)
        played = {row.mode: row for row in run.evaluate("after")}
        oracle = run.play_scripted("oracle")
    learnt = next((row for row in rows[9:] if (row["success/ma10"] or 0) >= LEARNT), None)
    return {
        "env": config.env,
        "difficulty": config.difficulty,
        "agent": config.agent.type,
        "seed": config.seed,
        "steps": len(rows),
        "env_steps": rows[-1]["env_steps/total"] if rows else 0,
        "env_steps_to_learn": learnt and learnt["env_steps/total"],
        "episodes_to_learn": learnt and learnt["episodes/total"],
        "curve": [[row["env_steps/total"], round(row["success/rate"] or 0, 4)] for row in rows],
        "settings": {name: value for name, value in config.to_mapping().items() if name != "output"},
        "cpu_seconds": time.process_time() - start,
        **{f"success_{mode}": [row.success_rate, *row.interval] for mode, row in played.items()},
        "success_random": [floor.success_rate, *floor.interval],
        "success_oracle": [oracle.success_rate, *oracle.interval],
    }


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    lines = [
        "| env | difficulty | seed | env steps | steps to 0.85 | greedy | sampled | random | oracle |",
        "|---" * 9 + "|",
    ]
    for each in results:
        shown = [_rate(each[f"success_{name}"]) for name in ("greedy", "sampled", "random", "oracle")]
        known = each["env_steps_to_learn"]
        cells = [each["env"], each["difficulty"], each["seed"], each["env_steps"], known or "–", *shown]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _rate(values: Sequence[float]) -> str:
    return "{:.3f} ({:.3f}–{:.3f})".format(*values)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", type=Path, nargs="*", default=list(SHIPPED), help="YAML of sb3 agents")
    parser.add_argument("--difficulties", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--stop-at", type=float, default=0.95)
    parser.add_argument("--settings", type=json.loads, default={}, help="more settings, as JSON")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    given = parser.parse_args()
    results = []
    for path, difficulty, seed in itertools.product(given.configs, given.difficulties, given.seeds):
        values = read_settings_file(str(path), "configs")
        values |= {"difficulty": difficulty, "seed": seed, "checkpoint_every": 10**6}
        values = merged(values, given.settings)
        results.append(measure(Sb3Config.from_mapping(values), given.stop_at))
        print(json.dumps(results[-1]), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps({"runs": results}, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
