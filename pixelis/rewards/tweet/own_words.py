"""What a reply says in words of its own.

A stock sentence around a word of the tweet ("Tell me more about the …") is near to the tweet by that word
alone; what is left without it fits under any post.
"""

from __future__ import annotations

import regex

from pixelis.rewards.tweet.reading import ReadText, stem, without_words

_SPACES = regex.compile(r"\s+")


def own_text(tweet: ReadText, reply: ReadText) -> str:
    """Return what the encoder is given of a reply without the tweet's words.

    Left out are links, mentions, hashtags and every word whose stem is that of a word of the tweet, function
    words aside. Emoji alone count by their names. Empty if no other word is left.
    """
    if not reply.words:
        return reply.for_encoder
    tagged = reply.urls or reply.mentions or reply.hashtags
    if not tagged and tweet.stems.isdisjoint(map(stem, reply.word_set)):
        return reply.for_encoder
    left = without_words(reply.prose, tweet.stems)
    return _SPACES.sub(" ", left).strip() if any(map(str.isalnum, left)) else ""
