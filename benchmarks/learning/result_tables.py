"""Markdown tables of what was measured, imported by other benchmarks: rates and their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pixelis.agents.runs.evaluate import wilson_interval


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
