"""How long the platform says that a text is: weighted characters, of which a post may have 280.

The rules are those of X's published counting configuration, version 3 (developer.x.com, "Counting
characters"): a link counts 23 whatever its length, an emoji 2 whatever it is made of, a code point of the
Latin, Greek, Cyrillic, Hebrew, Arabic, Indic and Georgian blocks or of common punctuation 1, every other one
2.
"""

from __future__ import annotations

import unicodedata

import regex

MAX_WEIGHTED_LENGTH = 280
URL_LENGTH, WIDE_LENGTH = 23, 2

_DOMAINS = (
    "com|org|net|edu|gov|info|io|ai|co|dev|app|me|ly|gg|tv|xyz|news|blog|shop|store|site|online|tech|link|live|"
    "uk|de|fr|es|it|nl|eu|ca|au|in|jp|br|us|ru|ch|pl|se|be|fm|cc|biz|club|fun|top|click|win|money|finance"
)
URL = regex.compile(
    rf"(?:https?://|www\.)[^\s<>\"]+|"
    rf"(?<![\w@.#-])(?:[a-z0-9][a-z0-9-]{{0,62}}\.){{1,8}}(?:{_DOMAINS})(?:/[^\s<>\"]*|(?![\w.-]*\w))",
    regex.IGNORECASE,
)
"""A link with its scheme, or a bare domain of a common ending."""

# Code points that count 1: the ranges of the platform's configuration.
_NARROW = "\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037"
_PICTURE = r"(?:[\p{Extended_Pictographic}--[©®™‼⁉]]|\p{RI}|[0-9#*]\uFE0F?\u20E3|[©®™‼⁉]\uFE0F)"
EMOJI = regex.compile(
    rf"(?V1)(?:\p{{RI}}\p{{RI}}|{_PICTURE}[\uFE0F\p{{Emoji_Modifier}}\U000E0020-\U000E007F]*"
    rf"(?:\u200D{_PICTURE}[\uFE0F\p{{Emoji_Modifier}}]*)*)"
)
"""One emoji: a flag, a keycap, or a picture with its modifiers and all that is joined to it."""
_INNER_DOT = regex.compile(r"\.\w")
_WIDE = regex.compile(f"[^{_NARROW}]")


def may_hold_url(text: str) -> bool:
    """Return whether a dot stands before a letter or digit, as in every link."""
    return "." in text and _INNER_DOT.search(text) is not None


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
