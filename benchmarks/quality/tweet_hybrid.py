"""Ways to join the points of the heuristic with the learned reward, and what each pays without a reply.

    python benchmarks/quality/tweet_hybrid.py [--episodes 150] [--split train]

A row is a way to join points h and the learned l; a reply that a gate stops keeps its penalty. ``ratio`` is
the mean reward of the best exploit by that of the oracle, ``distance`` how far it is below, ``missed`` the
share of the oracle's replies below the line for success; AUC is over the two labelled sets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from pixelis.agents.runs.evaluate import play
from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.reward import LearnedReward, TweetReward
from pixelis.envs.tweet.reward.presets import arithmetic, harmonic
from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY, TweetReplyEnv

Both = tuple[float, float]
"""Points of the heuristic (below 0: the penalty of a gate), and the learned reward."""
Join = Callable[[float, float], float]
SETS = ("tweet_pairs", "tweet_related_words")
JOINS: Mapping[str, Join] = {
    "h": lambda h, learned: h,
    "(h + l) / 2": lambda h, learned: arithmetic(h, learned, 0.5),
    "sqrt(h l)": lambda h, learned: (h * learned) ** 0.5,
    "2 h l / (h + l)": lambda h, learned: harmonic(h, learned, 0.5),
    "min(h, l)": min,
    "h l": lambda h, learned: h * learned,
}


class BothRewards:
    """Pays what the heuristic does and tells what the learned reward would have paid."""

    def __init__(self) -> None:
        self._heuristic = TweetReward()
        self._learned = LearnedReward(encoder=self._heuristic.encoder)

    def score(self, tweet: str, replies: Sequence[str]) -> list[JudgedReply]:
        """Return the scores of replies, as TweetReply wants them."""
        (scores,) = self._heuristic.score_batch([tweet], [list(replies)])
        learned = self._learned([(tweet, reply) for reply in replies])
        return [
            JudgedReply(reply, one.total, {"learned": other}, one.gates[0] if one.gates else None)
            for reply, one, other in zip(replies, scores, learned, strict=True)
        ]


def joined(seen: Sequence[Both], join: Join) -> np.ndarray:
    """Return totals, float64 [n]."""
    return np.array([points if points < 0 else join(points, learned) for points, learned in seen])


def play_all(episodes: int, split: str) -> dict[str, list[Both]]:
    """Return policy → what both rewards say of its episodes."""
    found, make = {}, partial(TweetReplyEnv, reward=BothRewards())
    for name in ("oracle", *(one for one in TweetReplyEnv().players() if one.startswith("exploit_"))):
        played, _ = play(name, make, range(episodes), options={"split": split})
        found[name] = [(one.reward_terms["task"], one.reward_terms["learned"]) for one in played]
    return found


def read_labelled(name: str) -> tuple[list[Both], np.ndarray]:
    """Return what both rewards say of the labelled replies of a file, and which of them are good."""
    path = Path(__file__).parents[1] / "data" / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    reward = BothRewards()
    scores = [reward.score(row["tweet"], [row["reply"]])[0] for row in rows]
    good = np.array([row["label"] == "good" for row in rows])
    return [(one.total, one.parts["learned"]) for one in scores], good


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=150)
    parser.add_argument("--split", choices=("train", "test"), default="train")
    options = parser.parse_args()
    played = play_all(options.episodes, options.split)
    labelled = [read_labelled(name) for name in SETS]
    print("| | best exploit | its reward | oracle | ratio | distance | missed | AUC | related words |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, join in JOINS.items():
        means = {policy: float(joined(seen, join).mean()) for policy, seen in played.items()}
        oracle = means.pop("oracle")
        best = max(means, key=lambda policy: means[policy])
        areas = []
        for seen, good in labelled:
            totals = joined(seen, join)
            areas.append(f"{area_under_curve(totals[good], totals[~good]):.3f}")
        missed = (joined(played["oracle"], join) < GOOD_REPLY).mean()
        print(
            f"| {name} | `{best}` | {means[best]:.2f} | {oracle:.2f} | {means[best] / oracle:.2f} | "
            f"{oracle - means[best]:.2f} | {missed:.2f} | {' | '.join(areas)} |"
        )


if __name__ == "__main__":
    main()
