"""The README's result on code problems: ``python benchmarks/code_learning.py --runs FOLDER``.

SmolLM2-135M-Instruct learns to write functions: SFT once on reference solutions of eleven families
(`configs/code_problem_sft.yaml`), then GRPO once a seed on all families (`configs/code_problem.yaml`), each
by the command that a person types. Before, between and after, it solves held-out problems (rules that neither
training draws) of difficulty 1-4, families of the warm start apart from those it never saw.
What lies in ``--runs`` already is not done again. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.evaluate import play, wilson_interval
from pixelis.agents.policy import Policy
from pixelis.agents.run_folder import write_atomically
from pixelis.agents.sampling import SamplingSettings
from pixelis.agents.saved_run import newest_adapter
from pixelis.envs.coding.code_problem import CodeProblemEnv

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
SFT = "runs/code-sft"
DIFFICULTIES = (1, 2, 3, 4)
MODES = ("greedy", "sampled")


def command(script: str, *words: str, runs: Path) -> None:
    """Run one of the project's commands in the folder of the runs."""
    places = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    print("$", " ".join([f"scripts/{script}", *words]), flush=True)
    full = [sys.executable, str(ROOT / "scripts" / script), *words]
    subprocess.run(full, cwd=runs, check=True, env={**os.environ, "PYTHONPATH": places})


def train(runs: Path, seeds: Sequence[int]) -> dict[str, Path | str]:
    """Do what training is not done yet; return name → model or adapter, in the order of the table."""
    runs.mkdir(parents=True, exist_ok=True)
    if not (runs / SFT / "adapter").is_dir():
        words = ["--config", str(CONFIGS / "code_problem_sft.yaml"), "--output", SFT]
        command("train_sft.py", *words, runs=runs)
    models: dict[str, Path | str] = {"base": "smollm2", "sft": runs / SFT / "adapter"}
    for seed in seeds:
        name = f"runs/code-seed{seed}"
        evaluation = runs / name / "evaluation.json"
        if not (evaluation.is_file() and "after" in json.loads(evaluation.read_text(encoding="utf-8"))):
            words = ["--config", str(CONFIGS / "code_problem.yaml"), "--seed", str(seed), "--output", name]
            command("train_agent.py", *words, runs=runs)
        models[f"grpo seed {seed}"] = newest_adapter(runs / name)[0]
    return models


def families() -> dict[str, list[str]]:
    """Return ``seen`` and ``unseen`` → the families of difficulty 1-4 in the warm start, and the others."""
    config = yaml.safe_load((CONFIGS / "code_problem_sft.yaml").read_text(encoding="utf-8"))
    seen = list(config["env_kwargs"]["family"])
    easy = [n for n, levels in CodeProblemEnv.family_difficulties.items() if levels[0] <= DIFFICULTIES[-1]]
    return {"seen": seen, "unseen": [name for name in easy if name not in seen]}


def solve(name: str, model: Path | str, runs: Path, problems: int) -> list[dict[str, Any]]:
    """Return how each held-out problem ended, from disk if it was done before."""
    path = runs / f"solved-{name.replace(' ', '-')}.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    policy, rows = Policy.load(model), []
    for kind, names in families().items():
        for difficulty in DIFFICULTIES:
            for mode in MODES:
                print(f"{name}: {kind} families, difficulty {difficulty}, {mode}", flush=True)
                episodes, _ = play(
                    policy,
                    partial(CodeProblemEnv, family=names, difficulty=difficulty),
                    range(problems),
                    settings=SamplingSettings(greedy=mode == "greedy", max_new_tokens=192),
                    options={"split": "test", "difficulty": difficulty},
                )
                for one in episodes:
                    rows.append(
                        {
                            "families": kind,
                            "difficulty": difficulty,
                            "mode": mode,
                            "problem": one.info["problem"],
                            "valid": one.valid_for_training,
                            "passed": bool(one.success),
                            "reward": one.reward,
                            "turn": one.text if one.seed < 2 else None,
                        }
                    )
    write_atomically(path, json.dumps(rows, indent=1, ensure_ascii=False))
    return rows


def rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``families/mode[/difficulty]`` → passed, of, Wilson's interval; sandbox failures left out."""
    found: dict[str, Any] = {}
    for kind in ("seen", "unseen"):
        for mode in MODES:
            for difficulty in (None, *DIFFICULTIES):
                chosen = [
                    row["passed"]
                    for row in rows
                    if (row["families"], row["mode"]) == (kind, mode)
                    and difficulty in (None, row["difficulty"])
                    and row["valid"]
                ]
                key = f"{kind}/{mode}" + ("" if difficulty is None else f"/{difficulty}")
                found[key] = [sum(chosen), len(chosen), *wilson_interval(sum(chosen), len(chosen))]
    return found


def table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs."""
    columns = [f"{kind}/{mode}" for kind in ("seen", "unseen") for mode in MODES]
    heads = [f"{kind} families, {mode}" for kind in ("seen", "unseen") for mode in MODES]
    lines = ["| " + " | ".join(["model", *heads]) + " |", "|---" * (1 + len(heads)) + "|"]
    for name, found in measured.items():
        cells = [
            f"{k / n if n else float('nan'):.3f} ({low:.3f}–{high:.3f})"
            for k, n, low, high in (found[column] for column in columns)
        ]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def by_difficulty(measured: Mapping[str, Mapping[str, Any]], mode: str) -> str:
    """Return a table of passed problems by difficulty in one mode."""
    heads = [f"{kind} {d}" for kind in ("seen", "unseen") for d in DIFFICULTIES]
    lines = ["| " + " | ".join([mode, *heads]) + " |", "|---" * (1 + len(heads)) + "|"]
    for name, found in measured.items():
        cells = [f"{found[f'{head.split()[0]}/{mode}/{head.split()[1]}'][0]}" for head in heads]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Train, solve, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder of runs and solutions")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--problems", type=int, default=25, help="of each difficulty, seen and unseen")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    options = parser.parse_args()
    models = train(options.runs, options.seeds)
    measured = {
        name: rates(solve(name, model, options.runs, options.problems)) for name, model in models.items()
    }
    print(table(measured))
    for mode in MODES:
        print(by_difficulty(measured, mode))
    if options.json is not None:
        result = {"command": "python benchmarks/code_learning.py", "problems": options.problems}
        options.json.write_text(json.dumps({**result, "models": measured}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
