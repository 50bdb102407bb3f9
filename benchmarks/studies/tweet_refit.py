"""Whether the learned reward of replies gains from the replies with written faults.

    python benchmarks/studies/tweet_refit.py

The preferences that the shipped model was fitted to, and with them: each good reply of
`faulty_replies.jsonl` above each faulty one to the same tweet, above two good replies to tweets on another
topic, and good replies of the package above the insults that fit anywhere. Prints the AUC by kind over topics
left out of the fit (five folds), then, on the labelled replies of benchmarks/data, that of the shipped model
and of the refitted one, alone and in the hybrid. Two minutes of processor time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pixelis.cli.tweet_reward import RewardModelSettings, read_parts
from pixelis.envs.tweet.data.preferences import Preference, load_labelled
from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.learned.features import SentenceFeatures
from pixelis.envs.tweet.learned.fitting import FitSettings
from pixelis.envs.tweet.learned.model import PreferenceModel, save_model
from pixelis.envs.tweet.learned.training import Triple, train_model
from pixelis.envs.tweet.reward.held_out import kinds_table, measure, score_rows
from pixelis.envs.tweet.reward.learned_rewards import SHIPPED
from pixelis.rewards.text.encoders import CachedEncoder

sys.path.insert(0, str(Path(__file__).parents[2] / "recipes"))

from tweet_faults.cases import FaultCase, load_faulty

FOLDS, ELSEWHERE, UNDER = 5, 2, 6
DATA = Path(__file__).parents[1] / "data"


def fault_triples(
    placed: Sequence[FaultCase], loose: Sequence[FaultCase], base: Sequence[Triple]
) -> list[Triple]:
    """Return preferences for good replies over faulty ones.

    Args:
        placed: cases with a tweet.
        loose: faulty replies that fit anywhere; each is put under six tweets of ``base``.
        base: other preferences, whose better replies are good.
    """
    rng = np.random.default_rng(0)
    good = [one for one in placed if one.fault == "good"]
    found: list[Triple] = []
    for one in good:
        found += [
            (one.tweet, one.reply, bad.reply)
            for bad in placed
            if bad.tweet == one.tweet and bad.fault != "good"
        ]
        others = [other for other in good if other.group != one.group]
        found += [(one.tweet, one.reply, others[i].reply) for i in rng.integers(len(others), size=ELSEWHERE)]
    for one in loose:
        under = [base[i] for i in rng.integers(len(base), size=UNDER)]
        found += [(tweet, chosen, one.reply) for tweet, chosen, _ in under]
    return found


def main() -> None:
    """Print the tables."""
    encoder = CachedEncoder("minilm", capacity=100_000)
    features = SentenceFeatures(encoder)
    parts = read_parts(RewardModelSettings())
    train, dev = _triples(parts.train), _triples(parts.dev)
    written = load_faulty()
    placed = [one for one in written if one.tweet]
    loose = [one for one in written if not one.tweet and one.fault not in ("stock", "good")]

    def fitted(extra: Sequence[Triple]) -> PreferenceModel:
        settings = FitSettings(seed=0)
        return train_model([*train, *extra], dev, features, settings, role="training", encoder=encoder.name)

    groups = np.unique([one.group for one in placed])
    fold_of = dict(
        zip(
            np.random.default_rng(0).permutation(groups).tolist(), np.arange(len(groups)) % FOLDS, strict=True
        )
    )
    faults: list[str] = []
    before, after = [], []
    shipped = fitted([])
    for fold in range(FOLDS):
        kept = [one for one in placed if fold_of[one.group] != fold]
        out = [one for one in placed if fold_of[one.group] == fold]
        model = fitted(fault_triples(kept, loose, train))
        seen = features([(one.tweet, one.reply) for one in out])
        before.append(shipped.probability(seen))
        after.append(model.probability(seen))
        faults += [one.fault for one in out]
    print("unseen topics of the written cases, learned alone:\n| fault | shipped | refitted |\n|---|---|---|")
    fault, pair = np.array(faults), (np.concatenate(before), np.concatenate(after))
    for name in sorted(set(faults) - {"good"}):
        cells = [f"{area_under_curve(one[fault == 'good'], one[fault == name]):.3f}" for one in pair]
        print(f"| {name} | {' | '.join(cells)} |")
    model = fitted(fault_triples(placed, loose, train))
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "training")
        shutil.copytree(SHIPPED / "evaluation", Path(folder) / "evaluation")
        for name in ("tweet_pairs", "tweet_faults"):
            labelled = load_labelled(DATA / f"{name}.jsonl")
            rows = [(one.tweet, one.reply, one.good) for one in labelled]
            for label, models in (("shipped", SHIPPED), ("refitted", Path(folder))):
                scores = score_rows(models, rows)
                shown = {reward: f"{numbers['auc']:.3f}" for reward, numbers in measure(scores, rows).items()}
                print(f"{name}, {label}: {shown}")
                print("\n".join(kinds_table(scores, rows, [one.kind for one in labelled])))


def _triples(pairs: Sequence[Preference]) -> list[Triple]:
    return [(one.tweet, one.chosen, one.rejected) for one in pairs]


if __name__ == "__main__":
    main()
