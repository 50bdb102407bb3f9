"""Sums of digits in a base, once or until one digit is left."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(n):
    while True:
        total, rest = 0, n
        while rest > 0:
            total += (rest % BASE) ** POWER
            rest //= BASE
        if not REPEAT or total < BASE:
            return total
        n = total
"""

_BRUTE_FORCE = """
def digits(n):
    return digits(n // BASE) + [n % BASE] if n >= BASE else [n]

def solve(n):
    total = sum(digit ** POWER for digit in digits(n))
    return solve(total) if REPEAT and total >= BASE else total
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    repeat = difficulty == 4
    return {
        "BASE": rng.choice([3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 20, 24, 36]),
        "POWER": 1 if repeat else rng.choice([1, 2, 3] if difficulty == 2 else [4, 5, 6]),
        "REPEAT": repeat,
    }


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return (rng.randrange(rule["BASE"] ** rng.randint(1, 9)),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    base = rule["BASE"]
    return [(0,), (1,), (base - 1,), (base,), (base**6 - 1,), (2 * base**7 + 2 * base,)]


def _wordings(rule: Rule) -> Sequence[str]:
    base, power = rule["BASE"], rule["POWER"]
    which = "" if power == 1 else f", each raised to the power {power},"
    if rule["REPEAT"]:
        return [
            f"Add up the base-{base} digits of n (n >= 0). If the sum is {base} or more, do the same with "
            "the sum, and so on, until it is a single digit. Return that digit as an integer.",
            f"Return the digital root of n in base {base}: replace n by the sum of its base-{base} digits "
            f"until it is below {base}. n is 0 or more.",
            f"Write the integer n >= 0 in base {base} and sum its digits; repeat this with the result as "
            f"long as it has more than one digit in base {base}. Return the last result.",
        ]
    return [
        f"Return the sum of the digits of n{which} when n is written in base {base}. n is 0 or more.",
        f"Write the integer n >= 0 in base {base}. Add up its digits{which} and return the total.",
        f"What is the total of the base-{base} digits of n{which} for an integer n that is not negative?",
    ]


DIGITS = ProblemFamily(
    name="digits",
    difficulties=range(2, 5),
    entries=("digit_sum", "sum_digits", "cross_sum"),
    parameters={"n": "int"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "base ten": """
def solve(n):
    total = sum(int(digit) ** POWER for digit in str(n))
    while REPEAT and total >= 10:
        total = sum(int(digit) for digit in str(total))
    return total
""",
        "stops before the last digit": ("while rest > 0", "while rest >= BASE"),
        "last digit of one sum": (
            "        if not REPEAT or total < BASE:\n            return total\n        n = total",
            "        return total % BASE",
        ),
        "counts distinct digits": """
def solve(n):
    seen = set()
    while n > 0:
        seen.add(n % BASE)
        n //= BASE
    return sum(digit ** POWER for digit in seen)
""",
    },
)
