"""A text as parts and gates of the reward read it: cleaned of what cannot be seen, cut into its pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS, NO_CONTENT
from pixelis.envs.tweet.reading.weighted_length import weighted_length
from pixelis.rewards.text.plain import (
    ASCII_WORD,
    URL,
    WORD,
    emoji_in,
    emoji_names,
    may_hold_url,
    plain_text,
    prose_of,
    tags_in,
    words_of,
)

_TOKEN = regex.compile(r"[\w']+")
# The same where there is nothing but ASCII, in half the time.
_ASCII_TOKEN = re.compile(r"[\w']+", re.ASCII)
_SENTENCE = regex.compile(r"[.!?…。！？]+(?=\s|$)|\n")
_SHOWN = regex.compile(r"[\p{L}\p{N}\p{S}\p{P}]")
_CLAUSE = regex.compile(r"[,.;:!?…—–()\"“”]+")


T = TypeVar("T")


class once(Generic[T]):  # written like property
    """A property that is computed when it is first asked for.

    `functools.cached_property` of Python before 3.12 takes a lock each time, which is a tenth of a score.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> once[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


class ReadText:
    """A text and what can be read in it. Everything is computed when it is first asked for, and then kept.

    Args:
        raw: any Unicode, as the policy or the author wrote it; it is never changed or replaced.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw

    @once
    def plain(self) -> str:
        """What is seen of it, see `plain_text`."""
        return plain_text(self.raw)

    @once
    def is_blank(self) -> bool:
        """Whether nothing in it can be seen."""
        first = self.plain[:1]  # no white space
        return not (first.isascii() and first.isprintable() and first) and not _SHOWN.search(self.plain)

    @once
    def lower(self) -> str:
        """`plain`, case-folded, with straight quotes."""
        return self.plain.casefold().replace("’", "'").replace("“", '"').replace("”", '"')

    @once
    def signs(self) -> frozenset[str]:
        """Every character of `lower`, and every run of letters, digits and apostrophes, also in links."""
        find = _ASCII_TOKEN if self.lower.isascii() else _TOKEN
        return frozenset(find.findall(self.lower)).union(self.lower)

    @once
    def urls(self) -> tuple[str, ...]:
        """Its links."""
        return tuple(URL.findall(self.plain)) if may_hold_url(self.plain) else ()

    @once
    def _tags(self) -> list[tuple[str, str]]:
        return tags_in(self.plain)

    @once
    def mentions(self) -> tuple[str, ...]:
        """Names after an @, case-folded."""
        return tuple(name.casefold() for sign, name in self._tags if sign in "@＠")

    @once
    def hashtags(self) -> tuple[str, ...]:
        """Words after a #, case-folded."""
        return tuple(name.casefold() for sign, name in self._tags if sign in "#＃")

    @once
    def prose(self) -> str:
        """`plain` without links, mentions and hashtags."""
        return prose_of(self.plain, bool(self._tags))

    @once
    def words(self) -> tuple[str, ...]:
        """The words of the prose, case-folded, in order; a letter is a word where a script has no spaces."""
        return words_of(self.prose)

    @once
    def word_set(self) -> frozenset[str]:
        """Its different words."""
        return frozenset(self.words)

    @once
    def content_words(self) -> frozenset[str]:
        """The words that are neither function words nor stock praise, without a plural or verbal ending."""
        return frozenset(map(stem, self.word_set - NO_CONTENT))

    @once
    def stems(self) -> frozenset[str]:
        """The words that are no function words, stock praise too, without a plural or verbal ending."""
        return frozenset(map(stem, self.word_set - FUNCTION_WORDS))

    @once
    def emoji(self) -> int:
        """How many emoji it shows."""
        return emoji_in(self.raw, self.plain)

    @once
    def weighted_length(self) -> int:
        """Weighted characters, as the platform counts."""
        return weighted_length(self.raw)

    @once
    def sentences(self) -> int:
        """How many ends of sentences it has."""
        return len(_SENTENCE.findall(self.plain))

    @once
    def clauses(self) -> tuple[str, ...]:
        """What stands between its marks of punctuation, case-folded."""
        return tuple(part.strip() for part in _CLAUSE.split(self.lower) if part.strip())

    @once
    def for_encoder(self) -> str:
        """What the encoder is given: `plain`, or the names of its emoji when it has no words."""
        return self.plain if self.words or not self.emoji else emoji_names(self.plain)


def keep_words(prose: str, kept: Iterable[bool]) -> str:
    """Return a prose without the words, in the order of `ReadText.words`, that are not kept."""
    keep = iter(kept)
    word = ASCII_WORD if prose.isascii() else WORD
    return word.sub(lambda match: match.group() if next(keep, True) else "", prose)


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return a word without a plural or verbal ending, so that ``runs`` and ``running`` meet ``run``.

    A word of one's own would need a dictionary; this is only for counting words that two texts share.
    """
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) >= len(ending) + (3 if ending[-1] == "s" else 4):
            word = word.removesuffix(ending)
            return word[:-1] if ending in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2] else word
    return word
