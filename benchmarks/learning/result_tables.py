"""Markdown tables of what was measured, imported by other benchmarks: rates, gains and their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pixelis.agents.runs.evaluate import wilson_interval
from pixelis.agents.runs.paired import mcnemar_p, newcombe_interval


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table without a last line break."""
    lines = [_line(head), "|---" * len(head) + "|", *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def rate(solved: Sequence[bool]) -> list[float]:
    """Return how many were solved, of how many, and Wilson's 95 % interval of the share."""
    return [sum(solved), len(solved), *wilson_interval(sum(solved), len(solved))]


def rate_cell(found: Sequence[float]) -> str:
    """Return what `rate` found as a cell, the share as ``nan`` where there were none."""
    solved, count, low, high = found
    return interval_cell(solved / count if count else float("nan"), low, high)


def interval_cell(value: float, low: float, high: float) -> str:
    """Return ``0.935 (0.892–0.962)``."""
    return f"{value:.3f} ({low:.3f}–{high:.3f})"


def gain(before: Sequence[bool], after: Sequence[bool]) -> dict[str, Any]:
    """Return the paired difference of what two models solved, its 95 % interval and the exact test."""
    pairs = list(zip(before, after, strict=True))
    one, other = pairs.count((True, False)), pairs.count((False, True))
    interval = newcombe_interval(pairs.count((True, True)), one, other, pairs.count((False, False)))
    return {"difference": (other - one) / len(pairs), "interval": interval, "p": mcnemar_p(one, other)}


def gain_cell(found: Mapping[str, Any] | None) -> str:
    """Return what `gain` found as a cell: ``+0.400 (+0.262 to +0.514)``."""
    if found is None:
        return "–"
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(found["difference"], *found["interval"])
