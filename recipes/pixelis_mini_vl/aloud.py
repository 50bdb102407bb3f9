"""Working aloud: comparing and adding in steps that each need two numbers standing side by side.

A sum is written backwards before it is written: every digit of it then follows from two digits and the
carry of the digit before (Lee et al. 2023, Teaching Arithmetic to Small Transformers, arXiv:2307.03381).
"""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.envs.pixel.receipt_sum.question import decimal_text

COLUMN = 5
"""Digits a sum is written backwards with: the amounts of a page come to less than 1000."""


def compared(rows: Sequence[tuple[str, float]], *, smallest: bool = False) -> tuple[str, str]:
    """Return ("red 0.0125. pink 0.0163: pink 0.0163.", "pink"): of each step the largest so far.

    Args:
        rows: name and share of the picture, at least one row.
        smallest: in place of the largest.
    """
    best, said = rows[0], f"{rows[0][0]} {rows[0][1]}."
    for row in rows[1:]:
        best = (min if smallest else max)(best, row, key=lambda each: each[1])
        said += f" {row[0]} {row[1]}: {best[0]} {best[1]}."
    return said, best[0]


def combined(rows: Sequence[tuple[str, int]], kind: str) -> tuple[str, int]:
    """Return ("Red Tea 15.80. Old Tea 10.26: 60620 26.06.", 2606): of each step the sum so far.

    Args:
        rows: name of a line and its amount in cents, at least one row.
        kind: ``lowest`` or ``highest`` for that in place of the sum.
    """
    result, said = rows[0][1], f"{rows[0][0]} {decimal_text(rows[0][1])}."
    for name, cents in rows[1:]:
        said += f" {name} {decimal_text(cents)}:"
        if kind in ("lowest", "highest"):
            result = (min if kind == "lowest" else max)(result, cents)
        else:
            result += cents
            said += f" {backwards(result)}"
        said += f" {decimal_text(result)}."
    return said, result


def backwards(cents: int) -> str:
    """Return the digits from the last to the first: 2606 is "60620"."""
    return f"{cents:0{COLUMN}d}"[::-1]
