"""Hard gates: what no style makes up for. A reply that one of them stops gets a negative reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

import regex

from pixelis.envs.tweet.reading import patterns
from pixelis.envs.tweet.reading.abuse import is_abusive, speaks_of_somebody
from pixelis.envs.tweet.reading.candidates import offers_candidates
from pixelis.envs.tweet.reading.disguise import is_disguised_copy
from pixelis.envs.tweet.reading.language import is_other_language
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.repetition import (
    copied_share,
    is_copy,
    is_repetitive,
    is_salad,
    shared_content,
)
from pixelis.envs.tweet.reading.weighted_length import MAX_WEIGHTED_LENGTH
from pixelis.errors import ConfigError

MOST_CHARACTERS = 4_000
"""Code points beyond which a text is too long whatever the platform counts (one link may hide them)."""
_QUOTED_RUN, _LONG_QUOTE = 4, 7
"""Words in a row that are a quote, and words of quotes that are not a remark's beginning."""
_PUNCTUATION_RUN = regex.compile(r"[!?]{6,}|[.]{8,}|(?:[!?.,*~_=-]\s?){10,}")


@dataclass(frozen=True)
class ReplyPair:
    """A tweet, a reply to it, and how near their embeddings are.

    Attributes:
        tweet: the post.
        reply: the completion, raw.
        cosine: of their embeddings, in [−1, 1].
        own_cosine: the same of the tweet and the reply without the tweet's words, 0 if none is left; None
            where all words count (preset ``classic``).
        faults: fault → probability in [0, 1], of the fitted heads; empty where there are none.
        specificity: to which share in [0, 1] of many posts the reply is less near than to this tweet; None
            where that is not known (other encoders, preset ``classic``).
    """

    tweet: ReadText
    reply: ReadText
    cosine: float
    own_cosine: float | None = None
    faults: Mapping[str, float] = field(default_factory=dict)
    specificity: float | None = None


@dataclass(frozen=True)
class GateLimits:
    """What the gates still let through.

    Attributes:
        weighted_length: weighted characters.
        cosine: of reply and tweet; nearer is a paraphrase.
        shared_cosine: the same where the reply's content words are mostly the tweet's.
        shared_content: least share in [0, 1] of them for that.
        quoted: share in [0, 1] of the reply's words that stand in the tweet, four or more in a row, where
            they are seven or more.
        emoji: emoji.
        emoji_share: emoji by words, from four emoji on.
        hashtags: hashtags that the tweet does not have.
        mentions: mentioned names, the tweet's own aside.
        urls: links; two need four words around them.
        abuse: probability of contempt, as the fitted head sees it, in a reply that speaks of somebody.
    """

    weighted_length: int = MAX_WEIGHTED_LENGTH
    cosine: float = 0.88
    shared_cosine: float = 0.75
    shared_content: float = 0.6
    quoted: float = 0.37
    emoji: int = 5
    emoji_share: float = 0.6
    hashtags: int = 2
    mentions: int = 2
    urls: int = 2
    abuse: float = 0.97

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 <= value < float("inf"):
                raise ConfigError(f"limits: {item.name}: expected a number of at least 0, got {value!r}")


def _too_long(pair: ReplyPair, limits: GateLimits) -> bool:
    reply = pair.reply
    return len(reply.raw) > MOST_CHARACTERS or reply.weighted_length > limits.weighted_length


def _copy(pair: ReplyPair, limits: GateLimits) -> bool:
    if pair.cosine >= limits.cosine or is_copy(pair.tweet, pair.reply):
        return True
    if is_disguised_copy(pair.tweet, pair.reply):
        return True
    quoted = copied_share(pair.tweet.words, pair.reply.words, _QUOTED_RUN)
    if quoted > limits.quoted and quoted * len(pair.reply.words) >= _LONG_QUOTE:
        return True
    near = pair.cosine >= limits.shared_cosine and len(pair.reply.content_words) >= 3
    return near and shared_content(pair.tweet, pair.reply) >= limits.shared_content


def _prompt_leak(pair: ReplyPair, limits: GateLimits) -> bool:
    return patterns.PROMPT_LEAK.finds(pair.reply) or offers_candidates(pair.reply)


def _template(pair: ReplyPair, limits: GateLimits) -> bool:
    return patterns.TEMPLATE.finds(pair.reply)


def _injection(pair: ReplyPair, limits: GateLimits) -> bool:
    return patterns.INJECTION.finds(pair.reply)


def _stuffing(pair: ReplyPair, limits: GateLimits) -> bool:
    reply, tweet = pair.reply, pair.tweet
    new_tags = [tag for tag in reply.hashtags if tag not in tweet.hashtags]
    names = {name for name in reply.mentions if name not in tweet.mentions}
    share = reply.emoji / max(1, len(reply.words))
    return (
        reply.emoji > limits.emoji
        or (reply.emoji >= 4 and share > limits.emoji_share)
        or len(new_tags) > limits.hashtags
        or len(reply.hashtags) > limits.hashtags + 2
        or len(names) > limits.mentions
        or len(reply.urls) > limits.urls
        or (len(reply.urls) == 2 and len(reply.words) < 4)
        or _PUNCTUATION_RUN.search(reply.plain) is not None
    )


def _is_spam(pair: ReplyPair, limits: GateLimits) -> bool:
    if patterns.SPAM_STRONG.finds(pair.reply):
        return True
    weak = patterns.SPAM_WEAK.found(pair.reply)
    return bool(weak) and len(weak - patterns.SPAM_WEAK.found(pair.tweet)) + bool(pair.reply.urls) >= 2


def _abuse(pair: ReplyPair, limits: GateLimits) -> bool:
    if is_abusive(pair.reply):
        return True
    return pair.faults.get("abuse", 0.0) >= limits.abuse and speaks_of_somebody(pair.reply)


@dataclass(frozen=True)
class Gate:
    """A gate.

    Attributes:
        stops: whether it stops a pair.
        penalty: what it costs, in (0.7, 1]; 0.7 is all that style can earn.
    """

    stops: Callable[[ReplyPair, GateLimits], bool]
    penalty: float


GATES: Mapping[str, Gate] = {
    "empty": Gate(lambda pair, limits: pair.reply.is_blank, 1.0),
    "too_long": Gate(_too_long, 0.8),
    "copy": Gate(_copy, 0.9),
    "prompt_leak": Gate(_prompt_leak, 0.9),
    "template": Gate(_template, 0.9),
    "injection": Gate(_injection, 1.0),
    "stuffing": Gate(_stuffing, 0.8),
    "repetition": Gate(lambda pair, limits: is_repetitive(pair.reply), 0.9),
    "salad": Gate(lambda pair, limits: is_salad(pair.tweet, pair.reply), 0.9),
    "language": Gate(lambda pair, limits: is_other_language(pair.tweet, pair.reply), 0.8),
    "spam": Gate(_is_spam, 1.0),
    "abuse": Gate(_abuse, 1.0),
}
"""Every gate by name, in the order in which a score lists them."""


def find_gates(pair: ReplyPair, limits: GateLimits) -> tuple[str, ...]:
    """Return the names of the gates that stop a pair; an empty reply is only empty.

    Raises:
        MissingDependencyError: py3langid is not installed.
    """
    if pair.reply.is_blank:
        return ("empty",)
    return tuple(name for name, gate in GATES.items() if gate.stops(pair, limits))
