"""Patterns that are searched for only where a word of theirs occurs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import regex

from pixelis.envs.tweet.reading.reading import ReadText


@dataclass(frozen=True)
class PrefilteredPatterns:
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

    @cached_property
    def ascii_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The same for texts of ASCII, where the two engines agree; this one is five times as fast.

        It knows no properties of Unicode, and no ASCII character is of the one that is asked for.
        """
        return tuple(re.compile(source.replace(r"\p{So}", "(?!)")) for source in self.sources)

    def finds(self, text: ReadText) -> bool:
        """Return whether a pattern matches a text."""
        return self._may_match(text) and any(pattern.search(text.lower) for pattern in self._for(text))

    def found(self, text: ReadText) -> set[str]:
        """Return the different strings of a text that match."""
        if not self._may_match(text):
            return set()
        return {match.group() for pattern in self._for(text) for match in pattern.finditer(text.lower)}

    def _for(self, text: ReadText) -> tuple[re.Pattern[str], ...] | tuple[regex.Pattern[str], ...]:
        return self.ascii_patterns if text.lower.isascii() else self.patterns

    def _may_match(self, text: ReadText) -> bool:
        return not self.signs.isdisjoint(text.signs)


def signs(words: str) -> frozenset[str]:
    """Return the words of a string."""
    return frozenset(words.split())


def phrases(*alternatives: str) -> str:
    """Return an expression for one of the alternatives as whole words; a space is any white space."""
    joined = "|".join(alternative.replace(" ", r"\s+") for alternative in alternatives)
    return rf"(?<![\w'])(?:{joined})(?![\w'])"
