r"""How the step size decides stability and speed: fixed learning rates beside ``lr: auto``.

    python benchmarks/learning/step_size.py --runs FOLDER --config zoom_read --start 0.001 --steps 40 \
        -- --env-kwargs.reader truth

An arm is a way to choose the rate, or another remedy at a fixed one, and a factor of ``--start``; each is run
for every seed by the command that a person types, one after the other. What a killed run has done is not done
again, so the same command goes on where it was stopped. What follows ``--`` goes to every run. Prints a
Markdown table: training success in the first and last ten steps, the largest entropy of ten steps, KL of the
updates, steps taken back, last rate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from learning_runs import LearningRuns, arguments, is_whole, own_words, write_result
from result_tables import markdown_table

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import read_metrics

# A fixed rate is one that is measured and may not move.
FIXED = ("--step-size.lowest", "1", "--step-size.highest", "1", "--step-size.take_back", "null")
ARMS: dict[str, tuple[str, ...]] = {
    "fixed": FIXED,
    "auto": (),
    "never": ("--step-size.take_back", "null"),
    "left_out": ("--step-size.retries", "0"),
    "beta_0.04": (*FIXED, "--beta", "0.04"),
    "beta_0": (*FIXED, "--beta", "0"),
    "16_groups": (*FIXED, "--groups", "16"),
    "groups_of_16": (*FIXED, "--group-size", "16"),
    "epochs_2": (*FIXED, "--epochs", "2"),
    "no_deviation": (*FIXED, "--algorithm.scale", "none"),
    "rank_4": (*FIXED, "--lora.rank", "4", "--lora.alpha", "8"),
    "rank_64": (*FIXED, "--lora.rank", "64", "--lora.alpha", "128"),
    "lion": FIXED,
    "sgd": FIXED,
    "normalised": FIXED,
}
OPTIMISERS = ("lion", "sgd", "normalised")
WINDOW = 10


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the numbers of one run's row of the table."""
    success = _known(rows, "success/rate")
    entropy = _known(rows, "policy/entropy")
    means = [float(np.mean(entropy[at : at + WINDOW])) for at in range(max(1, len(entropy) - WINDOW + 1))]
    kls = _known(rows, "policy/step_kl")
    return {
        "steps": len(rows),
        "first": float(np.mean(success[:WINDOW])),
        "last": float(np.mean(success[-WINDOW:])),
        "entropy_first": float(np.mean(entropy[:3])),
        "entropy_most": max(means),
        "kl_median": float(np.median(kls)) if kls else None,
        "kl_most": max(kls) if kls else None,
        "taken_back": rows[-1]["policy/steps_taken_back"],
        "lr": rows[-1]["policy/lr"],
        "kl_share": sum(_known(rows, "time/step_kl")) / sum(_known(rows, "time/step")),
    }


def _known(rows: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    return [row[key] for row in rows if row.get(key) is not None]


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the Markdown table of all runs."""
    head = ["arm", "success, first and last 10 steps", "entropy, first 3 steps, most in 10"]
    head += ["KL, median and most", "taken back", "last rate"]
    lines = []
    for name, row in found.items():
        kl = "–" if row["kl_median"] is None else f"{row['kl_median']:.4f}, {row['kl_most']:.3f}"
        cells = [
            f"{row['first']:.2f} → {row['last']:.2f}",
            f"{row['entropy_first']:.2f}, {row['entropy_most']:.2f}",
        ]
        lines.append([name, *cells, kl, f"{row['taken_back']}", f"{row['lr']:.2g}"])
    return markdown_table(head, lines)


def _run(runs: LearningRuns, folder: str, arm: str, settings: Sequence[str]) -> None:
    """Do a run, or go on with it."""
    begun = list_checkpoints(RunFolder(runs.path / folder).checkpoints)
    new = [*settings, "--lr", "auto", *ARMS[arm], "--eval-episodes", "0", "--output", folder]
    script = ("../benchmarks/learning/with_optimiser.py", arm) if arm in OPTIMISERS else ("train_agent.py",)
    runs.command(folder, *script, *(["--resume", folder] if begun else new))


def main() -> None:
    """Do the runs that are missing; print the table of those that are there."""
    own, more = own_words(sys.argv[1:])
    parser = arguments(__doc__, "nothing else")
    parser.add_argument("--config", default="zoom_read", help="configuration of every run")
    parser.add_argument("--start", type=float, required=True, help="rate that the factors multiply")
    parser.add_argument("--factors", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=["fixed", "auto"])
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--only-table", action="store_true", help="train nothing")
    asked = parser.parse_args(own)
    runs, found = LearningRuns(asked.runs.resolve()), {}
    for seed, arm, factor in product(asked.seeds, asked.arms, asked.factors):
        start = f"{asked.start * factor:.3g}"
        folder = f"{Path(asked.config).stem}-{arm}-{start}-seed{seed}"
        path = runs.path / folder
        if not asked.only_table and not is_whole(path):
            settings = ["--config", asked.config, "--step-size.start", start, "--seed", str(seed)]
            _run(runs, folder, arm, [*settings, "--steps", str(asked.steps), *more])
        if (path / "metrics.jsonl").is_file() and (rows := read_metrics(path / "metrics.jsonl")):
            found[f"{arm} {start}, seed {seed}"] = summary(rows)
    print(table(found))
    write_result(asked.json, found)


if __name__ == "__main__":
    main()
