"""Merging intervals with a tolerated gap."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start - merged[-1][1] <= GAP:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [(start, end) for start, end in merged if end - start >= SHORTEST]
"""

_BRUTE_FORCE = """
def solve(intervals):
    parts = [list(part) for part in intervals]
    changed = True
    while changed:
        changed = False
        for i in range(len(parts)):
            for j in range(i):
                if parts[i][0] - GAP <= parts[j][1] and parts[j][0] - GAP <= parts[i][1]:
                    one, other = parts.pop(i), parts.pop(j)
                    parts.append([min(one[0], other[0]), max(one[1], other[1])])
                    changed = True
                    break
            if changed:
                break
    return sorted(tuple(part) for part in parts if part[1] >= part[0] + SHORTEST)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"GAP": rng.randint(0, 14), "SHORTEST": rng.randint(2, 9) if difficulty > 4 else 0}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    starts = [rng.randint(-30, 60) for _ in range(rng.randint(2, 8))]
    return ([(start, start + rng.randint(0, 18)) for start in starts],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    gap, short = rule["GAP"], rule["SHORTEST"]
    touching = [(0, 10), (10 + gap, 30), (31 + 2 * gap, 50 + 2 * gap)]
    inside = [(5, 6), (0, 40), (50 + gap, 60 + gap), (2, 3)]
    lengths = [(0, short), (100, 100 + short), (200, 199 + max(short, 1))]
    return [([],), ([(3, 3 + short)],), (touching,), (touching[::-1],), (inside,), (lengths,)]


def _wordings(rule: Rule) -> Sequence[str]:
    gap, short = rule["GAP"], rule["SHORTEST"]
    drop = f" At the end drop those with end - start below {short}." if short else ""
    return [
        "Merge intervals (tuples (start, end) of integers, start <= end, in any order): two belong together "
        f"if they overlap or if the second starts at most {gap} after the first ends. Return the merged "
        f"intervals as tuples, sorted.{drop}",
        "Given (start, end) pairs with start <= end, join all that overlap, touch, or lie apart by no more "
        f"than {gap}, again and again until nothing can be joined. Return a sorted list of (start, end) "
        f"tuples.{drop}",
        f"Each tuple (start, end) is a time in use, start <= end. Pauses of up to {gap} (so next start - "
        f"end <= {gap}) count as use, too. Return the times in use as a sorted list of tuples that cannot "
        f"be merged further.{drop}",
    ]


INTERVALS = ProblemFamily(
    name="intervals",
    difficulties=range(4, 6),
    entries=("merge_intervals", "join_times", "merged"),
    parameters={"intervals": "list[tuple[int, int]]"},
    returns="list[tuple[int, int]]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "not sorted": ("sorted(intervals)", "intervals"),
        "gap must be smaller": ("<= GAP", "< GAP"),
        "takes the later end": ("max(merged[-1][1], end)", "end"),
        "lists, not tuples": ("[(start, end) for", "[[start, end] for"),
    },
)
