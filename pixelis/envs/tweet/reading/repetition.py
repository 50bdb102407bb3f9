"""Replies that say a thing again: the tweet's words, their own words, or a heap of words without grammar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS
from pixelis.envs.tweet.reading.reading import ReadText, stem

COPY_RUN, COPY_SHARE = 5, 0.7
"""Words in a row, and the share of the shorter text in such rows, that make a copy."""
_STRETCH = 12
_STRETCHED = regex.compile(r"(\S)\1{11,}|(\S{2,10}?)\2{5,}")
_LAUGHTER = regex.compile(r"(?:ha|he|hi|ah|ja|lo|xd|w|5|k|笑|哈){2,}\w?")
_LEAST_WORDS, _MOST_EMPHATIC = 6, 8


def ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """Return the runs of n words, in order."""
    return list(zip(*(words[start:] for start in range(n)), strict=False))


def copied_share(source: Sequence[str], text: Sequence[str], run: int = COPY_RUN) -> float:
    """Return the share in [0, 1] of a text's words that lie in runs of a source; 0 for an empty text.

    Args:
        source: words of the text that may have been copied.
        text: words of the text that may be a copy.
        run: least words of a run; of a shorter text all its words.
    """
    run = min(run, len(text))
    if not run:
        return 0.0
    known = set(ngrams(source, run))
    covered = [False] * len(text)
    for start, gram in enumerate(ngrams(text, run)):
        if gram in known:
            covered[start : start + run] = [True] * run
    return sum(covered) / len(text)


def shared_content(tweet: ReadText, reply: ReadText) -> float:
    """Return the share in [0, 1] of the reply's content words that the tweet has too; 0 without any."""
    own = reply.content_words
    return len(own & tweet.content_words) / len(own) if own else 0.0


def is_copy(tweet: ReadText, reply: ReadText) -> bool:
    """Return whether a reply consists of the tweet's words in the tweet's order, or holds all of the tweet.

    Quoting part of it and saying something about it is no copy.
    """
    if len(reply.words) < 2:
        return False
    if set(ngrams(tweet.words, COPY_RUN)).isdisjoint(ngrams(reply.words, COPY_RUN)):
        return reply.words == tweet.words
    if len(reply.words) >= COPY_RUN and copied_share(tweet.words, reply.words) >= COPY_SHARE:
        return True
    whole = len(tweet.words) >= COPY_RUN and copied_share(reply.words, tweet.words) >= COPY_SHARE + 0.1
    return whole or reply.words == tweet.words


def repeated_share(words: Sequence[str]) -> float:
    """Return the largest share in [0, 1] of words that one n-gram said at least three times makes up.

    Longest n 4. Function words alone do not count: every text repeats those.
    """
    best = 0.0
    for n in (1, 2, 3, 4):
        for gram, count in Counter(ngrams(words, n)).items():
            if count >= 3 and not (n == 1 and gram[0] in FUNCTION_WORDS):
                best = max(best, min(1.0, count * n / len(words)))
    return best


def is_repetitive(reply: ReadText) -> bool:
    """Return whether a reply says the same over and over: words, runs of words, or one sign.

    Laughter and a stretched vowel ("sooooo") are not repetition.
    """
    prose = reply.prose.casefold()
    tokens = prose.split()
    if max(map(len, tokens), default=0) >= _STRETCH:
        for match in _STRETCHED.finditer(prose):
            if not _LAUGHTER.fullmatch(match.group()):
                return True
    words = reply.words
    if len(reply.word_set) > 0.75 * len(words):
        return False  # whatever is said again by the rules below leaves fewer different words
    if len(words) < _MOST_EMPHATIC:
        return len(words) >= 4 and len(reply.word_set) == 1 and not _LAUGHTER.fullmatch(words[0])
    if len(reply.word_set) < 0.5 * len(words):
        return True
    if repeated_share(words) >= 0.5:
        return True
    sentences = [" ".join(part.split()) for part in reply.clauses if len(part.split()) >= 3]
    again = sum(count - 1 for count in Counter(sentences).values())
    return len(sentences) >= 2 and again >= 0.5 * len(sentences)


def grammar_share(words: Sequence[str]) -> float:
    """Return the share in [0, 1] of function words; 1 for no words."""
    return sum(map(FUNCTION_WORDS.__contains__, words)) / len(words) if words else 1.0


def is_salad(tweet: ReadText, reply: ReadText) -> bool:
    """Return whether an English reply heaps up words without the small words that make a sentence.

    From six words on, at most one in ten being a function word: half of the words are the tweet's, or they
    stand in five or more clauses of one and a half words on average. From seven on without any function word
    or mark between; from nine on with at most one function word in twenty.
    """
    words = reply.words
    if len(words) < _LEAST_WORDS or not _is_latin(words):
        return False
    share = grammar_share(words)
    if share > 0.1:
        return False
    shared = {stem(word) for word in words} & {
        stem(word) for word in tweet.words if word not in FUNCTION_WORDS
    }
    lengths = [len(clause.split()) for clause in reply.clauses]
    listed = len(lengths) >= 5 and sum(lengths) <= 1.5 * len(lengths)
    bare = share == 0 and len(words) > _LEAST_WORDS and len(lengths) == 1
    return bare or listed or len(shared) >= 0.5 * len(reply.word_set) or (share <= 0.05 and len(words) >= 9)


def _is_latin(words: Sequence[str]) -> bool:
    return all(word.isascii() for word in words)
