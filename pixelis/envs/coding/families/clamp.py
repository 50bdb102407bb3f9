"""A linear function, kept within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(x):
    return max(LOW, min(HIGH, FACTOR * x + SHIFT))
"""

_BRUTE_FORCE = """
def solve(x):
    total = SHIFT
    for _ in range(abs(x)):
        total += FACTOR if x > 0 else -FACTOR
    if total < LOW:
        return LOW
    return HIGH if total > HIGH else total
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    low = rng.randint(-40, 10)
    return {
        "FACTOR": rng.choice([-5, -4, -3, -2, 2, 3, 4, 5]),
        "SHIFT": rng.choice([-9, -7, -4, -2, 1, 3, 6, 8]),
        "LOW": low,
        "HIGH": low + rng.randint(60, 120),
    }


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    value = rng.randint(rule["LOW"] - 15, rule["HIGH"] + 15)
    return ((value - rule["SHIFT"]) // rule["FACTOR"],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    middle = ((rule["LOW"] + rule["HIGH"]) // 2 - rule["SHIFT"]) // rule["FACTOR"]
    return [(0,), (middle,), (middle + 1,), (200,), (-200,)]


def _wordings(rule: Rule) -> Sequence[str]:
    a, b, low, high = rule["FACTOR"], rule["SHIFT"], rule["LOW"], rule["HIGH"]
    return [
        f"Multiply the integer x by {a} and add {b}. Return the result, but {low} if it is lower than {low}, "
        f"and {high} if it is higher than {high}.",
        f"Return {a} * x + ({b}), clamped to the range from {low} to {high} (both included).",
        f"A dial shows {a} times x plus {b}, but its needle stops at {low} on the low side and at {high} on "
        "the high side. What does it show for the integer x?",
    ]


CLAMP = ProblemFamily(
    name="clamp",
    difficulties=range(1, 2),
    entries=("clamp", "dial", "bounded"),
    parameters={"x": "int"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "clamps x": ("max(LOW, min(HIGH, FACTOR * x + SHIFT))", "FACTOR * max(LOW, min(HIGH, x)) + SHIFT"),
        "no upper bound": ("min(HIGH, FACTOR * x + SHIFT)", "FACTOR * x + SHIFT"),
        "no lower bound": ("max(LOW, min(HIGH, FACTOR * x + SHIFT))", "min(HIGH, FACTOR * x + SHIFT)"),
        "forgets to add": (" + SHIFT", ""),
    },
)
