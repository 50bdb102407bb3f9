"""What the two preference models see of a tweet and a reply; they see different things on purpose.

`SentenceFeatures` are of meaning: frozen MiniLM vectors, and a few numbers that the heuristic reads, too.
`SurfaceFeatures` are of letters: no encoder, no word list, no part of the heuristic.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS
from pixelis.envs.tweet.reading.own_words import own_text
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.repetition import shared_content
from pixelis.rewards.text.encoders import CachedEncoder

TextPair = tuple[str, str]
"""A tweet and a raw reply."""


class PairFeatures(Protocol):
    """Makes a vector of each pair."""

    name: str

    def __call__(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """Return float64 [n, d]."""
        ...

    def probe(self) -> np.ndarray:
        """Return a vector that tells whether two of them see the same, float64 [k]."""
        ...


class SentenceFeatures:
    """[t, r, |t − r|, t ⊙ r] of the unit vectors of tweet and reply, and 13 numbers: 4 d + 13 in all.

    The form is InferSent's (Conneau et al. 2017, arXiv:1705.02364, section 3.1).

    Args:
        encoder: of sentences.
    """

    name = "sentence"

    def __init__(self, encoder: CachedEncoder) -> None:
        self.encoder = encoder

    def __call__(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """Return float64 [n, 4 d + 13].

        Raises:
            MissingDependencyError: the encoder's package is not installed.
        """
        tweets, replies, numbers = embedded_pairs(self.encoder, pairs)
        return np.hstack([tweets, replies, np.abs(tweets - replies), tweets * replies, numbers])

    def probe(self) -> np.ndarray:
        """Return the encoder's vector of a fixed sentence."""
        return self.encoder(["The kettle is on and the rain can wait until tomorrow."])[0]


def embedded_pairs(
    encoder: CachedEncoder, pairs: Sequence[TextPair]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the vectors of tweets and replies, [n, d] each, and `pair_numbers`, [n, 13]."""
    read = [(ReadText(tweet), ReadText(reply)) for tweet, reply in pairs]
    own = [own_text(*pair) for pair in read]
    texts = [text.for_encoder for column in zip(*read, strict=True) for text in column]
    tweets, replies, owns = encoder(texts + own).reshape(3, len(read), -1)
    cosines = np.einsum("nd,nd->n", tweets, replies)
    own_cosines = np.einsum("nd,nd->n", tweets, owns) * [bool(text) for text in own]
    nearness = np.column_stack([cosines, own_cosines]).tolist()
    numbers = [pair_numbers(*pair, *near) for pair, near in zip(read, nearness, strict=True)]
    return tweets, replies, np.array(numbers)


def pair_numbers(tweet: ReadText, reply: ReadText, cosine: float, own_cosine: float) -> list[float]:
    """Return 13 numbers of a pair: nearness, length, and shares of kinds of words and signs.

    Args:
        tweet: the post.
        reply: the reply.
        cosine: of the two.
        own_cosine: of the tweet and the reply's own words.
    """
    words, length = len(reply.words), max(1, len(reply.plain))
    return [
        cosine,
        own_cosine,
        max(0.0, cosine - 0.65),
        min(words, 60) / 20,
        min(reply.weighted_length, 400) / 100,
        len(reply.word_set) / max(1, words),
        sum(word in FUNCTION_WORDS for word in reply.words) / max(1, words),
        min(len(reply.content_words), 20) / 10,
        shared_content(tweet, reply) if reply.content_words else 0.0,
        sum(unicodedata.category(sign)[0] in "PS" for sign in reply.plain) / length,
        sum(sign.isupper() for sign in reply.plain) / length,
        float("?" in reply.plain),
        float(len(reply.hashtags) + len(reply.mentions) + len(reply.urls) + reply.emoji > 0),
    ]


BUCKETS = 1024
_GRAMS = (3, 4, 5)
_LONGEST_KEPT = 4  # letters of a word that a pattern keeps: mostly grammar
_WORDS = re.compile(r"\w+")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_EDGES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])


class SurfaceFeatures:
    """Letters, patterns of words, and how much of the reply is in the tweet.

    Runs of 3 to 5 characters of the reply are hashed into 1,024 buckets, and so are patterns: one to three
    words or signs in a row, with ``_`` for a word of five letters or more, ``=`` for one that the tweet has,
    too, and ``~`` before a shorter one that it has. Buckets hold square roots of counts, each 1,024 together
    of length 1. The shares of the reply's runs and words that the tweet has too, of its different words, of
    letters and capitals, and its length each take one of ten steps, and a step is a feature of its own, so
    that a sum can express "some, not too much".
    """

    name = "surface"

    def __call__(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """Return float64 [n, 2 · 1024 + 60]."""
        return np.array([_surface(tweet, reply) for tweet, reply in pairs]).reshape(len(pairs), -1)

    def probe(self) -> np.ndarray:
        """Return the features of a fixed pair."""
        return self([("The kettle is on.", "And the rain can wait until tomorrow.")])[0]


def _surface(tweet: str, reply: str) -> np.ndarray:
    before, after = _plain(tweet), _plain(reply)
    runs, words = _runs(after), _WORDS.findall(after)
    known_runs, known_words = _runs(before), set(_WORDS.findall(before))
    size = max(1, len(after))
    shares = [
        sum(count for run, count in runs.items() if run in known_runs) / max(1, sum(runs.values())),
        sum(word in known_words for word in words if len(word) > 3) / max(1, len(words)),
        len(set(words)) / max(1, len(words)),
        sum(sign.isalpha() for sign in after) / size,
        sum(sign.isupper() for sign in reply[:1000]) / size,
        min(1.0, len(after) / 300),
    ]
    steps = np.eye(len(_EDGES) + 1)[np.searchsorted(_EDGES, shares)]
    return np.concatenate([_hashed(runs), _hashed(_patterns(before, after)), steps.ravel()])


def _hashed(counts: Counter[str]) -> np.ndarray:
    buckets = np.zeros(BUCKETS)
    for text, count in counts.items():
        buckets[zlib.crc32(text.encode()) % BUCKETS] += count
    buckets = np.sqrt(buckets)
    return buckets / max(1e-9, float(np.linalg.norm(buckets)))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:1000].encode("utf-8", "replace").decode()).casefold()


def _runs(text: str) -> Counter[str]:
    padded = f" {text} "
    return Counter(padded[at : at + n] for n in _GRAMS for at in range(len(padded) - n + 1))


def _patterns(tweet: str, reply: str) -> Counter[str]:
    known = set(_TOKENS.findall(tweet))
    signs = ["<", *(_sign(token, token in known) for token in _TOKENS.findall(reply)), ">"]
    return Counter(" ".join(signs[at : at + n]) for n in (1, 2, 3) for at in range(len(signs) - n + 1))


def _sign(token: str, known: bool) -> str:
    if len(token) > _LONGEST_KEPT:
        return "=" if known else "_"
    return f"~{token}" if known else token
