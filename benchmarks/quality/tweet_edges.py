"""The edges of relevance that were tried: separation of labelled replies, and what exploits earn.

    python benchmarks/quality/tweet_edges.py [--split train] [--episodes 300]

A row is a setting: the cosines of a reply's own words at which relevance begins and is full, what naming the
topic is worth, the share of the style points without relevance; AUC on both halves of the labelled replies,
Youden's J and the line for success on ``dev``; and of each policy its mean reward and the share that reaches
the line.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from tweet_separation import PAIRS, Labelled, auc, read_pairs, success_line

from pixelis.envs.tweet.reward import TweetReward, TweetScore, presets, robust
from pixelis.envs.tweet.tweet_reply.env import TweetReplyEnv

SETTINGS = (
    (0.06, 0.20, 0.3, 0.2),
    (0.08, 0.25, 0.3, 0.2),
    (0.08, 0.22, 0.3, 0.2),
    (0.10, 0.20, 0.3, 0.2),
    (0.10, 0.22, 0.3, 0.2),
    (0.10, 0.22, 0.2, 0.2),
    (0.10, 0.22, 0.2, 0.1),
    (0.10, 0.22, 0.2, 0.0),
    (0.12, 0.22, 0.2, 0.1),
    (0.15, 0.30, 0.3, 0.2),
)
POLICIES = (
    "oracle",
    "blind",
    "exploit_borrowed_reply",
    "exploit_slot_question",
    "exploit_slot_praise",
    "exploit_slot_comment",
)
_ANSWER = re.compile("<answer>(.*)</answer>", re.DOTALL)

Pairs = list[tuple[str, str]]


@contextmanager
def edges(related: float, relevant: float, named: float, floor: float) -> Iterator[None]:
    """Set the four numbers, and put the package's back at the end."""
    kept = robust.OWN_RELATED, robust.OWN_RELEVANT, robust.NAMED, presets.STYLE_FLOOR
    _set(related, relevant, named, floor)
    try:
        yield
    finally:
        _set(*kept)


def _set(related: float, relevant: float, named: float, floor: float) -> None:
    robust.OWN_RELATED, robust.OWN_RELEVANT, robust.NAMED = related, relevant, named
    presets.STYLE_FLOOR = floor


def first_replies(split: str, episodes: int) -> dict[str, Pairs]:
    """Return policy → tweets and its first replies to them."""
    env, found = TweetReplyEnv(split=split), {}
    makers = env.players()
    for name in POLICIES:
        found[name] = []
        for seed in range(episodes):
            observation, info = env.reset(seed=seed)
            said = _ANSWER.search(makers[name](env).act(observation, info))
            found[name].append((env.workspace.messages[0], said.group(1) if said else ""))
    return found


def score(reward: TweetReward, pairs: Pairs) -> list[TweetScore]:
    """Return the score of each pair."""
    scored = reward.score_batch([tweet for tweet, _ in pairs], [[reply] for _, reply in pairs])
    return [group[0] for group in scored]


def separation(labelled: list[Labelled], scores: list[TweetScore]) -> tuple[dict[str, float], float, float]:
    """Return the AUC of each half, and Youden's J and the line on ``dev``."""
    totals, good = np.array([one.total for one in scores]), np.array([one.good for one in labelled])
    half, ungated = np.array([one.half for one in labelled]), np.array([not one.gates for one in scores])
    found = {
        name: auc(totals[(half == name) & good], totals[(half == name) & ~good]) for name in ("dev", "check")
    }
    dev = half == "dev"
    line, gain, *_ = success_line(totals[dev & good], totals[dev & ~good & ungated])
    return found, gain, line


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--split", choices=("train", "test"), default="train")
    parser.add_argument("--episodes", type=int, default=300)
    options = parser.parse_args()
    labelled, played = read_pairs(PAIRS), first_replies(options.split, options.episodes)
    reward = TweetReward()
    print(
        f"| o from, to, naming, floor | AUC dev | AUC check | J, line | {' | '.join(POLICIES)} |\n"
        f"|{'---|' * (4 + len(POLICIES))}"
    )
    for setting in SETTINGS:
        with edges(*setting):
            found, gain, line = separation(
                labelled, score(reward, [(one.tweet, one.reply) for one in labelled])
            )
            cells = []
            for pairs in played.values():
                totals = np.array([one.total for one in score(reward, pairs)])
                cells.append(f"{totals.mean():.2f} ({(totals >= line).mean():.2f})")
        numbers = ", ".join(f"{number:g}" for number in setting)
        print(
            f"| {numbers} | {found['dev']:.3f} | {found['check']:.3f} | {gain:.2f}, {line:.2f} | "
            f"{' | '.join(cells)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
