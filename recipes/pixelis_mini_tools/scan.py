"""Finding what is asked for, aloud: the question's word again, then line by line whether it is one with it.

A model of a few million parameters seldom looks a word up five hundred tokens back and the line with it in
one step. Said again and put beside each line, both are copied from a few tokens before.
"""

from __future__ import annotations

from collections.abc import Sequence

from pixelis_mini_vl.aloud import taken_in

from pixelis.envs.pixel.receipt_sum.question import decimal_text


def scanned(rows: Sequence[tuple[str, int]], word: str, kind: str) -> tuple[str, int | None]:
    """Return ("Asked: Tea. Red Tea Tea: 15.80. Old Nuts Tea: no. Old Tea Tea: 4.26. 15.80 4.26: 4.26.", 426).

    Args:
        rows: name of a line and its amount in cents.
        word: of the lines that count.
        kind: ``lowest`` or ``highest`` of their amounts, in place of their sum, see `taken_in`.

    Returns:
        What is said, and the result in cents; None where no line has the word.
    """
    said, result = f"Asked: {word}.", None
    for name, cents in rows:
        if word not in name.split():
            said += f" {name} {word}: no."
            continue
        said += f" {name} {word}: {decimal_text(cents)}."
        if result is None:
            result = cents
            continue
        step, result = taken_in(result, cents, kind)
        said += f" {step}"
    return said, result
