"""How positive or negative a text sounds: VADER's compound score."""

from __future__ import annotations

import functools
import string
from collections.abc import Mapping
from typing import Any

from pixelis.errors import MissingDependencyError

# VADER looks every word up in the list of all words, so its time grows with the square of a text's length.
_MOST_CHARACTERS = 600


@functools.cache
def _analyser() -> Any:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise MissingDependencyError(
            "the sentiment of a reply needs vaderSentiment: pip install 'pixelis[text]'"
        ) from error
    return SentimentIntensityAnalyzer()


def sentiment(text: str) -> float:
    """Return VADER's compound score in [−1, 1] of a text's first 600 characters; 0 for no words it knows.

    Hutto and Gilbert, "VADER: a parsimonious rule-based model for sentiment analysis of social media text",
    ICWSM 2014. English only.

    Raises:
        MissingDependencyError: vaderSentiment is not installed.
    """
    analyser, text = _analyser(), text[:_MOST_CHARACTERS]
    if text.isascii() and not _has_known_word(text, analyser.lexicon):
        return 0.0  # what VADER would find too, in ten times the time
    return float(analyser.polarity_scores(text)["compound"])


def _has_known_word(text: str, lexicon: Mapping[str, float]) -> bool:
    words = text.lower().split()
    return any(word in lexicon or word.strip(string.punctuation) in lexicon for word in words)


def may_be_negative(text: str) -> bool:
    """Return whether `sentiment` could be below 0; whether it is costs ten times the time.

    In ASCII it is not without a word that VADER's lexicon has at 0 or below, a negation, or a word that
    dampens: all else it does to a word above 0 leaves it there.

    Raises:
        MissingDependencyError: vaderSentiment is not installed.
    """
    if not text.isascii():
        return True
    lower = text[:_MOST_CHARACTERS].lower()
    words, dark = lower.split(), _dark_words()
    bare = [word.strip(string.punctuation) for word in words if not word.isalpha()]
    return "n't" in lower or not dark.isdisjoint(words) or not dark.isdisjoint(bare)


@functools.cache
def _dark_words() -> frozenset[str]:
    analyser = _analyser()
    from vaderSentiment import vaderSentiment as vader

    below = {word for word, valence in analyser.lexicon.items() if valence <= 0}
    rules = {**vader.BOOSTER_DICT, **vader.SPECIAL_CASES}
    phrases = {max(phrase.split(), key=len) for phrase, change in rules.items() if change <= 0}
    return frozenset(below | phrases | {*vader.NEGATE, "least"})


tweet_sentiment = functools.lru_cache(maxsize=4096)(sentiment)
"""`sentiment`, remembered: a tweet is scored with many replies."""
