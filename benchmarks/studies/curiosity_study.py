"""What curiosity is curious about: boredom, novelty and the noisy TV; writes JSON and a plot.

Usage: python benchmarks/studies/curiosity_study.py [--seeds 0 1 2] [--output docs/results/curiosity]

* Boredom: what a transition of ZoomRead is worth while it is repeated 200 times, by itself and among others.
* Novelty: ZoomRead is played without one tool; then transitions of that tool against those that were trained
  on, and against new ones of the known tools (other scenes), as AUC.
* Noisy TV: random colours in a corner, on in every other transition. What watching it is worth against
  something new and meaningful while it is off, with the inverse model's gates on the features and without
  (``gate_learning_rate=0``).
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from curiosity_worlds import KINDS, Room, Sample, auc, play_zoom_read, watch, with_tv

from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.terms.term import Transition

REPEATS = 200
SCENES = 90
GATES: dict[str, dict[str, Any]] = {"with": {}, "without": {"gate_learning_rate": 0.0}}
REPETITIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "alone": (0, {}),
    "among others": (3, {}),
    "untrained": (3, {"learning_rate": 0.0, "gate_learning_rate": 0.0}),
}
COLOURS = {"with": "tab:blue", "without": "tab:orange"}


def boredom(samples: Sequence[Sample], seed: int) -> dict[str, Any]:
    """Return what a transition of each kind is worth before each of 200 repetitions, and after the last.

    Alone, and among others: then each repetition comes with three that do not repeat. ``untrained`` is that
    with models and gates that learn nothing, so what centring the features does by itself.
    """
    rng = np.random.default_rng([seed, 3])
    curves: dict[str, Any] = {name: {} for name in REPETITIONS}
    for kind in KINDS:
        one = next(sample.transition for sample in samples if sample.kind == kind)
        rest = [sample.transition for sample in samples if sample.transition is not one]
        for name, (others, settings) in REPETITIONS.items():
            term = CuriosityTerm(seed=seed, **settings)
            curve = []
            for _ in range(REPEATS):
                curve.append(term.measure([one])[0])
                watch(term, [one, *(rest[index] for index in rng.integers(len(rest), size=others))])
            curves[name][kind] = [*curve, term.measure([one])[0]]
    return curves


def novelty(samples: Sequence[Sample], seed: int, held_out: str) -> dict[str, float]:
    """Return how well a tool that was never used is told from seen and from fresh uses of the others."""
    half = len(samples) // 2
    seen = [sample.transition for sample in samples[:half] if sample.kind != held_out]
    fresh = [sample.transition for sample in samples[half:] if sample.kind != held_out]
    new = [sample.transition for sample in samples if sample.kind == held_out]
    term = CuriosityTerm(seed=seed)
    for index in range(2):
        watch(term, _shuffled(seen, seed, index))
    low, middle, high = term.measure(seen), term.measure(fresh), term.measure(new)
    return {
        "auc_seen": auc(low, high),
        "auc_fresh": auc(middle, high),
        "seen": float(np.mean(low)),
        "fresh": float(np.mean(middle)),
        "new": float(np.mean(high)),
    }


def room_tv(seed: int, gates: str, share: float, steps: int = 3200, every: int = 200) -> dict[str, Any]:
    """Return what the TV and the room's far part are worth while someone walks in the near part."""
    term, room = CuriosityTerm(seed=seed, **GATES[gates]), Room(share, seed)
    watching, far = room.play(100, "near", tv=1), room.play(100, "far", tv=0)
    curve: list[list[float]] = []
    tv = new = []
    for done in range(0, steps + 1, every):
        tv, new = term.measure(watching), term.measure(far)
        curve.append([done, float(np.mean(tv)), float(np.mean(new)), auc(tv, new)])
        if done < steps:
            watch(term, room.play(every))
    open_ = term.model.features.gates[384:].reshape(4, 4, 24).mean(2)
    return {"curve": curve, "auc": auc(tv, new), "patch_gates": open_.tolist()}


def zoom_read_tv(
    samples: Sequence[Sample], seed: int, gates: str, tv: tuple[float, int, str]
) -> dict[str, float]:
    """Return what the TV (on during THINK, which does nothing) and a new tool (TV off) are worth."""
    share, block, held_out = tv
    rng = np.random.default_rng([seed, 4])
    half = len(samples) // 2
    term = CuriosityTerm(seed=seed, **GATES[gates])
    for index in range(2):
        known = [sample.transition for sample in samples[:half] if sample.kind != held_out]
        steps = _shuffled(known, seed, index)
        watch(term, [with_tv(step, rng, share, block) if rng.random() < 0.5 else step for step in steps])
    last = samples[half:]
    tv_on = [with_tv(sample.transition, rng, share, block) for sample in last if sample.kind == "THINK"]
    worth = {
        "tv": term.measure(tv_on),
        "new": term.measure([sample.transition for sample in last if sample.kind == held_out]),
    }
    return {"auc": auc(worth["tv"], worth["new"]), **{name: float(np.mean(v)) for name, v in worth.items()}}


def _shuffled(steps: Sequence[Transition], seed: int, index: int) -> list[Transition]:
    order = np.random.default_rng([seed, 5, index]).permutation(len(steps))
    return [steps[place] for place in order]


def run(seeds: Sequence[int]) -> dict[str, Any]:
    """Return all measurements."""
    results: dict[str, Any] = {"boredom": [], "novelty": [], "room_tv": [], "zoom_read_tv": []}
    for seed in seeds:
        samples = play_zoom_read(range(seed * SCENES, (seed + 1) * SCENES))
        results["boredom"].append({"seed": seed, **boredom(samples, seed)})
        for kind in KINDS:
            results["novelty"].append({"seed": seed, "held_out": kind, **novelty(samples, seed, kind)})
            print(results["novelty"][-1], flush=True)
        for gates in GATES:
            for share in (0.25, 0.5):
                row = {"seed": seed, "gates": gates, "share": share}
                results["room_tv"].append({**row, **room_tv(seed, gates, share)})
                print({**row, "last": results["room_tv"][-1]["curve"][-1]}, flush=True)
            for tv in ((0.5, 24, "SEGMENT"), (0.5, 24, "ZOOM"), (0.5, 1, "ZOOM")):
                row = {"seed": seed, "gates": gates, "share": tv[0], "block": tv[1], "held_out": tv[2]}
                results["zoom_read_tv"].append({**row, **zoom_read_tv(samples, seed, gates, tv)})
                print(results["zoom_read_tv"][-1], flush=True)
    return results


def summary(results: dict[str, Any]) -> dict[str, Any]:
    """Return the worst and median numbers that the claims are about."""
    falls = {
        setting: [1 - curve[-1] / curve[0] for row in results["boredom"] for curve in row[setting].values()]
        for setting in REPETITIONS
    }
    by = {gates: [row for row in results["room_tv"] if row["gates"] == gates] for gates in GATES}
    zoom = {gates: [row for row in results["zoom_read_tv"] if row["gates"] == gates] for gates in GATES}
    return {
        "fall_after_200": {name: _spread(values) for name, values in falls.items()},
        "auc_new_against_seen": _spread([row["auc_seen"] for row in results["novelty"]]),
        "auc_new_against_fresh": _spread([row["auc_fresh"] for row in results["novelty"]]),
        "room_auc_new_against_tv": {
            gates: _spread([row["auc"] for row in rows]) for gates, rows in by.items()
        },
        "room_new_over_tv": {
            gates: _spread([row["curve"][-1][2] / row["curve"][-1][1] for row in rows])
            for gates, rows in by.items()
        },
        "zoom_read_auc_new_against_tv": {
            g: _spread([row["auc"] for row in rows]) for g, rows in zoom.items()
        },
        "zoom_read_new_over_tv": {
            g: _spread([row["new"] / row["tv"] for row in rows]) for g, rows in zoom.items()
        },
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"least": min(values), "median": float(np.median(values)), "most": max(values), "n": len(values)}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def plot(results: dict[str, Any], path: Path) -> None:
    """Draw the four pictures of the study."""
    figure, axes = plt.subplots(1, 4, figsize=(17, 3.8), layout="constrained")
    for row in results["boredom"]:
        for name, colour in zip(REPETITIONS, ("tab:blue", "tab:green", "tab:grey"), strict=True):
            for curve in row[name].values():
                axes[0].plot(np.array(curve) / curve[0], color=colour, alpha=0.4, lw=1)
    axes[0].axhline(0.2, color="grey", ls=":")
    axes[0].set(title="one transition, repeated", xlabel="times seen", ylabel="worth ÷ worth at first")
    axes[0].set(yscale="log", ylim=(1e-4, 2))
    axes[0].plot([], color="tab:blue", label="alone")
    axes[0].plot([], color="tab:green", label="1 in 4 transitions")
    axes[0].plot([], color="tab:grey", label="1 in 4, nothing is trained")
    width, places = 0.25, np.arange(len(KINDS))
    for offset, (key, label) in enumerate(
        (("seen", "seen"), ("fresh", "known tools, new scenes"), ("new", "new tool"))
    ):
        values = [np.mean([r[key] for r in results["novelty"] if r["held_out"] == kind]) for kind in KINDS]
        axes[1].bar(places + (offset - 1) * width, values, width, label=label)
    axes[1].set_xticks(places, [kind.lower() for kind in KINDS], rotation=30, fontsize=8)
    axes[1].set(title="ZoomRead without one tool", ylabel="worth")
    for row in (row for row in results["room_tv"] if row["share"] == 0.5):
        steps, tv, new, _ = np.array(row["curve"]).T
        axes[2].plot(steps, tv, color=COLOURS[row["gates"]], ls="--", alpha=0.7)
        axes[2].plot(steps, new, color=COLOURS[row["gates"]], alpha=0.7)
    for gates, colour in COLOURS.items():
        axes[2].plot([], color=colour, label=f"{gates} the inverse model")
    axes[2].plot([], color="black", label="far part of the room (new)")
    axes[2].plot([], color="black", ls="--", label="noisy TV")
    axes[2].set(
        title="room with a TV in a quarter of the picture",
        xlabel="transitions seen",
        ylabel="worth",
        yscale="log",
    )
    with_gates = [r["patch_gates"] for r in results["room_tv"] if r["share"] == 0.5 and r["gates"] == "with"]
    gates = np.mean(with_gates, axis=0)
    picture = axes[3].imshow(gates, vmin=0, vmax=1, cmap="viridis")
    axes[3].set(title="gates by patch (TV top right)", xticks=[], yticks=[])
    figure.colorbar(picture, ax=axes[3])
    for axis in axes[:3]:
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="What curiosity is curious about.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=Path("docs/results/curiosity"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = run(options.seeds)
    seeds = " ".join(map(str, options.seeds))
    head = {
        "command": f"python benchmarks/studies/curiosity_study.py --seeds {seeds}",
        "hardware": platform.machine(),
        "torch": torch.__version__,
        "summary": summary(results),
    }
    print(json.dumps(head, indent=1))
    plot(results, options.output.with_suffix(".png"))
    options.output.with_suffix(".json").write_text(
        json.dumps(_rounded({**head, **results})) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
