"""Replies with one known fault each, and good ones: what the fault heads of the reward are fitted to.

Rude, insulting, tone-deaf and untrue replies were written; replies off the topic and filled stock sentences
are made by stated rules. docs/reference/tweet_learned.md tells where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from pixelis.envs.data.lines import load_rows
from pixelis.envs.schema import OneOf, read_fields
from pixelis.envs.tweet.data.tweet_rows import Line, Message, TweetRow, given_fields
from pixelis.envs.tweet.data.worse_replies import Sentences

FAULTY = Path(__file__).parent / "faulty_replies.jsonl"
FAULT_OF = {
    "good": "good",
    "rude": "abuse",
    "insult": "abuse",
    "tone_deaf": "tone_deaf",
    "untrue": "untrue",
    "stock": "stock",
}
"""Kind of a written reply → the fault that it has."""
STOCK_KINDS = (
    "generic_praise",
    "topic_praise",
    "slot_template",
    "slot_question",
    "slot_comment",
    "stock_question",
)
_STRIDE, _MINE = 8, 4  # of 8 sentences the first four; the evaluation reward learns from the others
_ANYWHERE, _STOCK_EACH = 3, 8  # tweets that a reply without one, and a stock sentence, are put under
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True)
class FaultCase:
    """A reply that is good, or has one fault.

    Attributes:
        tweet: what is replied to; empty for a reply that would be as faulty, or as good, under any.
        reply: the text.
        fault: a name of the reward's faults, or ``good``.
        group: topic or the like; cases of one group are never on both sides of a measurement.
    """

    tweet: str
    reply: str
    fault: str
    group: str


def load_faulty(path: Path = FAULTY) -> list[FaultCase]:
    """Return the cases of a JSONL file, in its order.

    A row has ``reply`` and ``kind`` (a key of `FAULT_OF`), and if it is about one, ``tweet`` with ``topic``
    or ``author``; a stock sentence has places for ``word``, ``Word`` and ``other`` instead.

    Raises:
        DatasetError: the file cannot be read, has no rows, or bad ones; the first five are named by line.
    """
    return load_rows(path, "JSONL file of faulty replies", _case)


@dataclass(frozen=True)
class _Row:
    reply: Message
    kind: Annotated[str, OneOf(FAULT_OF)]
    tweet: Message = ""
    topic: Line = ""
    author: Line = ""


def _case(value: Mapping[str, Any]) -> FaultCase:
    row = read_fields(_Row, given_fields(value))
    return FaultCase(row.tweet, row.reply, FAULT_OF[row.kind], row.topic or row.author or row.tweet)


def fault_cases(
    written: Sequence[FaultCase], rows: Sequence[TweetRow], sentences: Sentences, seed: int = 0
) -> list[FaultCase]:
    """Return the written cases and those that follow from them and from tweets with good replies.

    Every good reply to a tweet is also put under a tweet of another topic, where it is off the topic; replies
    without a tweet are put under three each, stock sentences under eight, with words of the tweet in them.

    Args:
        written: of `load_faulty`.
        rows: tweets with good replies; those without are left out.
        sentences: of `worse_sentences`; the first half is used, the other is the evaluation reward's.
        seed: of every draw.
    """
    rng = np.random.default_rng(seed)
    placed = [one for one in written if one.tweet]
    placed += [FaultCase(row.tweet, row.reply, "good", f"tweets: {row.topic}") for row in rows if row.reply]
    tweets = sorted({one.tweet for one in placed})
    good = [one for one in placed if one.fault == "good"]
    found = [*placed, *(_elsewhere(one, good, rng) for one in good)]
    loose = [one for one in written if not one.tweet and one.fault != "stock"]
    for number, one in enumerate(loose):
        for place in rng.integers(len(tweets), size=_ANYWHERE).tolist():
            found.append(FaultCase(tweets[place], one.reply, one.fault, f"loose: {number}"))
    stock = [one.reply for one in written if one.fault == "stock"]
    stock += [one for kind in STOCK_KINDS for n, one in enumerate(sentences[kind]) if n % _STRIDE < _MINE]
    for number, sentence in enumerate(stock):
        for place in rng.integers(len(tweets), size=_STOCK_EACH).tolist():
            reply = _filled(sentence, tweets[place], rng)
            found.append(FaultCase(tweets[place], reply, "stock", f"stock: {number}"))
    return found


def _elsewhere(one: FaultCase, good: Sequence[FaultCase], rng: np.random.Generator) -> FaultCase:
    others = [other for other in good if other.group != one.group]
    other = others[int(rng.integers(len(others)))]
    return FaultCase(one.tweet, other.reply, "off_topic", one.group)


def _filled(sentence: str, tweet: str, rng: np.random.Generator) -> str:
    words = sorted(_WORD.findall(tweet), key=len)[-4:] or ["this"]
    word, other = (words[place].lower() for place in rng.integers(len(words), size=2).tolist())
    return sentence.format(word=word, Word=word.capitalize(), other=other)
