"""Slurs, kept as digests: a list of them in plain words would be read more often than it would match."""

from __future__ import annotations

import functools
from hashlib import blake2b

from pixelis.rewards.tweet.reading import ReadText

_AROUND = ".,;:?\"'()*#…~-_"
_LOOK_ALIKES = str.maketrans("013457@$!|", "oieastasii")


def digest(word: str) -> str:
    """Return the key under which a word is kept: twelve hexadecimal digits of its BLAKE2b hash.

    Case is folded, signs that stand for letters are read as those, and a letter said three times counts twice.
    """
    word = word.casefold().translate(_LOOK_ALIKES)
    kept = "".join(
        letter
        for place, letter in enumerate(word)
        if place < 2 or len({letter, *word[place - 2 : place]}) > 1
    )
    return blake2b(kept.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


SLURS: frozenset[str] = frozenset()


def has_slur(reply: ReadText) -> bool:
    """Return whether a word of the reply, or its singular, is a slur."""
    return any(map(is_slur, {*reply.words, *reply.lower.split()}))


@functools.lru_cache(maxsize=32_768)
def is_slur(word: str) -> bool:
    """Return whether a word is a slur; signs of punctuation around it and a plural ending are looked through."""
    forms = {word.strip(_AROUND), word.strip(_AROUND + "!$@")}
    return any(digest(form) in SLURS for bare in forms for form in (bare, bare.removesuffix("s")))
