r"""The README's result on web sites: ``python benchmarks/learning/web_learning.py --runs FOLDER``.

    python benchmarks/learning/web_learning.py --runs FOLDER --seeds 61 62 63 --modes greedy sampled \
        -- --steps 64

SmolLM2-135M-Instruct learns to use web sites of difficulty 0 and 1: SFT once on what the oracle does on
training sites (`configs/web_browse_sft.yaml`), then GRPO once a seed (`configs/web_browse.yaml`), each by the
command that a person types. Before, between and after, it plays the same held-out levels (split ``test``),
half of them of each difficulty; with ``--families`` it trains on these alone and plays all. What lies in
``--runs`` already is not done again; what follows ``--`` goes to every run of GRPO. Intervals are 95 %:
Wilson's for a rate, Newcombe's for a paired difference (`pixelis.agents.runs.paired`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
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


def parts(rows: Rows, seen: Sequence[str]) -> dict[str, Rows]:
    """Return ``all`` → the rows, and where ``seen`` names families those of them and those of the others."""
    if not seen:
        return {"all": rows}
    return {
        "all": rows,
        "trained on": [row for row in rows if row["family"] in seen],
        "never trained on": [row for row in rows if row["family"] not in seen],
    }


def rates(rows: Rows, seen: Sequence[str] = ()) -> dict[str, list[float]]:
    """Return each of `parts`, each difficulty and each family → solved, of, Wilson's interval."""
    found = parts(rows, seen)
    found |= {f"difficulty {d}": [row for row in rows if row["difficulty"] == d] for d in DIFFICULTIES}
    for family in sorted({row["family"] for row in rows}):
        found[family] = [row for row in rows if row["family"] == family]
    return {key: rate([row["success"] for row in each if row["valid"]]) for key, each in found.items()}


def gains(rows: Mapping[str, Rows], seen: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``MODEL minus base`` and ``minus sft`` of each of `parts` → the paired difference."""
    names, found = list(rows), {}
    for other in ("base", "sft"):
        for name in names[names.index(other) + 1 :] if other in rows else ():
            before, after = parts(rows[other], seen), parts(rows[name], seen)
            for part in before:
                words = f"{name} minus {other}" + ("" if part == "all" else f", {part}")
                solved = ([row["success"] for row in each[part]] for each in (before, after))
                found[words] = gain(*solved)
    return found


def table(measured: Mapping[str, Mapping[str, Any]], gained: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs, a row a model."""
    columns = list(next(iter(measured.values())))
    lines = []
    for name, found in measured.items():
        solved = [f"{found[key][0]}/{found[key][1]}" if key in found else "–" for key in columns[1:]]
        differences = [gain_cell(gained.get(f"{name} minus {other}")) for other in ("base", "sft")]
        lines.append([name, rate_cell(found["all"]), *solved, *differences])
    return markdown_table(["model", *columns, "minus base", "minus sft"], lines)


def main() -> None:
    """Train, play, print, write."""
    own, more = own_words(sys.argv[1:])
    parser = arguments(__doc__, "played levels")
    parser.add_argument("--levels", type=int, default=200, help="held-out, half of each difficulty")
    parser.add_argument("--modes", nargs="*", default=["greedy"], choices=["greedy", "sampled"])
    parser.add_argument("--families", nargs="*", default=[], help="to train on; all are played")
    parser.add_argument("--figure", type=Path, help="file for the picture of what happened in training")
    options = parser.parse_args(own)
    runs = LearningRuns(options.runs.resolve())
    every = [f"--env-kwargs.family=[{', '.join(options.families)}]"] if options.families else []
    models = runs.train("web", SFT, GRPO, options.seeds, more, every)
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
        measured = {name: rates(each, options.families) for name, each in rows.items()}
        gained = gains(rows, options.families)
        print(f"{mode}\n{table(measured, gained)}", flush=True)
        result[mode] = {"models": measured, "gains": gained}
    write_result(options.json, result | training(trained, options.figure) | {"seconds": seconds})


if __name__ == "__main__":
    main()
