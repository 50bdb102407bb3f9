"""How well the tweet reward tells good replies from bad ones, by kind of bad reply.

    python benchmarks/quality/tweet_separation.py [--pairs benchmarks/data/tweet_pairs.jsonl]
    [--encoder minilm] [--missed]

AUC is the chance that a good reply scores above a bad one (a tie counts half), over the replies to all tweets
of a half. Its standard error is that of 2,000 draws of whole tweets with replacement. Thresholds were chosen
on the half ``dev`` only, and so is the line from which a reply counts as good (`success_line`): it is drawn
between good replies and three kinds of bad ones, those of the pairs and sentences that say nothing about any
tweet (``tweet_generic.jsonl``), bare or around words of the tweet.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings, TweetScore

PAIRS = Path(__file__).parents[1] / "data" / "tweet_pairs.jsonl"
ANYWHERE = Path(__file__).parents[1] / "data" / "tweet_generic.jsonl"
PRESETS, HALVES = ("classic", "robust"), ("dev", "check")
DRAWS = 2_000


@dataclass(frozen=True)
class Labelled:
    """A labelled reply.

    Attributes:
        tweet_id: which tweet it answers.
        half: ``dev`` or ``check``.
        good: its label.
        kind: of good or bad reply.
        tweet: the post.
        reply: the reply.
    """

    tweet_id: int
    half: str
    good: bool
    kind: str
    tweet: str
    reply: str


def read_pairs(path: Path) -> list[Labelled]:
    """Return the rows of a file of labelled pairs."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Labelled(
            row["tweet_id"], row["half"], row["label"] == "good", row["kind"], row["tweet"], row["reply"]
        )
        for row in rows
    ]


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    """Return the chance that a good score is above a bad one, ties counted half; NaN if one side is empty."""
    if not len(good) or not len(bad):
        return float("nan")
    above = good[:, None] - bad[None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def auc_error(pairs: Sequence[Labelled], totals: np.ndarray, draws: int = DRAWS) -> float:
    """Return the standard error of the AUC: tweets are drawn with replacement, with all of their replies."""
    rng = np.random.default_rng(0)
    good = np.array([pair.good for pair in pairs])
    ids = np.array([pair.tweet_id for pair in pairs])
    rows = [np.flatnonzero(ids == name) for name in np.unique(ids)]
    found = []
    for _ in range(draws):
        drawn = np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        found.append(auc(totals[drawn][good[drawn]], totals[drawn][~good[drawn]]))
    return float(np.nanstd(found))


def same_tweet_wins(pairs: Sequence[Labelled], totals: np.ndarray) -> float:
    """Return how often a good reply beats a bad one to the same tweet, ties counted half."""
    wins = []
    for name in {pair.tweet_id for pair in pairs}:
        own = [(pair.good, total) for pair, total in zip(pairs, totals, strict=True) if pair.tweet_id == name]
        good, bad = ([total for is_good, total in own if is_good == side] for side in (True, False))
        wins += [float(g > b) + 0.5 * (g == b) for g in good for b in bad]
    return float(np.mean(wins))


def success_line(good: np.ndarray, *ungated: np.ndarray) -> tuple[float, float, float, float]:
    """Return the total x that tells good from bad best, J there, and the range where J is 0.05 below at most.

    Youden's J = P(good ≥ x) − P(bad that no gate stops ≥ x) (Youden, 1950), for x in 0.00, 0.01, …, 1.00; the
    smallest of several best x. Of several kinds of bad replies each counts the same.

    Args:
        good: totals of good replies.
        ungated: of each kind, totals of the bad replies that no gate stops.
    """
    lines = np.arange(101) / 100
    gains = np.array(
        [(good >= line).mean() - np.mean([(bad >= line).mean() for bad in ungated]) for line in lines]
    )
    best = int(np.argmax(np.round(gains, 9)))  # equal gains may differ in the last bit
    near = lines[gains >= gains[best] - 0.05 - 1e-9]
    return float(lines[best]), float(gains[best]), float(near[0]), float(near[-1])


def anywhere(tweets: Sequence[str], half: str, kind: str) -> list[tuple[str, str]]:
    """Return every tweet with every sentence of a half that says nothing about it.

    Args:
        tweets: posts.
        half: ``dev`` or ``check``.
        kind: ``generic``, or ``slot``: with the tweet's two longest words in it.
    """
    rows = [json.loads(line) for line in ANYWHERE.read_text(encoding="utf-8").splitlines()]
    frames = [row["reply"] for row in rows if (row["half"], row["kind"]) == (half, kind)]
    return [(tweet, filled(frame, tweet)) for tweet in tweets for frame in frames]


def filled(frame: str, tweet: str) -> str:
    """Return a sentence with the tweet's two longest words of four letters and more in its holes."""
    words = sorted(dict.fromkeys(re.findall(r"[^\W_]{4,}", tweet)), key=len, reverse=True) or ["this"]
    return frame.format(word=words[0], other=words[1 % len(words)])


def line_totals(pairs: Sequence[Labelled], scores: Sequence[TweetScore], half: str) -> list[np.ndarray]:
    """Return totals of a half: good replies, then of each kind of bad ones those that no gate stops."""
    rows = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if pair.half == half]
    good = [score.total for pair, score in rows if pair.good]
    found = [good, [score.total for pair, score in rows if not pair.good and not score.gates]]
    tweets = sorted({pair.tweet for pair, _ in rows})
    for kind in ("generic", "slot"):
        scored = score_texts(anywhere(tweets, half, kind), "robust")
        found.append([score.total for score in scored if not score.gates])
    return [np.array(each) for each in found]


def print_line(pairs: Sequence[Labelled], scores: Sequence[TweetScore]) -> None:
    """Print the line for success that follows from the half dev, and what is above it in both halves."""
    if {pair.half for pair in pairs} != set(HALVES):
        return  # nothing to draw a line by
    totals = {half: line_totals(pairs, scores, half) for half in HALVES}
    line, gain, low, high = success_line(*totals["dev"])
    print(f"success from {line:.2f}: J {gain:.2f} on dev; within 0.05 of that from {low:.2f} to {high:.2f}")
    for half, (good, bad, generic, slot) in totals.items():
        print(
            f"  {half}: {np.mean(good >= line):.2f} of {len(good)} good, "
            f"{np.mean(bad >= line):.2f} of {len(bad)} bad that no gate stops, "
            f"{np.mean(generic >= line):.2f} of {len(generic)} that fit anywhere, "
            f"{np.mean(slot >= line):.2f} of {len(slot)} around words of the tweet"
        )


def score_texts(texts: Sequence[tuple[str, str]], preset: str, encoder: str = "minilm") -> list[TweetScore]:
    """Return the score of each tweet and reply by a preset."""
    reward = TweetReward(TweetRewardSettings(preset=preset, encoder=encoder))
    scored = reward.score_batch([tweet for tweet, _ in texts], [[reply] for _, reply in texts])
    return [group[0] for group in scored]


def score_pairs(pairs: Sequence[Labelled], preset: str, encoder: str = "minilm") -> list[TweetScore]:
    """Return the score of each pair by a preset."""
    return score_texts([(pair.tweet, pair.reply) for pair in pairs], preset, encoder)


def summarise(pairs: Sequence[Labelled], totals: np.ndarray) -> str:
    """Return one line of a half's numbers."""
    good = np.array([pair.good for pair in pairs])
    overall = auc(totals[good], totals[~good])
    error, wins = auc_error(pairs, totals), same_tweet_wins(pairs, totals)
    return (
        f"AUC {overall:.3f} ± {error:.3f}, same tweet {wins:.2f}, "
        f"mean good {totals[good].mean():+.3f} (10th percentile {np.quantile(totals[good], 0.1):.3f}), "
        f"bad {totals[~good].mean():+.3f}"
    )


def kinds_table(pairs: Sequence[Labelled], totals: dict[str, np.ndarray]) -> list[str]:
    """Return a line for each kind of bad reply: by half its rows, and the AUC of good replies over it."""
    lines = []
    for kind in sorted({pair.kind for pair in pairs if not pair.good}):
        cells = []
        for half in HALVES:
            good = np.array([pair.good and pair.half == half for pair in pairs])
            bad = np.array([not pair.good and pair.kind == kind and pair.half == half for pair in pairs])
            cells += [
                f"{bad.sum():d}",
                *(f"{auc(totals[name][good], totals[name][bad]):.2f}" for name in totals),
            ]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Print AUCs by preset, half and kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument(
        "--missed", action="store_true", help="list what is on the wrong side, in the half dev only"
    )
    options = parser.parse_args()
    pairs = read_pairs(options.pairs)
    scores = {preset: score_pairs(pairs, preset, options.encoder) for preset in PRESETS}
    totals = {preset: np.array([score.total for score in scores[preset]]) for preset in PRESETS}
    for half in sorted({pair.half for pair in pairs}, key=HALVES.index):
        rows = [row for row, pair in enumerate(pairs) if pair.half == half]
        chosen = [pairs[row] for row in rows]
        gated = sum(bool(scores["robust"][row].gates) for row in rows if pairs[row].good)
        print(
            f"{half}: {len(rows)} pairs, {sum(pair.good for pair in chosen)} good, {gated} of them gated "
            f"by robust"
        )
        for preset in PRESETS:
            print(f"  {preset:8}{summarise(chosen, totals[preset][rows])}")
    print(
        "| bad kind | n dev | classic | robust | n check | classic | robust |\n|---|---|---|---|---|---|---|"
    )
    print("\n".join(kinds_table(pairs, totals)))
    print_line(pairs, scores["robust"])
    if options.missed:
        print_missed(pairs, scores["robust"])


def print_missed(pairs: Sequence[Labelled], scores: Sequence[TweetScore]) -> None:
    """Print what robust ranks badly in the half dev: good replies far down, and bad ones far up."""
    rows = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if pair.half == "dev"]
    high = np.quantile([score.total for pair, score in rows if pair.good], 0.25)
    low = np.quantile([score.total for pair, score in rows if not pair.good], 0.75)
    for pair, score in rows:
        if (pair.good and score.total < max(low, 0.4)) or (not pair.good and score.total > min(high, 0.3)):
            parts = {name: round(value, 2) for name, value in score.parts.items()}
            print(
                f"{score.total:+.2f} {pair.kind:14} c={score.cosine:.2f} {score.gates} {parts} "
                f"{pair.reply[:90]!r}"
            )


if __name__ == "__main__":
    main()
