"""Preferences made of tweets with good replies: each good reply against worse ones, made by stated rules.

A rule either takes something that exists (a reply to another tweet, the tweet itself, a part of the good
reply) or fills a sentence of ``data/worse_replies.json``. docs/reference/tweet_learned.md lists the kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pixelis.envs.tweet.data.preferences import Preference
from pixelis.envs.tweet.data.tweet_rows import TweetRow

SENTENCES = Path(__file__).parent / "worse_replies.json"
HARD = frozenset({"sadness", "anxiety", "anger", "frustration"})
"""Emotions of tweets under which laughing or cheering is out of place."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_EMOJI = "🔥🎉😂💯✨🙌😍🚀"
_LEAST = 15  # characters of a sentence that can stand alone as a reply

Sentences = Mapping[str, Sequence[str]]
"""Kind of worse reply → sentences with places for ``word``, ``Word``, ``other``, ``tweet`` and ``good``."""


@dataclass(frozen=True)
class _Case:
    """What a rule sees: a row, the others of its part, and a generator."""

    row: TweetRow
    others: Sequence[TweetRow]
    rng: np.random.Generator

    @property
    def word(self) -> str:
        """A longer word of the tweet."""
        words = sorted(_WORD.findall(self.row.tweet), key=len)[-4:] or ["this"]
        return words[int(self.rng.integers(len(words)))].lower()


@cache
def worse_sentences() -> Sentences:
    """Return the sentences that come with the package, by kind, 16 of each."""
    return json.loads(SENTENCES.read_text(encoding="utf-8"))


def _other(case: _Case, same_topic: bool) -> str:
    """Return a good reply to another tweet of the part, empty if there is none."""
    pool = [one for one in case.others if (one.topic == case.row.topic) == same_topic and one.reply]
    pool = [one for one in pool if one.tweet != case.row.tweet]
    return _as_people_write(pool[int(case.rng.integers(len(pool)))].reply, case.rng) if pool else ""


def _truncated(case: _Case) -> str:
    words = case.row.reply.split()
    return " ".join(words[: max(1, int(len(words) * case.rng.uniform(0.3, 0.7)))]).rstrip(".!?,;:")


def _shuffled(text: str, rng: np.random.Generator) -> str:
    return " ".join(rng.permutation(text.split()).tolist())


def _repeated(case: _Case) -> str:
    pieces = _SENTENCE_END.split(case.row.reply)
    return " ".join([pieces[0]] * 3) if case.rng.random() < 0.5 else " ".join([case.word] * 12)


def _signs(case: _Case) -> str:
    signs = "".join(case.rng.choice(list(_EMOJI), 8).tolist())
    return f"{case.word} {signs}" if case.rng.random() < 0.5 else "!" * int(case.rng.integers(3, 30))


def _tags(case: _Case, sign: str) -> str:
    words = case.rng.permutation(_WORD.findall(case.row.tweet) or ["this"])[:5].tolist()
    tags = " ".join(f"{sign}{word.lower()}" for word in words)
    return f"{case.row.reply} {tags} {sign}viral {sign}trending" if case.rng.random() < 0.5 else tags


def _links(case: _Case) -> str:
    return f"More about {case.word}: https://example.com/{case.word} https://example.org/{case.word}"


def _partial_copy(case: _Case) -> str:
    words = case.row.tweet.split()
    return " ".join(words[: max(3, int(len(words) * 0.7))])


_RULES: Mapping[str, Callable[[_Case], str]] = {
    "other_topic": lambda case: _other(case, same_topic=False),
    "same_topic": lambda case: _other(case, same_topic=True),
    "copy": lambda case: case.row.tweet,
    "partial_copy": _partial_copy,
    "truncated": _truncated,
    "shuffled": lambda case: _shuffled(case.row.reply, case.rng),
    "salad": lambda case: _shuffled(case.row.tweet, case.rng),
    "repetition": _repeated,
    "signs": _signs,
    "hashtags": lambda case: _tags(case, "#"),
    "mentions": lambda case: _tags(case, "@"),
    "links": _links,
    "empty": lambda case: "",
}


def derive_preferences(rows: Sequence[TweetRow], sentences: Sentences, seed: int = 0) -> list[Preference]:
    """Return each good reply against one worse reply of each kind that fits its tweet.

    The better side is the row's reply, or one of its sentences alone, or either in lower case without a full
    stop at the end, so that length and case decide nothing by themselves.

    Args:
        rows: tweets; those without a reply are left out. Replies to other tweets are taken from them only.
        sentences: as `worse_sentences` gives them, or a share of them.
        seed: of every draw.
    """
    rng = np.random.default_rng(seed)
    return [pair for row in rows if row.reply for pair in _pairs(_Case(row, rows, rng), sentences)]


def _pairs(case: _Case, sentences: Sentences) -> Iterator[Preference]:
    row = case.row
    fitting = [kind for kind in sentences if kind != "off_tone" or row.emotion in HARD]
    worse = {kind: rule(case) for kind, rule in _RULES.items()}
    worse |= {kind: _filled(case, sentences[kind]) for kind in fitting}
    for kind, rejected in worse.items():
        whole = kind in ("truncated", "shuffled")
        chosen = row.reply if whole else _as_people_write(row.reply, case.rng)
        if chosen != rejected.strip() and (rejected or kind == "empty"):
            yield Preference(row.tweet, chosen, rejected, row.author, row.topic, kind)


def _filled(case: _Case, sentences: Sequence[str]) -> str:
    word, row = case.word, case.row
    sentence = sentences[int(case.rng.integers(len(sentences)))]
    other = case.word if "{other}" in sentence else ""  # drawn for those only
    return sentence.format(word=word, Word=word.capitalize(), other=other, tweet=row.tweet, good=row.reply)


def _as_people_write(text: str, rng: np.random.Generator) -> str:
    pieces = [piece for piece in _SENTENCE_END.split(text) if len(piece) >= _LEAST]
    if pieces and rng.random() < 0.5:
        text = pieces[int(rng.integers(len(pieces)))]
    return text.lower().removesuffix(".") if rng.random() < 0.25 else text
