"""Slurs, kept as digests: a list of them in plain words would be read more often than it would match."""

from __future__ import annotations

import functools
import re
from hashlib import blake2b

from pixelis.envs.tweet.reading.reading import ReadText

_AROUND = ".,;:?\"'()*#…~-_"
_THRICE = re.compile(r"(.)\1{2,}", re.DOTALL)
_LOOK_ALIKES = str.maketrans("013457@$!|", "oieastasii")


def digest(word: str) -> str:
    """Return the key under which a word is kept: twelve hexadecimal digits of its BLAKE2b hash.

    Case is folded, signs that stand for letters are read as those, and a letter said three times counts
    twice.
    """
    kept = _THRICE.sub(r"\1\1", word.casefold().translate(_LOOK_ALIKES))
    return blake2b(kept.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


_DIGESTS = """
    08bc7350403b 0bc1e6946736 1db39e91bbd8 1e699add013b 26b80949c419 2807037e693d 2dc96e2a08f7 2e46f8d56572
    31fb20be5897 3a5188b6b3f1 3f8110d8ffb4 438ed034be55 448f5ddf8461 474c0f86599a 4b96588b6974 52dd9b8d77e1
    54c500087323 5f499dd29c84 651b53f2704f 6f10e75e9e70 6f28149cc8dd 6f9905a422f1 737722cb5fd8 7993506a527b
    7acf1f37ca38 7b3ea5ea0aa4 7b7d05816c59 8398df3330f8 867d2b5a0068 8c881c58dc1e 8e236ca175d6 9431c69de414
    99b9be49d724 9eba73ee4d5d a4149a6bc0f1 a65c8acfe565 a6e45c0c82a5 abcda2888733 ac9306574c2e ada19191718b
    b4af96fe0710 b70890b11c70 bae7ef1bdaa3 bdf2f8a52f98 ceb15b92ab8c d6bd6084a012 e24c4e06111f e533a067cd5c
    f1ef2d1220c3 f1f5af33c062 f248d66d8d1f f5e4532b3d33 f9e0b3c432ac
"""
SLURS = frozenset(_DIGESTS.split())
"""Digests of words of contempt for a group of people. Words that are also ordinary ones are left out."""


def has_slur(reply: ReadText) -> bool:
    """Return whether a word of the reply, or its singular, is a slur."""
    return any(map(is_slur, reply.lower.split()))


@functools.lru_cache(maxsize=32_768)
def is_slur(word: str) -> bool:
    """Return whether a word is a slur, also with punctuation around it or a plural ending."""
    bare = {word.strip(_AROUND), word.strip(_AROUND + "!$@")}
    return any(digest(form) in SLURS for form in bare.union(form.removesuffix("s") for form in bare))
