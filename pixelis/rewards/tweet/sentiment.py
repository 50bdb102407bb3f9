"""How positive or negative a text sounds: VADER's compound score."""

from __future__ import annotations

import functools
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
    return float(_analyser().polarity_scores(text[:_MOST_CHARACTERS])["compound"])


tweet_sentiment = functools.lru_cache(maxsize=4096)(sentiment)
"""`sentiment`, remembered: a tweet is scored with many replies."""
