"""Episodes until held-out success is 0.8, by how levels are chosen; writes JSON and a plot.

Usage: python benchmarks/ued_study.py [--seeds 0 1 2] [--steps 400] [--samplers uniform plr ...]
       [--jobs 3] [--json docs/results/ued.json] [--plot docs/results/ued.png]
       python benchmarks/ued_study.py --draw docs/results/ued.json   (the plot and the table alone)

GRPO, through the trainer of ``scripts/train_agent.py``, on the nine cells of ``Study/ShiftRow-v0`` (see
``ued_env.py``): a third easy, a third hard, a third impossible. All runs of a seed start from the same
model (see ``ued_model.py``) and have the settings below; every sampler has its defaults. Every five steps
192 held-out episodes are sampled, 32 of each length that can be solved; a run has reached 0.8 with the
first of two such evaluations in a row of at least 0.8. Episodes count whether they are trained on or played
for a score alone; the evaluation's are not counted.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from ued_env import LONGEST
from ued_model import build_start

from pixelis.agents.evaluate import play, summarise
from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.grpo.run import TrainingRun
from pixelis.agents.sampling import SamplingSettings

SAMPLERS = ("uniform", "domain_random", "learnability", "plr", "accel", "sfl", "learnability-without-oracle")
WITHOUT_ORACLE = "-without-oracle"
SETTINGS: Mapping[str, Any] = {
    "env": "ued_env:Study/ShiftRow-v0",
    "groups": 8,
    "group_size": 8,
    "max_new_tokens": 7,
    "lr": 0.002,
    "beta": 0.0,
    "micro_batch_size": 64,
    "eval_episodes": 0,
    "checkpoint_every": 10**6,
}
GOAL, EVERY, ROWS = 0.8, 5, 32
NEEDED = 0.6  # share of uniform's episodes that is asked for

Result = dict[str, Any]


def held_out(run: TrainingRun) -> list[float]:
    """Return the success rate on held-out rows for each length that can be solved."""
    sampling = SamplingSettings(run.config.temperature, max_new_tokens=run.config.max_new_tokens)
    rates = []
    for length in range(1, LONGEST["shown"] + 1):
        options = {"family": "shown", "length": length, "split": "test"}
        env = run.task_env.make
        episodes, _ = play(run.policy, env, range(ROWS), settings=sampling, options=options, rng_seed=length)
        rates.append(summarise(episodes, agent="policy", mode="sampled").success_rate)
    return rates


def measure(model: Path, sampler: str, seed: int, steps: int) -> Result:
    """Train once, until the goal is reached or the steps are over."""
    curve, flat, episodes, start = [], [], 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        values = {"model": str(model), "seed": seed, "output": f"{folder}/run", "steps": steps}
        choice = {
            "levels": sampler.removesuffix(WITHOUT_ORACLE),
            "level_oracle": WITHOUT_ORACLE not in sampler,
        }
        config = TrainConfig.from_mapping({**SETTINGS, **values, **choice})
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


def reached(curve: Sequence[Sequence[float]]) -> float | None:
    """Return the episodes at the first of two evaluations in a row at the goal; None if there are none."""
    good = [statistics.fmean(point[1:]) >= GOAL for point in curve]
    return next((curve[i][0] for i in range(len(curve) - 1) if good[i] and good[i + 1]), None)


def is_over(curve: Sequence[Sequence[float]]) -> bool:
    """Return whether nothing further is to be found out."""
    return reached(curve) is not None


def one_seed(seed: int, samplers: Sequence[str], steps: int) -> dict[str, Result]:
    """Train with every sampler from the same start; print a line for each run."""
    torch.set_num_threads(1)
    results: dict[str, Result] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = build_start(Path(folder), seed)
        for name in samplers:
            results[name] = found = measure(model, name, seed, steps)
            last = statistics.fmean(found["curve"][-1][1:])
            print(
                f"seed {seed}  {name:27} reached {found['reached']}  last {last:.2f}  zero variance "
                f"{found['zero_variance']:.2f}  cpu {found['cpu_seconds']:.0f} s",
                flush=True,
            )
    return results


def study(samplers: Sequence[str], seeds: Sequence[int], steps: int, jobs: int) -> dict[str, list[Result]]:
    """Train with every sampler and every seed."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(one_seed, seeds, [samplers] * len(seeds), [steps] * len(seeds)))
    return {name: [results[name] for results in found] for name in samplers}


def ratio(results: Mapping[str, Sequence[Result]], name: str) -> tuple[float, bool]:
    """Return the mean episodes to the goal over those of uniform, and whether all runs reached it.

    A run of the sampler that did not reach it counts with all its episodes, so the ratio is a lower bound;
    where uniform's did not, an upper bound.
    """
    means = [
        statistics.fmean(run["reached"] or run["episodes"] for run in results[key])
        for key in (name, "uniform")
    ]
    return means[0] / means[1], all(run["reached"] for run in results[name])


def table(results: Mapping[str, Sequence[Result]]) -> str:
    """Return a Markdown table."""
    lines = [
        "| levels | episodes to 0.8, by seed | mean | of uniform's | zero variance |",
        "|---|---|---|---|---|",
    ]
    for name, runs in results.items():
        each = ", ".join(
            f"{run['reached']:,}" if run["reached"] else f"> {run['episodes']:,}" for run in runs
        )
        mean = statistics.fmean(run["reached"] or run["episodes"] for run in runs)
        share, whole = ratio(results, name)
        flat = statistics.fmean(run["zero_variance"] for run in runs)
        mark = "" if whole else "> "
        lines.append(f"| {name} | {each} | {mark}{mean:,.0f} | {mark}{share:.2f} | {flat:.2f} |")
    return "\n".join(lines)


def draw(results: Mapping[str, Sequence[Result]], path: Path) -> None:
    """Plot held-out success by episodes (thin: each seed), and the episodes to the goal."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    colours = dict(zip(results, plt.get_cmap("tab10").colors, strict=False))  # pyright: ignore
    for name, runs in results.items():
        for place, run in enumerate(runs):
            points = [(point[0], statistics.fmean(point[1:])) for point in run["curve"]]
            label = name if place == 0 else None
            left.plot(*zip(*points, strict=True), color=colours[name], lw=1.2, alpha=0.8, label=label)
    left.axhline(GOAL, color="black", lw=0.8, ls=":")
    left.set(xlabel="training episodes", ylabel="held-out success, mean of lengths 1-6", ylim=(0, 1))
    left.legend(fontsize=8)
    for place, (name, runs) in enumerate(results.items()):
        needed = [run["reached"] or run["episodes"] for run in runs]
        right.barh(place, statistics.fmean(needed), color=colours[name], alpha=0.6)
        right.plot(needed, [place] * len(needed), "k.", ms=6)
    base = statistics.fmean(run["reached"] or run["episodes"] for run in results["uniform"])
    right.axvline(NEEDED * base, color="black", lw=0.8, ls=":")
    right.set_yticks(range(len(results)), list(results))
    right.invert_yaxis()
    right.set_xlabel(f"episodes to {GOAL} (bar: mean, points: seeds; dotted: {NEEDED} of uniform)")
    figure.savefig(path, dpi=110)


def main() -> int:
    """Run from the command line; return 0 if some sampler needs at most 0.6 of uniform's episodes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=400, help="most training steps of a run")
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), help="uniform among them")
    parser.add_argument("--jobs", type=int, default=1, help="seeds at the same time")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only show what this file holds")
    options = parser.parse_args()
    if options.draw is not None:
        results = json.loads(options.draw.read_text(encoding="utf-8"))["runs"]
    else:
        results = study(options.samplers, options.seeds, options.steps, options.jobs)
    if options.json is not None:
        content = {"seeds": options.seeds, "steps": options.steps, "settings": SETTINGS, "runs": results}
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        draw(results, options.plot)
    print(table(results))
    shares = {name: ratio(results, name) for name in results if name not in ("uniform", "domain_random")}
    good = [name for name, (share, whole) in shares.items() if whole and share <= NEEDED]
    print(f"at most {NEEDED} of uniform's episodes: {', '.join(good) or 'none'}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
