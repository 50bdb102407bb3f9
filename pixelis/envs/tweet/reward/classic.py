"""The six parts as the prior work defines them (Sohailm25/reply-guyd, Apache-2.0), for comparison.

The formulas are those of its call for one pair; its call for a batch used the raw cosine and no guards, so
that the two disagreed. Sentiment comes from VADER here and came from TextBlob there. Every weakness is kept:
see docs/reference/tweet_reward.md.
"""

from __future__ import annotations

from pixelis.envs.tweet.reading.sentiment import sentiment, tweet_sentiment
from pixelis.envs.tweet.reward.gates import ReplyPair

LEAST_CHARACTERS, MOST_CHARACTERS, TOO_LONG_SCORE = 3, 500, 0.3
GENERIC = [
    "thanks",
    "thank you",
    "agree",
    "agreed",
    "this",
    "nice",
    "great",
    "good point",
    "interesting",
    "true",
    "exactly",
    "same",
    "yep",
    "yes",
    "no",
    "lol",
    "haha",
]


def guard(reply: str) -> float | None:
    """Return 0 for under 3 characters without the white space around, 0.3 for over 500; else None."""
    if len(reply.strip()) < LEAST_CHARACTERS:
        return 0.0
    return TOO_LONG_SCORE if len(reply) > MOST_CHARACTERS else None


def relevance(pair: ReplyPair) -> float:
    """Return (c + 1) / 2 for the cosine c of the embeddings: [0, 1], and 0.5 for unrelated texts."""
    return (pair.cosine + 1) / 2


def length(pair: ReplyPair) -> float:
    """Return a score by characters n: 0.3 below 20, 0.6 below 50, 1 to 150, 0.8 to 280, 0.4 beyond."""
    count = len(pair.reply.raw)
    steps = ((20, 0.3), (50, 0.6), (151, 1.0), (281, 0.8))
    return next((score for bound, score in steps if count < bound), 0.4)


def sentiment_match(pair: ReplyPair) -> float:
    """Return 1 − |s(tweet) − s(reply)| / 2 for the sentiments s in [−1, 1]: [0, 1]."""
    return 1 - abs(tweet_sentiment(pair.tweet.plain) - sentiment(pair.reply.plain)) / 2


def diversity(pair: ReplyPair) -> float:
    """Return distinct words by words, times 0.7 where that is below 0.5: [0, 1], 0 for no words."""
    words = pair.reply.raw.lower().split()
    ratio = len(set(words)) / len(words) if words else 0.0
    return ratio * 0.7 if ratio < 0.5 else ratio


def punctuation(pair: ReplyPair) -> float:
    """Return a score by the share p of ``!?.,`` among the characters.

    0.7 for p < 0.01, 1 for 0.02 ≤ p ≤ 0.08, 0.8 for other p ≤ 0.15, 0.3 beyond, 0 for an empty reply.
    """
    text = pair.reply.raw
    if not text:
        return 0.0
    share = sum(text.count(mark) for mark in "!?.,") / len(text)
    if share < 0.01:
        return 0.7
    if 0.02 <= share <= 0.08:
        return 1.0
    return 0.8 if share <= 0.15 else 0.3


def engagement(pair: ReplyPair) -> float:
    """Return a product, at most 1, in [0, 1].

    0.5 for a generic phrase anywhere in under 30 characters; 1.1 for a question mark; 1.05 for two or more of
    ``.!?``; 0.6 for over 10 characters all in capitals.
    """
    text = pair.reply.raw
    score = 1.0
    if len(text) < 30 and any(phrase in text.lower() for phrase in GENERIC):
        score *= 0.5
    if "?" in text:
        score *= 1.1
    if sum(text.count(mark) for mark in ".!?") >= 2:
        score *= 1.05
    if len(text) > 10 and text.isupper():
        score *= 0.6
    return min(1.0, score)
