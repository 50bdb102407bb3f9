"""Text of models and environments made visible: what would act on a reader or a page is shown as it is."""

from __future__ import annotations

import re
import unicodedata

_ACTING = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"  # controls, halves of pairs
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"  # without width, turning round, breaking lines
)
_PLAIN = re.compile(f"[^{_ACTING}]*")


def visible(text: str) -> str:
    """Return a text in which what cannot be seen, or turns the text around, stands as ``⟨U+202E⟩``.

    Control characters of ASCII become their pictures (``␛``). Line ends, tabs and blanks stay.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_shown(sign) for sign in text)


def _shown(sign: str) -> str:
    if _PLAIN.fullmatch(sign):
        return sign
    code = ord(sign)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(sign) == "Mn":  # a variation selector: it only chooses a form
        return sign
    return f"⟨U+{code:04X}⟩"
