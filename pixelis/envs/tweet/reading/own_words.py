"""What a reply says in words of its own.

A stock sentence around a word of the tweet ("Tell me more about the …") is near to the tweet by that word
alone; what is left without it fits under any post.
"""

from __future__ import annotations

from itertools import compress

import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS
from pixelis.envs.tweet.reading.reading import ReadText, keep_words, stem

_SPACES, _MARKS_BEFORE = regex.compile(r"\s+"), regex.compile(r"^\W+")


def own_text(tweet: ReadText, reply: ReadText) -> str:
    """Return what the encoder is given of a reply without the tweet's words.

    Left out are links, mentions, hashtags, every word whose stem is that of a word of the tweet, function
    words aside, and marks and emoji that are then left before the first word. Emoji alone count by their
    names. Empty if only function words are left: they fit around anything, and the tweet's own would be near.
    """
    if not reply.words:
        return reply.for_encoder
    kept = [stem(word) not in tweet.stems for word in reply.words]
    if FUNCTION_WORDS.issuperset(compress(reply.words, kept)):
        return ""
    if all(kept) and not (reply.urls or reply.mentions or reply.hashtags):
        return reply.for_encoder
    return _MARKS_BEFORE.sub("", _SPACES.sub(" ", keep_words(reply.prose, kept))).strip()
