r"""The README's result on code problems: ``python benchmarks/learning/code_learning.py --runs FOLDER``.

    python benchmarks/learning/code_learning.py --runs FOLDER --seeds 51 52 53 --problems 50 \
        -- --groups 8 --micro-batch-size 64 --steps 160 --checkpoint-every 10

SmolLM2-135M-Instruct learns to write functions: SFT once on reference solutions of eleven families
(`configs/code_problem_sft.yaml`), then GRPO once a seed on all families (`configs/code_problem.yaml`), each
by the command that a person types. Before, between and after, it solves held-out problems (rules that neither
training draws) of difficulty 1-4, families of the warm start apart from those it never saw.
What lies in ``--runs`` already is not done again; what follows ``--`` goes to every run of GRPO. Intervals
are 95 %: Wilson's for a rate, Newcombe's for a paired difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from learning_runs import CONFIGS, LearningRuns, arguments, own_words, write_result
from result_tables import gain, gain_cell, markdown_table, rate, rate_cell
from run_curves import training

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.evaluate import play
from pixelis.envs.coding.code_problem.env import CodeProblemEnv

SFT, GRPO = CONFIGS / "code_problem_sft.yaml", CONFIGS / "code_problem.yaml"
DIFFICULTIES = (1, 2, 3, 4)
MODES = ("greedy", "sampled")
Rows = Sequence[Mapping[str, Any]]


def families() -> dict[str, list[str]]:
    """Return ``seen`` and ``unseen`` → the families of difficulty 1-4 in the warm start, and the others."""
    config = yaml.safe_load(SFT.read_text(encoding="utf-8"))
    seen = list(config["env_kwargs"]["family"])
    easy = [n for n, levels in CodeProblemEnv.family_difficulties.items() if levels[0] <= DIFFICULTIES[-1]]
    return {"seen": seen, "unseen": [name for name in easy if name not in seen]}


def solve(name: str, model: Path | str, runs: LearningRuns, problems: int) -> Rows:
    """Return how each held-out problem ended; parts that were done before come from disk."""

    def missing(solved: Rows) -> Iterator[Rows]:
        done = {(row["families"], row["difficulty"], row["mode"]) for row in solved}
        parts = [part for part in product(families(), DIFFICULTIES, MODES) if part not in done]
        if not parts:
            return
        policy = Policy.load(model, dtype=yaml.safe_load(GRPO.read_text(encoding="utf-8"))["dtype"])
        for kind, difficulty, mode in parts:
            print(f"{name}: {kind} families, difficulty {difficulty}, {mode}", flush=True)
            with runs.timed(f"{name}, {mode} play"):
                part = _solve(policy, kind, difficulty, mode, problems)
            yield part

    return runs.rows("solved", name, missing)


def _solve(policy: Policy, kind: str, difficulty: int, mode: str, problems: int) -> Rows:
    """Solve held-out problems of some families; return how they ended."""
    episodes, _ = play(
        policy,
        partial(CodeProblemEnv, family=families()[kind], difficulty=difficulty),
        range(problems),
        settings=SamplingSettings(greedy=mode == "greedy", max_new_tokens=192),
        options={"split": "test", "difficulty": difficulty},
    )
    return [
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
        for one in episodes
    ]


def rates(rows: Rows) -> dict[str, Any]:
    """Return ``families/mode[/difficulty]`` → passed, of, Wilson's interval; sandbox failures left out."""
    return {
        f"{kind}/{mode}" + ("" if difficulty is None else f"/{difficulty}"): rate(
            [
                row["passed"]
                for row in rows
                if (row["families"], row["mode"]) == (kind, mode)
                and difficulty in (None, row["difficulty"])
                and row["valid"]
            ]
        )
        for kind, mode, difficulty in product(("seen", "unseen"), MODES, (None, *DIFFICULTIES))
    }


def gains(before: Rows, after: Rows) -> dict[str, Any]:
    """Return ``families/mode`` → the paired difference of what two models solved."""
    found = {}
    for kind, mode in product(("seen", "unseen"), MODES):
        mine = [
            (one["passed"], other["passed"])
            for one, other in zip(before, after, strict=True)
            if (one["families"], one["mode"]) == (kind, mode) and one["valid"] and other["valid"]
        ]
        if mine:
            found[f"{kind}/{mode}"] = gain(*zip(*mine, strict=True))
    return found


def table(measured: Mapping[str, Mapping[str, Any]], gained: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs: a row a model, its rates, and its paired gains over SFT."""
    columns = [f"{kind}/{mode}" for kind, mode in product(("seen", "unseen"), MODES)]
    heads = [column.replace("/", " families, ") for column in columns]
    return markdown_table(
        ["model", *heads, *(f"minus SFT: {head}" for head in heads)],
        [
            [
                name,
                *(rate_cell(found[column]) for column in columns),
                *(gain_cell(gained.get(name, {}).get(column)) for column in columns),
            ]
            for name, found in measured.items()
        ],
    )


def by_difficulty(measured: Mapping[str, Mapping[str, Any]], mode: str) -> str:
    """Return a table of passed problems by difficulty in one mode."""
    columns = list(product(("seen", "unseen"), DIFFICULTIES))
    return markdown_table(
        [mode, *(f"{kind} {difficulty}" for kind, difficulty in columns)],
        [
            [name, *(f"{found[f'{kind}/{mode}/{difficulty}'][0]}" for kind, difficulty in columns)]
            for name, found in measured.items()
        ],
    )


def by_family(rows: Mapping[str, Rows], mode: str) -> dict[str, dict[str, list[int]]]:
    """Return family → model → problems solved, and of how many, in one mode."""
    found: dict[str, dict[str, list[int]]] = {}
    for name, each in rows.items():
        for row in each:
            if row["mode"] == mode and row["valid"]:
                counts = found.setdefault(row["problem"]["family"], {}).setdefault(name, [0, 0])
                counts[0] += row["passed"]
                counts[1] += 1
    return dict(sorted(found.items()))


def family_table(found: Mapping[str, Mapping[str, Sequence[int]]], mode: str) -> str:
    """Return what `by_family` found as a table: a row a family, a column a model."""
    names = list(dict.fromkeys(name for models in found.values() for name in models))
    rows = [
        [family, *("{} of {}".format(*models[name]) if name in models else "" for name in names)]
        for family, models in found.items()
    ]
    return markdown_table([mode, *names], rows)


def main() -> None:
    """Train, solve, print, write."""
    own, more = own_words(sys.argv[1:])
    parser = arguments(__doc__, "solutions")
    parser.add_argument("--problems", type=int, default=25, help="of each difficulty, seen and unseen")
    parser.add_argument("--figure", type=Path, help="file for the picture of what happened in training")
    options = parser.parse_args(own)
    runs = LearningRuns(options.runs.resolve())
    models = runs.train("code", SFT, GRPO, options.seeds, more)
    rows = {name: solve(name, model, runs, options.problems) for name, model in models.items()}
    report(rows, runs.trained("code", options.seeds), options)


def report(rows: Mapping[str, Rows], trained: Mapping[str, Path], options: argparse.Namespace) -> None:
    """Print the tables, write the numbers, draw the curves of the runs in ``trained``."""
    measured = {name: rates(each) for name, each in rows.items()}
    gained = {name: gains(rows["sft"], rows[name]) for name in trained}
    print(table(measured, gained))
    families = {mode: by_family(rows, mode) for mode in MODES}
    for mode in MODES:
        print(by_difficulty(measured, mode))
        print(family_table(families[mode], mode))
    result = {"command": "python benchmarks/learning/code_learning.py", "problems": options.problems}
    result |= {"models": measured, "minus sft": gained, "by family": families}
    write_result(options.json, result | training(trained, options.figure))


if __name__ == "__main__":
    main()
