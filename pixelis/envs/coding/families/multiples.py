"""Sums of multiples below a bound."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(n):
    return sum(i for i in range(1, n) if i % FIRST == 0 or i % SECOND == 0)
"""

_BRUTE_FORCE = """
from math import gcd

def below(n, step):
    count = max(0, n - 1) // step
    return step * count * (count + 1) // 2

def solve(n):
    both = FIRST * SECOND // gcd(FIRST, SECOND)
    return below(n, FIRST) + below(n, SECOND) - below(n, both)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    first, second = rng.sample([2, 3, 5, 7, 11] if difficulty == 1 else [4, 6, 8, 9, 10, 14, 15], 2)
    return {"FIRST": first, "SECOND": second}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return (rng.randint(2, 300),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    first, second = rule["FIRST"], rule["SECOND"]
    return [(0,), (-3,), (first,), (second + 1,), (first * second,), (first * second + 1,)]


def _wordings(rule: Rule) -> Sequence[str]:
    a, b = rule["FIRST"], rule["SECOND"]
    return [
        f"Return the sum of all positive integers below n that are divisible by {a} or by {b}. A number "
        "divisible by both counts once. For n below 2 the sum is 0.",
        f"Add up every whole number from 1 to n - 1 which is a multiple of {a}, of {b}, or of both (each is "
        "added once). Return 0 if there is none.",
        f"Of the numbers i with 1 <= i < n, keep those where {a} divides i or {b} divides i. Return their "
        "total, each number once, or 0 where no number is kept.",
    ]


MULTIPLES = ProblemFamily(
    name="multiples",
    difficulties=range(1, 3),
    entries=("sum_multiples", "total_below", "add_multiples"),
    parameters={"n": "int"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "n included": ("range(1, n)", "range(1, n + 1)"),
        "both divide": (" or ", " and "),
        "one divides, not both": (
            "i % FIRST == 0 or i % SECOND == 0",
            "(i % FIRST == 0) != (i % SECOND == 0)",
        ),
        "counts": ("sum(i for", "sum(1 for"),
    },
)
