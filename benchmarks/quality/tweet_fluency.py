"""How well likelihood tells nonsense from replies: ``python benchmarks/quality/tweet_fluency.py``.

Good replies of the labelled sets against `tweet_nonsense.jsonl`, what a policy that hardly writes English was
paid for: quantiles of the log-likelihood, the AUC of several ways to write it down, and which share of either
reaches the line for success by each reward. Some 2 minutes on one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.learned.fluency import LENGTH_POWER, Fluency
from pixelis.envs.tweet.reward import TweetReward, fluent_reward, hybrid_reward
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY

DATA = Path(__file__).resolve().parents[1] / "data"
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
GOOD = ("tweet_pairs", "tweet_faults", "tweet_related_words")
NONSENSE = "tweet_nonsense"
Pair = tuple[str, str]


def pairs_of(name: str, label: str, half: str) -> list[Pair]:
    """Return the pairs of tweet and reply of a file that have a label and a half."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["tweet"], row["reply"]) for row in rows if (row["label"], row["half"]) == (label, half)]


def main() -> None:
    """Print the three tables."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    sets = {
        f"{label}, {name}, {half}": pairs
        for label, names in (("good", GOOD), ("bad", (NONSENSE,)))
        for name in names
        for half in ("dev", "check")
        if (pairs := pairs_of(name, label, half))
    }
    judge = Fluency()
    seen = {name: judge.log_likelihoods(pairs) for name, pairs in sets.items()}
    print(f"| ln p / tokens^{LENGTH_POWER} | n | {' | '.join(map(str, QUANTILES))} |")
    print("|---|---|" + "---|" * len(QUANTILES))
    for name, values in seen.items():
        cells = " | ".join(f"{value:.2f}" for value in np.quantile(values, QUANTILES))
        print(f"| {name} | {len(values)} | {cells} |")
    bad = [name for name in sets if name.startswith("bad")]
    print(f"\n| AUC | {' | '.join(bad)} |\n|---|" + "---|" * len(bad))
    for name in sets:
        if name not in bad:
            cells = " | ".join(f"{area_under_curve(seen[name], seen[one]):.3f}" for one in bad)
            print(f"| {name} | {cells} |")
    rewards = (TweetReward(), hybrid_reward(), fluent_reward())
    print("\n| reach the line | n | robust | hybrid | fluent |\n|---|---|---|---|---|")
    for name, pairs in sets.items():
        shares = []
        for reward in rewards:
            scores = reward.score_batch([tweet for tweet, _ in pairs], [[reply] for _, reply in pairs])
            shares.append(np.mean([one.total >= GOOD_REPLY for (one,) in scores]))
        print(f"| {name} | {len(pairs)} | {' | '.join(f'{share:.2f}' for share in shares)} |")


if __name__ == "__main__":
    main()
