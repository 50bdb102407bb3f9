"""A text as parts and gates of the reward read it: cleaned of what cannot be seen, cut into its pieces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS, NO_CONTENT
from pixelis.envs.tweet.reading.weighted_length import EMOJI, URL, may_hold_url, weighted_length

READ_CHARACTERS = 2_000
"""Characters of a text that are looked at; a text so long is far over the platform's limit anyway."""
REPLACEMENT = "\ufffd"

_SURROGATE = regex.compile(r"[\ud800-\udfff]")
# Format characters, what no font shows, and the letters that are blank by definition (Hangul fillers and
# others).
_UNSEEN = regex.compile(r"[\p{Cf}\p{Cn}\p{Co}\p{Variation_Selector}\u034f\u115f\u1160\u17b4\u17b5\u2800]")
_BLANKS = regex.compile(r"(?:[^\S\n]|[[\p{Cc}]--[\n]])+", regex.V1)
_LINES = regex.compile(r" *\n[ \n]*")
_TAG = regex.compile(r"(?<![\w&/])([@#＠＃])(\w*\p{L}\w*)")
# Scripts that write no spaces give a word for each letter.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(
    rf"[{_UNSPACED}]\p{{M}}*|[[\w]--[_{_UNSPACED}]]+(?:['’.][[\w]--[_{_UNSPACED}]]+)*", regex.V1
)
_TOKEN = regex.compile(r"[\w']+")
# The same two where there is nothing but ASCII, in half the time.
_ASCII_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*", re.ASCII)
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
        """The first 2,000 characters in NFKC, without what is invisible, with single spaces and line ends.

        Lone surrogates become U+FFFD, control characters a space.
        """
        text = self.raw[:READ_CHARACTERS]
        if not text.isascii():
            text = _SURROGATE.sub(REPLACEMENT, unicodedata.normalize("NFKC", text))
            text = _UNSEEN.sub("", text)
        if "  " in text or not (text.isascii() and text.isprintable()):
            text = _BLANKS.sub(" ", text)
        return (_LINES.sub("\n", text) if "\n" in text else text).strip()

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
        return _TAG.findall(self.plain) if not _TAG_SIGNS.isdisjoint(self.plain) else []

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
        text = URL.sub(" ", self.plain) if may_hold_url(self.plain) else self.plain
        return _TAG.sub(" ", text).strip() if self._tags else text

    @once
    def words(self) -> tuple[str, ...]:
        """The words of the prose, case-folded, in order; a letter is a word where a script has no spaces."""
        prose = self.prose.casefold()
        if prose.isascii():
            return tuple(_ASCII_WORD.findall(prose))
        return tuple(_WORD.findall(prose.replace("’", "'")))

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
        return 0 if self.plain.isascii() else len(EMOJI.findall(self.raw[:READ_CHARACTERS]))

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
        if self.words or not self.emoji:
            return self.plain
        return " ".join(unicodedata.name(sign, "").casefold() for sign in self.plain).strip() or self.plain


def keep_words(prose: str, kept: Iterable[bool]) -> str:
    """Return a prose without the words, in the order of `ReadText.words`, that are not kept."""
    keep = iter(kept)
    word = _ASCII_WORD if prose.isascii() else _WORD
    return word.sub(lambda match: match.group() if next(keep, True) else "", prose)


_TAG_SIGNS = frozenset("@#＠＃")


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
