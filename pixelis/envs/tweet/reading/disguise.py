"""Copies of the tweet that do not look like one: letters moved, left out or replaced, hyphens put in.

Who hyphenates every word of a tweet writes words that nobody has read before, while an encoder still reads
the tweet in them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

import numpy as np
import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS
from pixelis.envs.tweet.reading.reading import ReadText, stem

SAME_LETTERS = 0.6
"""Share of the reply's letters that stand in the tweet in their order. Of 532 good replies none has 0.52."""
DISGUISED = 0.35
"""Share of the reply's longer words that are the tweet's in disguise. Of the same none has three of them."""
_LEAST_LETTERS, _MOST_LETTERS = 24, 1_000
_LEAST_WORDS, _LONG = 3, 4
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxyz")
_INSIDE = regex.compile(r"(?<=\w)[^\w\s]+(?=\w)")
_WORD = regex.compile(r"\w+")


def is_disguised_copy(tweet: ReadText, reply: ReadText) -> bool:
    """Return whether a reply is mostly the tweet, letter by letter or word by word, behind small changes.

    Letter by letter: at most 0.4 edits for each letter or digit of the reply make it a stretch of the tweet,
    whatever stands between them, and most of its words are not the tweet's as they stand. Word by word, in
    any order: three words or more, and over a third of those from four letters on, are no words of the tweet
    and have the consonants of one, in any order. Function words do not count, and what says the tweet's words
    openly is for other rules.
    """
    said = [word for word in _joined(reply.prose) if word not in FUNCTION_WORDS]
    is_open = [
        word in reply.word_set and (word in tweet.word_set or stem(word) in tweet.stems) for word in said
    ]
    letters = sum(map(len, said))
    openly = sum(len(word) for word, known in zip(said, is_open, strict=True) if known)
    if 2 * openly < letters and same_letters(tweet.prose, reply.prose) >= SAME_LETTERS:
        return True
    known = [_consonants(word) for word in _joined(tweet.prose) if len(word) >= _LONG]
    longer = [(word, shown) for word, shown in zip(said, is_open, strict=True) if len(word) >= _LONG]
    closed = [word for word, shown in longer if not shown]
    if len(closed) < _LEAST_WORDS:
        return False
    hidden = sum(_is_one_of(_consonants(word), known) for word in closed)
    return hidden >= _LEAST_WORDS and hidden >= DISGUISED * len(longer)


def same_letters(source: str, text: str) -> float:
    """Return 1 − the fewest edits that make a text's letters a stretch of the source's ÷ their count, in 0-1.

    Edits are letters put in, left out or replaced (Sellers 1980, approximate string matching). 0 for a text
    with fewer than 24 letters and digits, most of which any longer one has in order.
    """
    letters, known = _letters(text), _letters(source)
    if len(letters) < _LEAST_LETTERS or not len(known):
        return 0.0
    places = np.arange(len(known) + 1)
    edits = np.zeros(len(known) + 1, dtype=np.int64)
    for count, letter in enumerate(letters, start=1):
        fresh = np.minimum(edits[1:] + 1, edits[:-1] + (known != letter))
        row = np.concatenate([[count], fresh])
        edits = np.minimum.accumulate(row - places) + places  # and letters of the source left out
    return 1.0 - float(edits.min()) / len(letters)


def _letters(text: str) -> np.ndarray:
    """Return the letters and digits of a text without case and accents, as code points."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(filter(str.isalnum, plain))[:_MOST_LETTERS]
    return np.frombuffer(kept.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _joined(prose: str) -> list[str]:
    """Return the words of a prose, what marks divide put together."""
    return _WORD.findall(_INSIDE.sub("", prose.casefold()))


@lru_cache(maxsize=32_768)
def _consonants(word: str) -> Counter[str]:
    return Counter(filter(_CONSONANTS.__contains__, unicodedata.normalize("NFKD", word)))


def _is_one_of(letters: Counter[str], known: list[Counter[str]]) -> bool:
    """Return whether consonants are those of a known word; one more or less from four on."""
    count = letters.total()
    if count < 2:
        return False
    for other in known:
        different = ((letters - other) + (other - letters)).total()
        if different <= (0 if min(count, other.total()) < 4 else 1):
            return True
    return False
