"""The six parts of the default preset: the prior work's names and weights, other formulas.

None of them can be raised by doing more of one thing without end: each is a plateau, a share or capped.
"""

from __future__ import annotations

import regex

from pixelis.envs.tweet.reading.hardship import names_death, names_hardship
from pixelis.envs.tweet.reading.lexicon import (
    CELEBRATION,
    GENERIC_WORDS,
    LAUGHTER,
    NO_CONTENT,
    RELIEF,
    SYMPATHY,
)
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.sentiment import may_be_negative, sentiment, tweet_sentiment
from pixelis.envs.tweet.reward.gates import ReplyPair

OWN_RELATED, OWN_RELEVANT = 0.10, 0.22
"""Cosines of the tweet and the reply's own words at which relevance begins and is full."""
RELATED, RELEVANT, CLOSE, SAME = 0.20, 0.40, 0.65, 0.85
"""Cosines of tweet and reply at which the tweet's own words begin to bring something near and have brought
`NAMED`, and at which relevance begins to fall and is gone."""
ANYWHERE, HERE = 0.75, 0.95
"""Shares of other posts to which a reply is less near, at which relevance begins to rise and is full."""
UNSPECIFIC = 0.2
"""What relevance is multiplied by below that: little, but a policy that begins there can learn from it."""
SURE = 0.15
"""Probability up to which a fault counts as absent."""
NAMED = 0.2
"""What naming the topic in the tweet's own words is worth at most."""
_MARK = regex.compile(r"[\p{P}\p{So}\p{Sk}\p{Sm}--['’\-@#/&]]", regex.V1)
_MARK_RUN = regex.compile(r"[!?]{3,}|([!?])\s\1\s\1")
_QUESTION = regex.compile(r"[^.!?…]*\?")
_PARTY = frozenset("\U0001f389\U0001f38a\U0001f973\U0001f37e\U0001f942\U0001f929")
_GRINS = frozenset("\U0001f602\U0001f923\U0001f605\U0001f606\U0001f60e\U0001f525")
_NUMBER = regex.compile(r"[\d.,'’]+")
_WORDY = regex.compile(r"[\w']+")


def ramp(value: float, zero: float, one: float) -> float:
    """Return where a value lies on the line that is 0 at ``zero`` and 1 at ``one``, held in [0, 1]."""
    return min(1.0, max(0.0, (value - zero) / (one - zero)))


def plateau(cosine: float, own_cosine: float | None = None) -> float:
    """Return max(ramp(o, 0.10, 0.22), 0.2 · ramp(c, 0.20, 0.40)) · ramp(c, 0.85, 0.65): [0, 1].

    Too little similarity is off-topic, too much is the tweet again. The first is told by the reply's own
    words, because a stock sentence around a word of the tweet is near by that word alone. Honest replies
    often turn the tweet's own words around, so naming the topic is worth something, but at most 0.2.

    Args:
        cosine: c, of tweet and reply, in [−1, 1].
        own_cosine: o, of the tweet and the reply without the tweet's words; None: the same.
    """
    own = cosine if own_cosine is None else own_cosine
    near = max(ramp(own, OWN_RELATED, OWN_RELEVANT), NAMED * ramp(cosine, RELATED, RELEVANT))
    return near * ramp(cosine, SAME, CLOSE)


def substance(pair: ReplyPair) -> float:
    """Return how far the reply is more than stock praise: [0.2, 1].

    With k different content words and g different words of stock praise ("great", "insight", "thanks"), the
    share k / (k + g) decides: 0.2 up to 0.3, 1 from 0.6, a straight line between; 0.2 without any content.
    """
    content = len(pair.reply.content_words)
    stock = len(pair.reply.word_set & GENERIC_WORDS)
    share = content / (content + stock) if content else 0.0
    return 0.2 + 0.8 * ramp(share, 0.3, 0.6)


def relevance(pair: ReplyPair) -> float:
    """Return how near the reply is, and not too near, times `substance` and how specific it is: [0, 1].

    Near is `plateau` of the cosines, less what the fault heads doubt that it is on the topic, where they have
    looked. Praise that names the topic is near to every tweet about it. How specific is `specificity`. 0 for
    a reply that shows nothing or is a single word or number: that says nothing about any tweet.
    """
    if pair.reply.is_blank or is_bare(pair.reply):
        return 0.0
    near = plateau(pair.cosine, pair.own_cosine) * (1 - doubt(pair.faults.get("off_topic", 0.0)))
    return near * specificity(pair) * substance(pair)


def specificity(pair: ReplyPair) -> float:
    """Return 0.2 for a reply that is as near to a quarter of other posts, 1 from 5 % of them: [0.2, 1].

    A straight line between; 1 where that is not known. A reply with nothing in it about the tweet is nearer
    to it than to 75 % of posts under one tweet in four, however near to all of them it is.
    """
    if pair.specificity is None:
        return 1.0
    return UNSPECIFIC + (1 - UNSPECIFIC) * ramp(pair.specificity, ANYWHERE, HERE)


def doubt(chance: float) -> float:
    """Return how much of a fault's probability counts: 0 up to 0.15, then a straight line to 1 at 1.

    Below that it says nothing, and what is paid for nothing could be collected by adding words.
    """
    return ramp(chance, SURE, 1.0)


def is_bare(reply: ReadText) -> bool:
    """Return whether a reply has fewer than two words and emoji together; numbers are no words.

    In scripts without spaces each letter is a word.
    """
    return sum(not _NUMBER.fullmatch(word) for word in reply.words) + reply.emoji < 2


def length(pair: ReplyPair) -> float:
    """Return a score by weighted characters n: n/40 up to 40, 1 to 180, then falling to 0.5 at 280: [0, 1].

    Beyond 280 it falls on, to 0 at 380 (and a gate has closed).
    """
    count = pair.reply.weighted_length
    return min(ramp(count, 0, 40), ramp(count, 380, 180))


def tone(pair: ReplyPair) -> float:
    """Return how far the reply is from hostility and from cheering at bad news: [0, 1].

    With VADER's s in [−1, 1] of tweet t and reply r, h = −s(r) − max(0, −s(t)) is its own hostility:
    1 up to h = 0.4, 0 from 0.9; a word of sympathy under a post that names a hardship is never hostile, how
    sad it may sound. No reply has to mirror its tweet. The tone is 0 where a reply without a word of sympathy
    cheers at a tweet that names a hardship or has s(t) ≤ −0.5, or laughs at one that names a hardship (with
    s(t) < 0.3 or a death, and no word of relief).
    """
    words = pair.reply.word_set
    if SYMPATHY.isdisjoint(words):
        cheers = not CELEBRATION.isdisjoint(words) or not _PARTY.isdisjoint(pair.reply.raw)
        laughs = not LAUGHTER.isdisjoint(words) or not _GRINS.isdisjoint(pair.reply.raw)
        if (cheers or laughs) and _is_tone_deaf(pair, cheers):
            return 0.0
    elif names_hardship(pair.tweet):
        return 1.0
    if not may_be_negative(pair.reply.plain):
        return 1.0  # what follows would be, too
    own = -sentiment(pair.reply.plain)
    return 1.0 if own <= 0.4 else 1 - ramp(own - max(0.0, -tweet_sentiment(pair.tweet.plain)), 0.4, 0.9)


def _is_tone_deaf(pair: ReplyPair, cheers: bool) -> bool:
    before, about = tweet_sentiment(pair.tweet.plain), pair.tweet.word_set
    hardship = RELIEF.isdisjoint(about) and names_hardship(pair.tweet)
    return (hardship and (before < 0.3 or names_death(pair.tweet))) or (cheers and before <= -0.5)


def diversity(pair: ReplyPair) -> float:
    """Return how far the share d of distinct words lies between 0.4 and 0.8: [0, 1]; 0 for no words."""
    words = pair.reply.words
    return ramp(len(pair.reply.word_set) / len(words), 0.4, 0.8) if words else 0.0


def punctuation(pair: ReplyPair) -> float:
    """Return a score by the share p of punctuation and emoji among the characters: [0, 1].

    1 up to p = 0.10, falling to 0 at 0.30; half of that where ``!`` or ``?`` come three in a row; 0.7 of it
    for over 100 characters without any mark; 0 for nothing visible.
    """
    text = pair.reply.plain
    if pair.reply.is_blank:
        return 0.0
    marks = len(_MARK.findall(text))
    score = ramp(marks / len(text), 0.30, 0.10)
    if _MARK_RUN.search(text):
        score *= 0.5
    return score * 0.7 if not marks and len(text) > 100 else score


def engagement(pair: ReplyPair) -> float:
    """Return how much the reply brings to this conversation: [0, 1].

    0.8 · min(1, k / 4) + 0.2 · q for the number k of content words that the tweet does not have (stock praise
    is no content), and q = 1 if it asks something with a content word in it. Half for all capitals.
    """
    new = pair.reply.content_words - pair.tweet.content_words
    score = 0.8 * min(1.0, len(new) / 4) + 0.2 * asks_something(pair)
    text = pair.reply.plain
    return score * 0.5 if len(text) > 10 and text.isupper() else score


def asks_something(pair: ReplyPair) -> bool:
    """Return whether one of the reply's questions has a content word.

    "What do you think?" fits under every tweet and asks nothing.
    """
    if "?" not in pair.reply.plain:
        return False
    questions = _QUESTION.findall(pair.reply.lower)
    return any(word not in NO_CONTENT for question in questions for word in _WORDY.findall(question))
