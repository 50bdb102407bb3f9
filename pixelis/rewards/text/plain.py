"""A text as a reader sees it: without what is invisible, and what an encoder is to read of it."""

from __future__ import annotations

import re
import unicodedata

import regex

READ_CHARACTERS = 2_000
"""Characters of a text that are looked at."""
REPLACEMENT = "\ufffd"

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
_PICTURE = r"(?:[\p{Extended_Pictographic}--[©®™‼⁉]]|\p{RI}|[0-9#*]\uFE0F?\u20E3|[©®™‼⁉]\uFE0F)"
EMOJI = regex.compile(
    rf"(?V1)(?:\p{{RI}}\p{{RI}}|{_PICTURE}[\uFE0F\p{{Emoji_Modifier}}\U000E0020-\U000E007F]*"
    rf"(?:\u200D{_PICTURE}[\uFE0F\p{{Emoji_Modifier}}]*)*)"
)
"""One emoji: a flag, a keycap, or a picture with its modifiers and all that is joined to it."""
TAG = regex.compile(r"(?<![\w&/])([@#＠＃])(\w*\p{L}\w*)")
"""A mention or a hashtag: its sign and its word."""
# Scripts that write no spaces give a word for each letter.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
WORD = regex.compile(
    rf"[{_UNSPACED}]\p{{M}}*|[[\w]--[_{_UNSPACED}]]+(?:['’.][[\w]--[_{_UNSPACED}]]+)*", regex.V1
)
ASCII_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*", re.ASCII)
"""``WORD`` where there is nothing but ASCII, in half the time."""

_INNER_DOT = regex.compile(r"\.\w")
_TAG_SIGNS = frozenset("@#＠＃")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
# Format characters, what no font shows, and the letters that are blank by definition (Hangul fillers and
# others).
_UNSEEN = regex.compile(r"[\p{Cf}\p{Cn}\p{Co}\p{Variation_Selector}\u034f\u115f\u1160\u17b4\u17b5\u2800]")
_BLANKS = regex.compile(r"(?:[^\S\n]|[[\p{Cc}]--[\n]])+", regex.V1)
_LINES = regex.compile(r" *\n[ \n]*")


def plain_text(text: str) -> str:
    """Return the first 2,000 characters in NFKC, without what is invisible, with single spaces and line ends.

    Lone surrogates become U+FFFD, control characters a space.
    """
    text = text[:READ_CHARACTERS]
    if not text.isascii():
        text = _SURROGATE.sub(REPLACEMENT, unicodedata.normalize("NFKC", text))
        text = _UNSEEN.sub("", text)
    if "  " in text or not (text.isascii() and text.isprintable()):
        text = _BLANKS.sub(" ", text)
    return (_LINES.sub("\n", text) if "\n" in text else text).strip()


def may_hold_url(text: str) -> bool:
    """Return whether a dot stands before a letter or digit, as in every link."""
    return "." in text and _INNER_DOT.search(text) is not None


def tags_in(plain: str) -> list[tuple[str, str]]:
    """Return the mentions and hashtags of a plain text, each as sign and word."""
    return TAG.findall(plain) if not _TAG_SIGNS.isdisjoint(plain) else []


def prose_of(plain: str, tagged: bool) -> str:
    """Return a plain text without links and, where it has some (``tagged``), mentions and hashtags."""
    text = URL.sub(" ", plain) if may_hold_url(plain) else plain
    return TAG.sub(" ", text).strip() if tagged else text


def words_of(prose: str) -> tuple[str, ...]:
    """Return the words of a prose, case-folded, in order; a letter is a word where a script has no spaces."""
    prose = prose.casefold()
    if prose.isascii():
        return tuple(ASCII_WORD.findall(prose))
    return tuple(WORD.findall(prose.replace("’", "'")))


def emoji_in(text: str, plain: str) -> int:
    """Return how many emoji a text shows; ``plain`` is its `plain_text`."""
    return 0 if plain.isascii() else len(EMOJI.findall(text[:READ_CHARACTERS]))


def emoji_names(plain: str) -> str:
    """Return a plain text's signs by their names, as an encoder knows them; itself where none has a name."""
    return " ".join(unicodedata.name(sign, "").casefold() for sign in plain).strip() or plain


def for_encoder(text: str) -> str:
    """Return what an encoder is given of a text: its `plain_text`, or the names of emoji without words."""
    plain = plain_text(text)
    has_words = bool(words_of(prose_of(plain, bool(tags_in(plain)))))
    return plain if has_words or not emoji_in(text, plain) else emoji_names(plain)
