"""Whether the similarity of consecutive observations tells good play from random play; prints a table.

Usage: python benchmarks/studies/coherence_similarity.py [--seeds 24] [--output FILE]

Coherence can have a part for the mean cosine of an episode's consecutive observations (``encoder``). Here
the oracle and the random policy of several environments play the same seeds, over all difficulties; the
cosines are those of ``hashed`` (text and thumbnail) and of all-MiniLM-L6-v2 (text, extra ``text``).
Printed for each: the median cosine of both, the AUC (how often the oracle's is the higher one of a pair; 0.5
tells nothing, below 0.5 the random play is the more similar), and the best balanced accuracy that one band of
"good" cosines can reach on the half of the seeds that it was not chosen on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from curiosity_worlds import auc

import pixelis.envs  # noqa: F401  # registers the environments
from pixelis.envs.check.playing import play
from pixelis.rewards.features.encoder import HashedEncoder
from pixelis.rewards.terms.coherence import cosine
from pixelis.rewards.text.minilm import MiniLM

ENVIRONMENTS: Mapping[str, Mapping[str, Any]] = {
    "Pixelis/ZoomRead-v0": {"reader": "truth"},
    "Pixelis/SizeCompare-v0": {"reader": "truth"},
    "Pixelis/ChartRead-v0": {"reader": "truth"},
    "Pixelis/ReceiptSum-v0": {"reader": "truth"},
    "Pixelis/WireTrace-v0": {"reader": "truth"},
    "Pixelis/TrackRead-v0": {"reader": "truth"},
    "Pixelis/WebBrowse-v0": {},
    "Pixelis/CodeProblem-v0": {"mode": "multi"},
}
POLICIES = ("oracle", "random")
Encode = Callable[[Mapping[str, Any]], np.ndarray]


def encoders() -> dict[str, Encode]:
    """Return encoder → function of an observation."""
    model, known = MiniLM(), {}

    def minilm(observation: Mapping[str, Any]) -> np.ndarray:
        text = observation["text"]
        if text not in known:
            known[text] = model([text])[0]
        return known[text]

    return {"hashed": HashedEncoder(), "minilm": minilm}


def similarities(env: Any, policy: str, seeds: int, encode: Mapping[str, Encode]) -> dict[str, list[float]]:
    """Return encoder → each episode's mean cosine of consecutive observations."""
    found: dict[str, list[float]] = {name: [] for name in encode}
    levels = list(env.source.difficulties)
    for seed in range(seeds):
        episode = play(env, env.players()[policy](env), seed, {"difficulty": levels[seed % len(levels)]})
        for name, function in encode.items():
            rows = [function(turn[0]) for turn in episode]
            cosines = [cosine(before, after) for before, after in itertools.pairwise(rows)]
            found[name].append(float(np.mean(cosines)))
    return found


def band(good: Sequence[float], bad: Sequence[float]) -> tuple[float, float, float]:
    """Return the band of cosines chosen on even places, and its balanced accuracy on the odd ones."""
    edges = np.quantile([*good[::2], *bad[::2]], np.linspace(0, 1, 13))
    best = max(
        (
            (_balanced(good[::2], bad[::2], low, high), low, high)
            for low in edges
            for high in edges
            if low < high
        ),
        default=(0.5, 0.0, 0.0),
    )
    return float(best[1]), float(best[2]), _balanced(good[1::2], bad[1::2], best[1], best[2])


def _balanced(good: Sequence[float], bad: Sequence[float], low: float, high: float) -> float:
    inside = [np.mean([low <= value <= high for value in values]) for values in (good, bad)]
    return float(0.5 * (inside[0] + 1 - inside[1]))


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--output", type=Path, default=Path("docs/results/coherence_similarity.json"))
    options = parser.parse_args()
    encode, rows = encoders(), []
    pooled: dict[str, dict[str, list[float]]] = {name: {who: [] for who in POLICIES} for name in encode}
    for env_id, keywords in ENVIRONMENTS.items():
        env = gym.make(env_id, disable_env_checker=True, **keywords).unwrapped
        played = {who: similarities(env, who, options.seeds, encode) for who in POLICIES}
        env.close()
        for name in encode:
            good, bad = (played[who][name] for who in POLICIES)
            rows.append(_row(env_id, name, good, bad))
            for who in POLICIES:
                pooled[name][who] += played[who][name]
    rows += [_row("all", name, *(both[who] for who in POLICIES)) for name, both in pooled.items()]
    print("environment | encoder | oracle | random | AUC | band | accuracy")
    for row in rows:
        low, high = row["band"]
        print(
            f"{row['env']} | {row['encoder']} | {row['oracle']:.2f} | {row['random']:.2f} | {row['auc']:.2f} "
            f"| {low:.2f}-{high:.2f} | {row['accuracy']:.2f}"
        )
    result = {"seeds": options.seeds, "machine": platform.machine(), "rows": rows}
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _row(env_id: str, encoder: str, good: Sequence[float], bad: Sequence[float]) -> dict[str, Any]:
    low, high, accuracy = band(good, bad)
    return {
        "env": env_id,
        "encoder": encoder,
        "episodes": len(good),
        "oracle": float(np.median(good)),
        "random": float(np.median(bad)),
        "auc": auc(bad, good),
        "band": [low, high],
        "accuracy": accuracy,
    }


if __name__ == "__main__":
    main()
