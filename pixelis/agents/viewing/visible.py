"""Text of strangers as it was written: nothing in it acts, and what is not visible is named."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_KEPT = "\u200d\ufe0f"  # what joins an emoji's parts
_MAYBE = re.compile("([^\n\t -~\u00a1-\u00ac\u00ae-\u02ff])\\1*")  # all that can be invisible, and more
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def in_plain(text: str) -> str:
    """Return a text for a terminal, in which ``⟨U+001B⟩`` stands for a sign that acts or that nobody sees."""
    return _MAYBE.sub(lambda found: f"⟨{name}⟩" if (name := _name_of(found)) else found[0], text)


def in_html(text: str) -> str:
    """Return a text for a page: escaped, and with a mark for each sign that acts or that nobody sees."""

    def shown(found: re.Match[str]) -> str:
        """Return the mark of a sign, or the sign itself where everybody sees it."""
        name = _name_of(found)
        if name is None:
            return found[0]
        told = unicodedata.name(found[1], "control or unassigned")
        return f'<i class="sign" title="{told}">{name}</i>'

    return _MAYBE.sub(shown, escape(text))


def shortened(text: str, limit: int) -> str:
    """Return a text of at most about ``limit`` characters; its middle gives way to a count."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n… [{left_out:,} characters are left out here] …\n{text[len(text) - tail :]}"


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a head line; what is not known is empty.

    Text that a spreadsheet would take for a formula is put behind an apostrophe.
    """
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def fitted(texts: Sequence[str], budget: int) -> list[str]:
    """Return texts whose `in_html` take at most ``budget`` bytes together; the longest are shortened."""
    sizes = [html_bytes(text) for text in texts]
    cap, left = budget, budget
    for place, size in enumerate(sorted(sizes)):  # the level to which water would fill
        cap = left // (len(sizes) - place)
        if size > cap:
            break
        left -= size
    else:
        return list(texts)
    return [_cut(text, cap) if size > cap else text for text, size in zip(texts, sizes, strict=True)]


def html_bytes(text: str) -> int:
    """Return how many bytes `in_html` makes of a text."""
    return len(in_html(text).encode())


# ---------------------------------------------------------------------- private


def _name_of(run: re.Match[str]) -> str | None:
    """Return what stands for a sign that acts or is not seen, and its repetitions; None for other signs."""
    sign, count = run[1], len(run[0])
    if sign in _KEPT or unicodedata.category(sign) not in _INVISIBLE:
        return None
    return f"U+{ord(sign):04X}" + (f" ×{count:,}" if count > 1 else "")


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value


def _cut(text: str, cap: int) -> str:
    """Return the text shortened to ``cap`` bytes: by what it takes as a whole, then in steps."""
    length = int(len(text) * 0.95 * cap / html_bytes(text))
    cut = shortened(text, length)
    while html_bytes(cut) > cap and length > 64:
        length = length * 3 // 4
        cut = shortened(text, length)
    return cut
