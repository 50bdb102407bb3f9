r"""The README's result on web sites: ``python benchmarks/learning/web_learning.py --runs FOLDER``.

    python benchmarks/learning/web_learning.py --runs FOLDER --seeds 61 62 63 --modes greedy sampled \
        -- --steps 64

SmolLM2-135M-Instruct learns to use web sites of difficulty 0 and 1: SFT once on what the oracle does on
training sites (`configs/web_browse_sft.yaml`), then GRPO once a seed (`configs/web_browse.yaml`), each by the
command that a person types. Before, between and after, it plays the same held-out levels (split ``test``),
half of them of each difficulty. What lies in ``--runs`` already is not done again; what follows ``--`` goes
to every run of GRPO. Intervals are 95 %: Wilson's for a rate, Newcombe's for a paired difference
(`pixelis.agents.runs.paired`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from learning_runs import CONFIGS, LearningRuns, arguments, own_words, write_result
from result_tables import gain, gain_cell, markdown_table, rate, rate_cell
from run_curves import training

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.evaluate import play
from pixelis.envs.web.browse.env import WebBrowseEnv

SFT, GRPO = CONFIGS / "web_browse_sft.yaml", CONFIGS / "web_browse.yaml"
DIFFICULTIES, BATCH = (0, 1), 40
Rows = Sequence[Mapping[str, Any]]


def browse(name: str, model: Path | str, runs: LearningRuns, levels: int, mode: str) -> Rows:
    """Return how each held-out level ended; those that were played before come from disk."""

    def missing(played: Rows) -> Iterator[Rows]:
        if len(played) >= levels:
            return
        config = yaml.safe_load(GRPO.read_text(encoding="utf-8"))
        policy = Policy.load(model, dtype=config["dtype"])
        for start in range(len(played), levels, BATCH):
            print(f"{name}: {mode}, level {start} of {levels}", flush=True)
            with runs.timed(f"{name}, {mode} play"):
                part = _browse(policy, config, range(start, min(start + BATCH, levels)), mode)
            yield part

    return runs.rows("played", f"{name} {mode}", missing)[:levels]


def _browse(policy: Policy, config: Mapping[str, Any], seeds: range, mode: str) -> Rows:
    """Play held-out levels, even seeds of difficulty 0 and odd ones of 1; return how they ended."""
    rows = []
    sampling = SamplingSettings(greedy=mode == "greedy", max_new_tokens=config["max_new_tokens"])
    for place, difficulty in enumerate(DIFFICULTIES):
        episodes, _ = play(
            policy,
            partial(WebBrowseEnv, **config["env_kwargs"]),
            [seed for seed in seeds if seed % len(DIFFICULTIES) == place],
            settings=sampling,
            options={"split": "test", "difficulty": difficulty},
        )
        for one in episodes:
            rows.append(
                {
                    "difficulty": difficulty,
                    "seed": one.seed,
                    "family": one.info["task"]["id"].split("-")[1],
                    "valid": one.valid_for_training,
                    "success": bool(one.success),
                    "reward": one.reward,
                    "turns": one.turns,
                    "said": [each.text for each in one.segments if each.sampled] if one.seed < 8 else None,
                }
            )
    return rows


def rates(rows: Rows) -> dict[str, list[float]]:
    """Return ``all``, each difficulty and each family → solved, of, Wilson's interval."""
    keys: dict[str, Callable[[Mapping[str, Any]], bool]] = {"all": lambda row: True}
    keys |= {f"difficulty {d}": lambda row, d=d: row["difficulty"] == d for d in DIFFICULTIES}
    families = sorted({row["family"] for row in rows})
    keys |= {family: lambda row, family=family: row["family"] == family for family in families}
    return {
        key: rate([row["success"] for row in rows if row["valid"] and belongs(row)])
        for key, belongs in keys.items()
    }


def table(measured: Mapping[str, Mapping[str, Any]], gains: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs, a row a model."""
    columns = list(next(iter(measured.values())))
    lines = []
    for name, found in measured.items():
        solved = [f"{found[key][0]}/{found[key][1]}" if key in found else "–" for key in columns[1:]]
        differences = [gain_cell(gains.get(f"{name} minus {other}")) for other in ("base", "sft")]
        lines.append([name, rate_cell(found["all"]), *solved, *differences])
    return markdown_table(["model", *columns, "minus base", "minus sft"], lines)


def main() -> None:
    """Train, play, print, write."""
    own, more = own_words(sys.argv[1:])
    parser = arguments(__doc__, "played levels")
    parser.add_argument("--levels", type=int, default=200, help="held-out, half of each difficulty")
    parser.add_argument("--modes", nargs="*", default=["greedy"], choices=["greedy", "sampled"])
    parser.add_argument("--figure", type=Path, help="file for the picture of what happened in training")
    options = parser.parse_args(own)
    runs = LearningRuns(options.runs.resolve())
    models = runs.train("web", SFT, GRPO, options.seeds, more)
    rows = {
        mode: {name: browse(name, model, runs, options.levels, mode) for name, model in models.items()}
        for mode in options.modes
    }
    report(rows, runs.trained("web", options.seeds), options, runs.seconds())


def report(
    played: Mapping[str, Mapping[str, Rows]],
    trained: Mapping[str, Path],
    options: argparse.Namespace,
    seconds: Mapping[str, Any],
) -> None:
    """Print the tables, write the numbers, draw the curves of the runs in ``trained``."""
    result: dict[str, Any] = {
        "command": "python benchmarks/learning/web_learning.py",
        "levels": options.levels,
    }
    for mode, rows in played.items():
        measured = {name: rates(each) for name, each in rows.items()}
        solved = {name: [row["success"] for row in each] for name, each in rows.items()}
        gains = {
            f"{name} minus {other}": gain(solved[other], solved[name])
            for other in ("base", "sft")
            if other in rows
            for name in list(rows)[list(rows).index(other) + 1 :]
        }
        print(f"{mode}\n{table(measured, gains)}", flush=True)
        result[mode] = {"models": measured, "gains": gains}
    write_result(options.json, result | training(trained, options.figure) | {"seconds": seconds})


if __name__ == "__main__":
    main()
