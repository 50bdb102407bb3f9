"""How the settings of the two preference models were chosen: the loss on their dev pairs, nothing else.

    python benchmarks/quality/tweet_preferences.py [--seeds 0 1 2]

Prints, for each kind of features and some settings, the mean over seeds of the dev loss in nats and of the
dev accuracy. The labelled replies of benchmarks/data are not read. About two minutes of processor time.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from pixelis.cli.tweet_reward import RewardModelSettings, read_parts
from pixelis.envs.tweet.data.preferences import Preference
from pixelis.envs.tweet.learned.calibration import accuracy
from pixelis.envs.tweet.learned.features import BUCKETS, PairFeatures, SentenceFeatures, SurfaceFeatures
from pixelis.envs.tweet.learned.fitting import FitSettings, fit_head
from pixelis.rewards.text.encoders import CachedEncoder

HIDDEN, DECAYS = (0, 32), (0.1, 1.0, 10.0)
NUMBERS = 12  # of the sentence features


def sides(pairs: list[Preference], features: PairFeatures) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the better and of the worse replies."""
    return features([(one.tweet, one.chosen) for one in pairs]), features(
        [(one.tweet, one.rejected) for one in pairs]
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    seeds = parser.parse_args().seeds
    parts = read_parts(RewardModelSettings())
    sentence = SentenceFeatures(CachedEncoder("minilm", 50_000))
    surface = SurfaceFeatures()
    of_sentence = sides(parts.train, sentence), sides(parts.dev, sentence)
    of_surface = sides(parts.evaluation_train, surface), sides(parts.evaluation_dev, surface)
    tables = {
        "sentence: all": (of_sentence, slice(None)),
        "sentence: vectors": (of_sentence, slice(0, -NUMBERS)),
        "sentence: numbers": (of_sentence, slice(-NUMBERS, None)),
        "surface: all": (of_surface, slice(None)),
        "surface: runs": (of_surface, slice(0, BUCKETS)),
        "surface: patterns": (of_surface, slice(BUCKETS, 2 * BUCKETS)),
        "surface: steps": (of_surface, slice(2 * BUCKETS, None)),
    }
    print("| features | hidden | weight decay | dev loss | dev accuracy |\n|---|---|---|---|---|")
    for (name, ((train, dev), columns)), hidden, decay in product(tables.items(), HIDDEN, DECAYS):
        losses, shares = [], []
        for seed in seeds:
            settings = FitSettings(hidden=hidden, weight_decay=decay, seed=seed)
            better, worse, *held = (side[:, columns] for side in (*train, *dev))
            fitted = fit_head(better, worse, (held[0], held[1]), settings)
            losses.append(min(fitted.dev_loss))
            shares.append(accuracy(fitted.head(held[0]) - fitted.head(held[1])))
        print(f"| {name} | {hidden} | {decay} | {np.mean(losses):.4f} | {np.mean(shares):.3f} |", flush=True)


if __name__ == "__main__":
    main()
