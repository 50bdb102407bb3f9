"""Patterns that are searched for only where a word of theirs occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import regex

from pixelis.rewards.tweet.reading import ReadText


@dataclass(frozen=True)
class Lookout:
    """Patterns, and words of which a text has one whenever a pattern matches.

    Looking for words first makes it many times faster: most replies have none of them.

    Attributes:
        signs: the words, and single characters.
        sources: the regular expressions that are searched for, in lower case, if there is one.
    """

    signs: frozenset[str]
    sources: tuple[str, ...]

    @cached_property
    def patterns(self) -> tuple[regex.Pattern[str], ...]:
        """The expressions, compiled when they are first needed: that takes longer than many a search."""
        return tuple(map(regex.compile, self.sources))

    def finds(self, text: ReadText) -> bool:
        """Return whether a pattern matches a text."""
        return self._may_match(text) and any(pattern.search(text.lower) for pattern in self.patterns)

    def found(self, text: ReadText) -> set[str]:
        """Return the different strings of a text that match."""
        if not self._may_match(text):
            return set()
        return {match.group() for pattern in self.patterns for match in pattern.finditer(text.lower)}

    def _may_match(self, text: ReadText) -> bool:
        return not self.signs.isdisjoint(text.signs)


def signs(words: str) -> frozenset[str]:
    """Return the words of a string."""
    return frozenset(words.split())


def phrases(*alternatives: str) -> str:
    """Return an expression for one of the alternatives as whole words; a space is any white space."""
    joined = "|".join(alternative.replace(" ", r"\s+") for alternative in alternatives)
    return rf"(?<![\w'])(?:{joined})(?![\w'])"
