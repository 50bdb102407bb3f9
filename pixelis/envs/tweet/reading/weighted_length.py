"""How long the platform says that a text is: weighted characters, of which a post may have 280.

The rules are those of X's published counting configuration, version 3 (developer.x.com, "Counting
characters"): a link counts 23 whatever its length, an emoji 2 whatever it is made of, a code point of the
Latin, Greek, Cyrillic, Hebrew, Arabic, Indic and Georgian blocks or of common punctuation 1, every other one
2.
"""

from __future__ import annotations

import unicodedata

import regex

from pixelis.rewards.text.plain import EMOJI, URL, may_hold_url

MAX_WEIGHTED_LENGTH = 280
URL_LENGTH, WIDE_LENGTH = 23, 2

# Code points that count 1: the ranges of the platform's configuration.
_NARROW = "\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037"
_WIDE = regex.compile(f"[^{_NARROW}]")


def weighted_length(text: str) -> int:
    """Return the number of weighted characters of a text, at least 0.

    The sum over the text in NFC of 23 for each link, 2 for each emoji, and for every other code point 1 or 2.

    Args:
        text: any Unicode, lone surrogates too (2 each).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    links = 0
    if may_hold_url(text):
        text, links = URL.subn("", text)
    length = len(text) + URL_LENGTH * links
    if text.isascii():
        return length
    text, emoji = EMOJI.subn("", text)
    return len(text) + URL_LENGTH * links + WIDE_LENGTH * emoji + len(_WIDE.findall(text))
