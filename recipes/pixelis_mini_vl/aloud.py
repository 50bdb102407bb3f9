"""Working aloud: comparing and adding in steps that each need two numbers standing side by side.

Each step repeats the result so far and the next number before it says what comes out: with a name between
the two a small model guesses. A sum is written column by column from the right with its carries: every
token then follows from a few before it (Lee et al. 2023, Teaching Arithmetic to Small Transformers,
arXiv:2307.03381).
"""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.envs.pixel.receipt_sum.question import decimal_text

COLUMNS = 4
"""Digits that are added at least: amounts below 100.00 all look alike."""


def compared(rows: Sequence[tuple[str, float]], *, smallest: bool = False) -> tuple[str, str]:
    """Return ("0.0125 red. 0.0163 pink. 0.0125 0.0163: 0.0163. 0.0163 pink.", "pink").

    Args:
        rows: name and share of the picture, at least one row; each share once.
        smallest: in place of the largest.
    """
    (name, best), *others = rows
    said = f"{best} {name}."
    for other, share in others:
        found = (min if smallest else max)(best, share)
        said += f" {share} {other}. {best} {share}: {found}."
        best = found
    name = next(each for each, share in rows if share == best)
    return f"{said} {best} {name}.", name


def combined(rows: Sequence[tuple[str, int]], kind: str) -> tuple[str, int]:
    """Return ("Red Tea 15.80. Old Tea 10.26. 15.80 10.26: 10.26.", 1026) for the lowest; sums have `columns`.

    Args:
        rows: name of a line and its amount in cents, at least one row.
        kind: ``lowest`` or ``highest`` for that in place of the sum.
    """
    (name, result), *others = rows
    said = f"{name} {decimal_text(result)}."
    for other, cents in others:
        step, result = taken_in(result, cents, kind)
        said += f" {other} {decimal_text(cents)}. {step}"
    return said, result


def taken_in(result: int, cents: int, kind: str) -> tuple[str, int]:
    """Return ("15.80 10.26: 10.26.", 1026) for the lowest: the result so far, the next, what comes out.

    Args:
        result: in cents, so far.
        cents: the next amount.
        kind: as for `combined`.
    """
    said = f"{decimal_text(result)} {decimal_text(cents)}: "
    if kind in ("lowest", "highest"):
        result = (min if kind == "lowest" else max)(result, cents)
    else:
        written, result = columns(result, cents)
        said += f"{written} "
    return f"{said}{decimal_text(result)}.", result


def columns(a: int, b: int) -> tuple[str, int]:
    """Return a sum from the right, of 1580 and 1026 ("0+6+0=06 8+2+0=10 5+0+1=06 1+1+0=02", 2606).

    Args:
        a: cents, 0 or more.
        b: cents, 0 or more.
    """
    length, carry, said, result = max(COLUMNS, len(str(max(a, b)))), 0, [], 0
    for i, (x, y) in enumerate(zip(*(map(int, f"{each:0{length}d}"[::-1]) for each in (a, b)), strict=True)):
        total = x + y + carry
        said.append(f"{x}+{y}+{carry}={total:02d}")
        carry = total // 10
        result += total % 10 * 10**i
    return " ".join(said), result + carry * 10**length
