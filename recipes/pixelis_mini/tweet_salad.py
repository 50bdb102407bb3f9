"""Tweets that are about a topic by a few words alone: what else a tweet says is to be ignored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pixelis_mini.tweet_player import asked
from pixelis_mini.tweet_topics import Topic

REAL_SHARE = 0.15
"""Share of tweets of the package (split ``train``), of which words are left out."""
PLURALS = 0.3


class Salad:
    """Makes prompts of words of a topic among words of the package's tweets that belong to none.

    Args:
        topics: with their near words.
    """

    def __init__(self, topics: Mapping[str, Topic]) -> None:
        self.topics = list(topics)
        self._topics = topics
        known = {word.lower() for topic in topics.values() for word in topic.words}
        said = [word for topic in topics.values() for tweet, _ in topic.tweets for word in tweet.split()]
        bare = ["".join(filter(str.isalpha, word)).lower().rstrip("s") for word in said]
        self._others = [word for word, core in zip(said, bare, strict=True) if core not in known]

    def prompt(self, topic: str, rng: np.random.Generator) -> tuple[str, str]:
        """Return what the environment would show of a tweet about a topic, and a fitting reply."""
        tweet = self._real(topic, rng) if rng.random() < REAL_SHARE else self._mixed(topic, rng)
        author = self._others[int(rng.integers(len(self._others)))]  # says nothing about the topic
        named = "".join(filter(str.isalpha, author)).lower() or "somebody"
        replies = self._topics[topic].replies
        return asked(tweet, named), replies[int(rng.integers(len(replies)))]

    def _mixed(self, topic: str, rng: np.random.Generator) -> str:
        words = [self._others[place] for place in rng.integers(len(self._others), size=rng.integers(6, 18))]
        near = self._topics[topic].words
        for place in rng.integers(len(near), size=rng.integers(1, 5)):
            word = near[place] + "s" * bool(rng.random() < PLURALS)
            words.insert(int(rng.integers(len(words) + 1)), word)
        return " ".join(words)

    def _real(self, topic: str, rng: np.random.Generator) -> str:
        tweets = self._topics[topic].tweets
        words = tweets[int(rng.integers(len(tweets)))][0].split()
        return " ".join(word for word in words if rng.random() < 0.6) or words[0]
