"""Reward-weighted SFT beside GRPO: ``python benchmarks/learning/reward_weighted.py --runs FOLDER``.

The same model, environment (the lesson CodeProblem) and number of episodes. Reward-weighted SFT lets the
start play each task once, sampled, and learns what it said, an episode's tokens weighed by its reward over
the mean reward (reward-weighted regression, Peters and Schaal 2007, in its simplest form). GRPO plays groups
of eight. Both by their defaults. Killed, the same command goes on. Writes a table and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from every_env import MODES, lesson, train
from learning_runs import LearningRuns, arguments, is_whole, write_result
from result_tables import interval_cell, markdown_table

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.files import write_atomically

ENV = "CodeProblem"
STEP = 64
"""Episodes of a step of GRPO."""
COMMAND = "python benchmarks/learning/reward_weighted.py --runs FOLDER"


def played(runs: LearningRuns, seed: int, episodes: int) -> Path:
    """Let the start play training tasks, each once; return the file of what was played."""
    plan, name = lesson(ENV), f"played-seed{seed}"
    file = runs.path / f"{name}.transcripts.jsonl"
    if not (runs.path / f"{name}.json").is_file():
        words = ["--env", plan["env"], "--difficulty", str(plan["difficulty"]), "--split", "train"]
        words += ["--mode", "sampled", "--seed", str(seed), "--episodes", str(episodes)]
        words += ["--batch-size", str(STEP), "--agent", plan["model"], "--output", f"{name}.json"]
        runs.command(f"play {seed}", "evaluate_agent.py", *words)
    return file


def weighed(transcripts: Path, file: Path) -> None:
    """Write chats whose weight is their reward over the mean, those without reward left out."""
    rows = [json.loads(line) for line in transcripts.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["reward"] > 0]
    if not rows:
        raise SystemExit(f"no episode in {transcripts} was paid anything: there is nothing to weigh")
    mean = sum(row["reward"] for row in rows) / len(rows)
    chats = [{"messages": _messages(row), "weight": row["reward"] / mean} for row in rows]
    write_atomically(file, "".join(json.dumps(chat) + "\n" for chat in chats))


def _messages(row: Mapping[str, Any]) -> list[dict[str, str]]:
    messages, heard = [], row["asked"]
    for exchange in row["exchanges"]:
        messages += [{"role": "user", "content": heard}, {"role": "assistant", "content": exchange["action"]}]
        heard = exchange["heard"]
    return messages


def supervised(runs: LearningRuns, seed: int, episodes: int, evaluated: int) -> Path:
    """Train on the weighed episodes, unless that was done."""
    plan, name, chats = lesson(ENV), f"runs/weighted-seed{seed}", runs.path / f"weighed-seed{seed}.jsonl"
    folder = runs.path / name
    if not is_whole(folder):
        weighed(played(runs, seed, episodes), chats)
        new = ["--data", chats.name, "--model", plan["model"], "--env", plan["env"], "--seed", str(seed)]
        new += ["--difficulty", str(plan["difficulty"]), "--eval-episodes", str(evaluated), "--output", name]
        begun = list_checkpoints(RunFolder(folder).checkpoints)
        runs.command(f"weighted {seed}", "train_sft.py", *(["--resume", name] if begun else new))
    return folder


def evaluations(folder: Path) -> dict[str, Any]:
    """Return success and interval by phase and mode."""
    found = json.loads((folder / "evaluation.json").read_text("utf-8"))
    return {
        phase: {
            row["mode"]: {"success": row["success_rate"], "interval": row["interval"]} for row in found[phase]
        }
        for phase in ("before", "after")
    }


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each seed and way."""
    rows = []
    for seed, ways in sorted(result["seeds"].items()):
        for way, run in ways.items():
            cells = (f"{_cell(run['before'][mode])} → **{_cell(run['after'][mode])}**" for mode in MODES)
            rows.append([way, seed, f"{run['seconds']:.0f}", *cells])
    head = ["way", "seed", "seconds", *(f"{mode}, before → after" for mode in MODES)]
    return markdown_table(head, rows)


def _cell(found: Mapping[str, Any]) -> str:
    return interval_cell(found["success"], *found["interval"])


def main() -> None:
    """Play, train and evaluate what is not done yet, then write table and numbers."""
    parser = arguments(__doc__, "what was played")
    parser.add_argument("--played", type=int, default=32 * STEP, help="training episodes of each way")
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), {"command": COMMAND, "played": args.played, "seeds": {}}
    for seed in args.seeds:
        steps = ["--steps", str(args.played // STEP)]
        folders = {
            "reward-weighted SFT": supervised(runs, seed, args.played, args.episodes),
            "GRPO": train(runs, f"runs/grpo-seed{seed}", ENV, seed, 60.0, args.episodes, steps),
        }
        spent = runs.seconds()
        seconds = {
            "reward-weighted SFT": spent[f"play {seed}"]["wall"] + spent[f"weighted {seed}"]["wall"],
            "GRPO": spent[f"{ENV} seed{seed}"]["wall"],
        }
        found["seeds"][str(seed)] = {
            way: {**evaluations(folder), "seconds": seconds[way]} for way, folder in folders.items()
        }
        write_result(args.json, found)
    print(table(found))


if __name__ == "__main__":
    main()
