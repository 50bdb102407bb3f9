"""Counting pairs and triples whose sum fits."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(numbers):
    count = 0
    for chosen in choose(len(numbers), SIZE):
        total = sum(numbers[i] for i in chosen)
        if total % MODULUS == REST:
            count += 1
    return count

def choose(n, size):
    if size == 0:
        yield []
    else:
        for last in range(n):
            for others in choose(last, size - 1):
                yield others + [last]
"""

_BRUTE_FORCE = """
def solve(numbers):
    ways = {(0, 0): 1}
    for number in numbers:
        for (size, rest), count in list(ways.items()):
            key = (size + 1, (rest + number) % MODULUS)
            if size < SIZE:
                ways[key] = ways.get(key, 0) + count
    return ways.get((SIZE, REST), 0)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    modulus = rng.randint(3, 12)
    return {"SIZE": difficulty - 2, "MODULUS": modulus, "REST": 2 * rng.randrange(modulus) % modulus}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return ([rng.randint(-12, 12) for _ in range(rng.randint(3, 14))],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    size, modulus, rest = rule["SIZE"], rule["MODULUS"], rule["REST"]
    exact = [rest] + [0] * (size - 1)
    repeated = [*exact, *exact, *exact]
    half = rest // 2 if rest % 2 == 0 else (rest + modulus) // 2  # twice it has the remainder
    return [
        ([],),
        ([rest],),
        (exact,),
        ([half, half + 1],),
        (repeated,),
        ([n - modulus for n in repeated],),
        (list(range(12)),),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    size, modulus, rest = rule["SIZE"], rule["MODULUS"], rule["REST"]
    what = {2: "pairs i < j", 3: "triples i < j < k"}[size]
    note = f"The remainder is Python's: from 0 to {modulus - 1}, also for negative sums."
    return [
        f"Count the {what} of positions in numbers for which the sum of the {size} numbers there leaves a "
        f"remainder of {rest} when divided by {modulus}. {note}",
        f"In how many ways can {size} different positions of the list be chosen so that the numbers at them "
        f"add up to a total with total % {modulus} == {rest}? The order of choosing does not matter; equal "
        "numbers at different positions are different choices.",
        f"Return the number of {what} (indices into numbers, so equal values at other indices count again) "
        f"whose {size} values have a sum of {rest} modulo {modulus}. {note}",
    ]


PAIRS = ProblemFamily(
    name="pairs",
    difficulties=range(4, 6),
    entries=("count_choices", "matching_sums", "count_sums"),
    parameters={"numbers": "list[int]"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "one position twice": ("choose(last, size - 1)", "choose(last + 1, size - 1)"),
        "every order": ("choose(last, size - 1)", "choose(n, size - 1)"),
        "sum, not remainder": ("total % MODULUS == REST", "total == REST"),
        "distinct values": ("choose(len(numbers), SIZE):", "choose(len(set(numbers)), SIZE):"),
    },
)
