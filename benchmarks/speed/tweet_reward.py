"""Speed of the tweet reward: batches against the encoder alone, replies without an encoder, start-up.

    python benchmarks/speed/tweet_reward.py [--clock cpu] [--rounds 15] [--output FILE]

Every round scores 64 replies that were not scored before, 4 good ones to each of 16 tweets of the labelled
set. Right after, always with an empty cache, the encoder alone embeds all texts that the reward gave it
(``ratio``: tweets, replies, and replies without their tweet's words), and then tweets and replies only
(``plain_ratio``); ``texts_ratio`` is how many more texts the first are. A ratio is that of a round; medians
are reported. Next to other work wall-clock times mean little: quiet the machine, or take ``--clock cpu``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pixelis.envs.tweet.reading.own_words import own_text
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings
from pixelis.rewards.text.encoders import CachedEncoder

PAIRS = Path(__file__).parents[1] / "data" / "tweet_pairs.jsonl"
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
TWEETS, CANDIDATES = 16, 4
TARGETS = {"ratio": 1.2, "replies_per_second": 5_000, "sentences_per_second": 130, "start_seconds": 1.0}
"""What is wanted; `plain_ratio` and `texts_ratio` have no target."""
START = """
import time
wall, cpu = time.perf_counter(), time.process_time()
from pixelis.envs.tweet.reward import TweetReward
TweetReward().score("A tweet about ferries", "A reply about ferries")
print(time.perf_counter() - wall, time.process_time() - cpu)
"""

Batch = tuple[list[str], list[list[str]]]


def batches(count: int) -> list[Batch]:
    """Return batches of tweets and good replies to them; each text ends in a word that no other has."""
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    good: dict[str, list[str]] = {}
    for row in rows:
        if row["label"] == "good" and row["reply"].isascii():
            good.setdefault(row["tweet"], []).append(row["reply"])
    rng = np.random.default_rng(0)
    endings = map("".join, itertools.permutations("bcdfghklmnprstvz", 5))

    def batch() -> Batch:
        drawn = [str(tweet) for tweet in rng.choice(list(good), TWEETS)]
        replies = [
            [f"{reply} {next(endings)}" for reply in rng.choice(good[tweet], CANDIDATES)] for tweet in drawn
        ]
        return [f"{tweet} {next(endings)}" for tweet in drawn], replies

    return [batch() for _ in range(count)]


def no_encoder(texts: Sequence[str]) -> np.ndarray:
    """Return vectors that cost nothing, all different from one another by 90 degrees or not at all."""
    return np.eye(2)[np.arange(len(texts)) % 2]


def seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return how long a call took."""
    start = clock()
    call()
    return clock() - start


def encoded_texts(tweets: Sequence[str], replies: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """Return what the reward embeds: tweets and replies, and the replies without the tweets' words."""
    pairs = [
        (ReadText(tweet), ReadText(reply))
        for tweet, group in zip(tweets, replies, strict=True)
        for reply in group
    ]
    return [text.for_encoder for pair in pairs for text in pair], [own_text(*pair) for pair in pairs]


def measure_encoder(rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Return the ratios of a batch to the encoder alone, and the encoder's sentences a second."""
    found = []
    for tweets, replies in batches(rounds + 2):
        plain, own = encoded_texts(tweets, replies)
        reward, whole_encoder, encoder = TweetReward(), CachedEncoder(), CachedEncoder()
        whole = seconds(lambda: reward.score_batch(tweets, replies), clock)  # noqa: B023  # called at once
        same = seconds(lambda: whole_encoder(plain + own), clock)  # noqa: B023
        alone = seconds(lambda: encoder(plain), clock)  # noqa: B023
        found.append(
            (whole / same, whole / alone, len({*plain, *own}) / len(set(plain)), len(set(plain)) / alone)
        )
    names = ("ratio", "plain_ratio", "texts_ratio", "sentences_per_second")
    return dict(zip(names, map(statistics.median, zip(*found[2:], strict=True)), strict=True))


def measure_alone(rounds: int, clock: Callable[[], float]) -> float:
    """Return replies a second with an encoder that costs nothing."""
    rates = []
    for tweets, replies in batches(rounds + 2):
        reward = TweetReward(TweetRewardSettings(encoder=no_encoder))
        took = seconds(lambda: reward.score_batch(tweets, replies), clock)  # noqa: B023
        rates.append(TWEETS * CANDIDATES / took)
    return statistics.median(rates[2:])


def measure_start(rounds: int, clock: str) -> float:
    """Return seconds from an interpreter's first import to the first score; the least of a few processes."""
    column = list(CLOCKS).index(clock)
    command = [sys.executable, "-c", START]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(rounds)]
    return min(float(run.stdout.split()[column]) for run in runs)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    found = measure_encoder(options.rounds, clock)
    found["replies_per_second"] = measure_alone(options.rounds, clock)
    found["start_seconds"] = measure_start(3, options.clock)
    for name, value in found.items():
        bound = "at most" if name in ("ratio", "start_seconds") else "at least"
        wanted = f"{bound} {TARGETS[name]:g}, " if name in TARGETS else ""
        print(f"{name:22}{value:10.2f}   ({wanted}{options.clock} clock)")
    if options.output:
        options.output.write_text(
            json.dumps({"clock": options.clock, **found}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
