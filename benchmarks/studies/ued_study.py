"""Episodes until held-out success is 0.8, by how levels are chosen; writes JSON and a plot.

Usage: python benchmarks/studies/ued_study.py [--seeds 20 21 22] [--steps 200] [--lr 0.001]
       [--samplers uniform plr ...] [--json docs/results/ued.json] [--plot docs/results/ued.png]
       python benchmarks/studies/ued_study.py --seeds --json docs/results/ued.json   (the table alone)

GRPO, through the trainer of ``scripts/train_agent.py``, on the eighteen cells of ``Study/ShiftRow-v0`` (see
``ued_env.py``): a third easy, a third hard, a third impossible. All runs of a seed start from the same model
(see ``ued_model.py``) and have the settings below; every sampler has its defaults. Every second step the
success rate on 64 fresh rows of each easy and each hard cell is worked out, exactly
(``ued_model.success_rates``). A run has reached 0.8 with the first of two such evaluations in a row in which
the mean of the hard cells is at least 0.8, and that of the easy ones, by itself, too. Episodes count whether
they are trained on or played for a score alone.

The learning rate is the better for uniform of 0.001 and 0.002, by the mean of the seeds 0 to 2. The JSON is
written after every run; runs that it has are not done again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from ued_env import EASY, HARD, LENGTHS, asked_for, shown
from ued_model import build_start, success_rates

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.settings.rl import TrainConfig

SAMPLERS = (
    "uniform",
    "domain_random",
    "learnability",
    "learnability-without-oracle",
    "plr",
    "accel",
    "sfl",
)
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "-without-oracle": {"oracle": False},
    "-not-robust": {"robust": False},
}
"""What the end of a sampler's name changes."""
ENV = "ued_env:Study/ShiftRow-v0"
SETTINGS: Mapping[str, Any] = {
    "env": ENV,
    "groups": 8,
    "group_size": 8,
    "max_new_tokens": 7,
    "lr": 0.001,
    "beta": 0.0,
    "micro_batch_size": 64,
    "eval_episodes": 0,
    "checkpoint_every": 10**6,
}
GOAL, EVERY, ROWS = 0.8, 2, 64
NEEDED = 0.6  # share of uniform's episodes that is asked for

Point = Sequence[Any]
"""Episodes so far, and the success rates of `held_out`."""
Result = dict[str, Any]
Runs = dict[str, dict[str, Result]]
"""By sampler and seed."""


@cache
def held_out_rows(family: str, length: int) -> list[tuple[str, str]]:
    """Return what is shown and what is asked for, of the levels that every evaluation is of."""
    env: Any = gym.make(ENV).unwrapped
    rows = []
    for seed in range(ROWS):
        env.reset(seed=seed, options={"family": family, "length": length, "split": "test"})
        rows.append((shown(env.row, family, length), asked_for(env.row, family, length)))
    return rows


def held_out(run: TrainingRun) -> list[list[float]]:
    """Return the success rate on held-out levels of each length: of hard ones, and of easy ones."""
    policy = run.policy
    return [
        [
            round(
                success_rates(policy.model, policy.tokenizer, held_out_rows(family, length)).mean().item(), 4
            )
            for length in LENGTHS
        ]
        for family in (HARD, EASY)
    ]


def choice(sampler: str) -> dict[str, Any]:
    """Return the settings that a sampler's name stands for."""
    end = next((end for end in VARIANTS if sampler.endswith(end)), "")
    return {"levels": {"type": sampler.removesuffix(end), **VARIANTS.get(end, {})}}


def measure(
    model: Path, sampler: str, seed: int, steps: int, settings: Mapping[str, Any] = SETTINGS
) -> Result:
    """Train once, until the goal is reached or the steps are over."""
    curve, flat, episodes, start = [], [], 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        values = {"model": str(model), "seed": seed, "output": f"{folder}/run", "steps": steps}
        config = TrainConfig.from_mapping({**settings, **values, **choice(sampler)})
        with TrainingRun.start(config) as run:
            curve.append([0, *held_out(run)])
            for step in range(1, steps + 1):
                row, _, _ = run.trainer.step()
                episodes += int(row["episodes/count"] or 0)
                if row["levels/zero_variance"] is not None:
                    flat.append(row["levels/zero_variance"])
                if step % EVERY == 0:
                    curve.append([episodes, *held_out(run)])
                    if is_over(curve):
                        break
    return {
        "reached": reached(curve),
        "episodes": episodes,
        "zero_variance": statistics.fmean(flat) if flat else math.nan,
        "curve": curve,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def means(point: Point) -> tuple[float, float]:
    """Return the mean success on hard levels and on easy ones."""
    _, hard, easy = point
    return statistics.fmean(hard), statistics.fmean(easy)


def reached(curve: Sequence[Point]) -> float | None:
    """Return the episodes at the first of two evaluations in a row at the goal; None if there are none."""
    good = [min(means(point)) >= GOAL for point in curve]
    return next((curve[i][0] for i in range(len(curve) - 1) if good[i] and good[i + 1]), None)


def is_over(curve: Sequence[Point]) -> bool:
    """Return whether nothing further is to be found out."""
    return reached(curve) is not None


def study(
    samplers: Sequence[str], seeds: Sequence[int], steps: int, settings: Mapping[str, Any], path: Path | None
) -> Runs:
    """Train with every sampler and every seed; print a line for each run, and keep it in the file."""
    torch.set_num_threads(1)
    runs: Runs = {name: {} for name in samplers}
    if path is not None and path.exists():
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["settings"] != settings:
            raise SystemExit(f"{path} holds runs with other settings; choose another file")
        runs = {**runs, **content["runs"]}
    for seed in seeds:
        lacking = [name for name in samplers if str(seed) not in runs[name]]
        with tempfile.TemporaryDirectory() as folder:
            model = build_start(Path(folder), seed) if lacking else Path(folder)
            for name in lacking:
                runs[name][str(seed)] = found = measure(model, name, seed, steps, settings)
                hard, easy = means(found["curve"][-1])
                print(
                    f"seed {seed}  {name:27} reached {found['reached']}  hard {hard:.2f}  easy {easy:.2f}  "
                    f"zero variance {found['zero_variance']:.2f}  cpu {found['cpu_seconds']:.0f} s",
                    flush=True,
                )
                if path is not None:
                    path.write_text(json.dumps({"settings": settings, "runs": runs}) + "\n", encoding="utf-8")
    return runs


def needed(run: Result) -> float:
    """Return the episodes to the goal; where it was not reached, all there were, which is a lower bound."""
    return run["reached"] or run["episodes"]


def ratio(runs: Runs, name: str) -> tuple[float, float, float, bool]:
    """Return a sampler's mean episodes to the goal over uniform's, its interval, and whether all reached it.

    Of the seeds that both have. The interval is the 95 % percentile bootstrap over seeds; a seed's runs,
    which began alike, stay together. A run of the sampler that did not reach the goal makes the ratio a
    lower bound.
    """
    common = sorted(set(runs[name]) & set(runs["uniform"]))
    pairs = np.array([[needed(runs[key][seed]) for seed in common] for key in (name, "uniform")])
    seeds = np.random.default_rng(0).integers(len(common), size=(10_000, len(common)))
    means = pairs[:, seeds].mean(-1)
    low, high = np.quantile(means[0] / means[1], [0.025, 0.975])
    here = pairs.mean(-1)
    return here[0] / here[1], low, high, all(runs[name][seed]["reached"] for seed in common)


def table(runs: Runs) -> str:
    """Return a Markdown table."""
    lines = [
        "| levels | episodes to 0.8, by seed | median | mean | of uniform's (95 %) | zero variance |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in runs.items():
        each = [f"{'' if run['reached'] else '> '}{needed(run):,}" for _, run in sorted(found.items())]
        middle, mean = (
            f([needed(run) for run in found.values()]) for f in (statistics.median, statistics.fmean)
        )
        share, low, high, whole = ratio(runs, name)
        flat = statistics.fmean(run["zero_variance"] for run in found.values())
        mark = "" if whole else "> "
        means = f"{mark}{middle:,.0f} | {mark}{mean:,.0f} | {mark}{share:.2f} ({low:.2f}–{high:.2f})"
        lines.append(f"| {name} | {', '.join(each)} | {means} | {flat:.2f} |")
    return "\n".join(lines)


def draw(runs: Runs, path: Path) -> None:
    """Plot held-out success by episodes (thin: each seed), and the episodes to the goal."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    colours = dict(zip(runs, plt.get_cmap("tab10").colors, strict=False))  # pyright: ignore
    for name, found in runs.items():
        for place, run in enumerate(found.values()):
            points = [(point[0], means(point)[0]) for point in run["curve"]]
            label = name if place == 0 else None
            left.plot(*zip(*points, strict=True), color=colours[name], lw=1.2, alpha=0.8, label=label)
    left.axhline(GOAL, color="black", lw=0.8, ls=":")
    left.set(xlabel="training episodes", ylabel="held-out success on hard levels", ylim=(0, 1))
    left.legend(fontsize=8)
    for place, (name, found) in enumerate(runs.items()):
        each = [needed(run) for run in found.values()]
        right.barh(place, statistics.fmean(each), color=colours[name], alpha=0.6)
        right.plot(each, [place] * len(each), "k.", ms=6)
    base = statistics.fmean(needed(run) for run in runs["uniform"].values())
    right.axvline(NEEDED * base, color="black", lw=0.8, ls=":")
    right.set_yticks(range(len(runs)), list(runs))
    right.invert_yaxis()
    right.set_xlabel(f"episodes to {GOAL} (bar: mean, points: seeds; dotted: {NEEDED} of uniform)")
    figure.savefig(path, dpi=110)


def main() -> int:
    """Run from the command line; return 0 if some sampler needs at most 0.6 of uniform's episodes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[20, 21, 22, 23, 24])
    parser.add_argument("--steps", type=int, default=200, help="most training steps of a run")
    parser.add_argument("--lr", type=float, default=SETTINGS["lr"])
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), help="uniform among them")
    parser.add_argument("--json", type=Path, help="is gone on with where it exists")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    settings = {**SETTINGS, "lr": options.lr}
    every = study(options.samplers, options.seeds, options.steps, settings, options.json)
    runs = {name: every[name] for name in (*SAMPLERS, *every) if every.get(name)}
    if options.plot is not None:
        draw(runs, options.plot)
    print(table(runs))
    shares = {name: ratio(runs, name) for name in runs if name not in ("uniform", "domain_random")}
    good = [name for name, (share, _, _, whole) in shares.items() if whole and share <= NEEDED]
    print(f"at most {NEEDED} of uniform's episodes: {', '.join(good) or 'none'}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
