"""What the tweets of a topic talk about: words and replies of ours, and words that an encoder finds near."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY

_FILE = Path(__file__).with_name("tweet_topics.json")
_CANDIDATE = re.compile(r"[a-z]{4,12}")
_SURE = 1.5
_APART, _MOST_WORDS = (0.3, 0.15), (200, 500)
"""A word is a topic's if its similarity is so many deviations above the mean, so far above the next topic; of
these a topic has so many at most. The second numbers are of a wide choice.
"""

Encoder = Callable[[Sequence[str]], Any]


@dataclass(frozen=True)
class Topic:
    """A topic of the package's tweets.

    Attributes:
        words: that tweets about it use.
        replies: that fit under many of its tweets.
        tweets: tweet and good reply of the package's rows of split ``train``.
    """

    words: tuple[str, ...]
    replies: tuple[str, ...]
    tweets: tuple[tuple[str, str], ...]


def load_topics() -> dict[str, Topic]:
    """Return the topics by name: our words and replies, and the package's tweets of split ``train``."""
    rows = [json.loads(line) for line in SEED_TWEETS.read_text(encoding="utf-8").splitlines()]
    return {
        name: Topic(
            tuple(written["words"].split()),
            tuple(written["replies"]),
            tuple((r["tweet"], r["reply"]) for r in rows if r["topic"] == name and r["split"] == "train"),
        )
        for name, written in json.loads(_FILE.read_text(encoding="utf-8")).items()
    }


def with_near_words(
    topics: Mapping[str, Topic], encoder: Encoder, vocabulary: Sequence[str], *, wide: bool = False
) -> dict[str, Topic]:
    """Return the topics with the words of a vocabulary that are nearer to one topic than to any other.

    Args:
        topics: as `load_topics` gives them.
        encoder: texts to unit vectors, float [n, d].
        vocabulary: lower-case words to choose from.
        wide: more words, of which more are near to another topic as well.
    """
    words = [word for word in vocabulary if _CANDIDATE.fullmatch(word)]
    scores = topic_scores(topics, encoder, words)
    ranked = np.sort(scores, axis=1)
    sure = (ranked[:, -1] > _SURE) & (ranked[:, -1] - ranked[:, -2] > _APART[wide])
    found: dict[str, Topic] = {}
    for at, (name, topic) in enumerate(topics.items()):
        mine = np.flatnonzero(sure & (scores.argmax(1) == at))
        mine = mine[np.argsort(-scores[mine, at])][: _MOST_WORDS[wide]]
        chosen = dict.fromkeys([*topic.words, *(words[place] for place in mine)])
        found[name] = Topic(tuple(chosen), topic.replies, topic.tweets)
    return found


def topic_scores(topics: Mapping[str, Topic], encoder: Encoder, words: Sequence[str]) -> np.ndarray:
    """Return how near words are to topics, in deviations above the words' mean: float [words, topics]."""
    texts = [
        [*topic.words, *topic.replies, *(tweet for tweet, _ in topic.tweets)] for topic in topics.values()
    ]
    centres = np.stack([np.asarray(encoder(each)).mean(0) for each in texts])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    near = np.concatenate([np.asarray(encoder(words[at : at + 1000])) for at in range(0, len(words), 1000)])
    scores = near @ centres.T
    return (scores - scores.mean(0)) / scores.std(0)


def with_borrowed_replies(
    topics: Mapping[str, Topic], totals: Callable[[Sequence[str], Sequence[str]], np.ndarray], share: float
) -> dict[str, Topic]:
    """Return the topics with those good replies of the data that are paid under other tweets of the topic.

    Args:
        topics: as `load_topics` gives them.
        totals: rewards of all replies under each tweet, float [tweets, replies].
        share: of a topic's other tweets under which a reply must be paid.
    """
    found: dict[str, Topic] = {}
    for name, topic in topics.items():
        tweets, replies = zip(*topic.tweets, strict=True)
        paid = totals(tweets, replies) >= GOOD_REPLY
        np.fill_diagonal(paid, False)
        often = paid.sum(0) / max(1, len(tweets) - 1) >= share
        kept = [reply for reply, well in zip(replies, often, strict=True) if well]
        found[name] = Topic(topic.words, (*topic.replies, *kept), topic.tweets)
    return found
