"""Filtering and mapping a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(numbers):
    result = []
    for number in numbers:
        if number % DIVISOR == REST and number >= LEAST:
            result.append(number * FACTOR + SHIFT)
    if REVERSED:
        result.reverse()
    return result
"""

_BRUTE_FORCE = """
def solve(numbers):
    order = numbers[::-1] if REVERSED else list(numbers)
    kept = filter(lambda number: (number - REST) % DIVISOR == 0 and not number < LEAST, order)
    return list(map(lambda number: SHIFT + FACTOR * number, kept))
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    divisor, least = rng.randint(2, 4), rng.randint(-20, 5)
    return {
        "DIVISOR": divisor,
        "REST": least % divisor,
        "LEAST": least,
        "FACTOR": rng.randint(2, 7),
        "SHIFT": 0 if difficulty == 1 else rng.choice([-5, -3, -1, 2, 4, 9]),
        "REVERSED": difficulty == 3,
    }


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return ([rng.randint(-40, 40) for _ in range(rng.randint(2, 12))],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    d, least = rule["DIVISOR"], rule["LEAST"]
    return [([],), ([least, least, least - d],), ([least + 1, least + d, least + 3 * d],), ([least - 1],)]


def _wordings(rule: Rule) -> Sequence[str]:
    d, rest, least, factor, shift = (rule[k] for k in ("DIVISOR", "REST", "LEAST", "FACTOR", "SHIFT"))
    plus = f" plus {shift}" if shift else ""
    order = "in reverse order: the last one first" if rule["REVERSED"] else "in their order"
    note = "The remainder is Python's, so it is never negative."
    return [
        f"From a list of integers, keep those that are at least {least} and leave a remainder of {rest} when "
        f"divided by {d}. Return a list of {factor} times each kept number{plus}, {order}. {note}",
        f"For each number in numbers with number % {d} == {rest} and number >= {least}, put {factor} * "
        f"number{plus} into a list. Return the list, with its entries {order}.",
        f"Drop every number below {least} and every number whose remainder by {d} is not {rest}. Multiply "
        f"what is left by {factor}{', then add ' + str(shift) if shift else ''}. Return the results "
        f"{order}. {note}",
    ]


SELECT = ProblemFamily(
    name="select",
    difficulties=range(1, 4),
    entries=("select", "keep_and_scale", "pick"),
    parameters={"numbers": "list[int]"},
    returns="list[int]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "above, not at least": (">= LEAST", "> LEAST"),
        "either condition": (" and ", " or "),
        "wrong order": ("if REVERSED", "if not REVERSED"),
        "no scaling": (" * FACTOR", ""),
        "each number once": ("in numbers", "in dict.fromkeys(numbers)"),
    },
)
