"""FizzBuzz with drawn divisors and words."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_WORDS = ("Fizz", "Buzz", "Plink", "Hop", "Zap", "Moo", "Tick", "Bang", "Ding", "Woof", "Splash", "Hey")

_REFERENCE = """
def solve(n):
    result = []
    for number in range(1, n + 1):
        words = "".join(word for divisor, word in RULES if number % divisor == 0)
        result.append(words or str(number))
    return result
"""

_BRUTE_FORCE = """
def solve(n):
    said = [""] * (n + 1)
    for divisor, word in RULES:
        at = divisor
        while at <= n:
            said[at] += word
            at += divisor
    return [said[i] if said[i] else str(i) for i in range(1, n + 1)]
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    count = difficulty - 1
    divisors = rng.sample(range(2, 8), count)
    return {"RULES": [list(pair) for pair in zip(divisors, rng.sample(_WORDS, count), strict=True)]}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return (rng.randint(2, 40),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    period = lcm(*(divisor for divisor, _ in rule["RULES"]))
    return [(0,), (1,), (period,), (period + 1,), (2 * period - 1,)]


def _wordings(rule: Rule) -> Sequence[str]:
    words = "; ".join(f"{word!r} for a multiple of {divisor}" for divisor, word in rule["RULES"])
    return [
        f"Return a list of texts for the numbers 1 to n: {words}; and the number itself, as text, if no word "
        "fits. Where several words fit, join them in the order given here, without spaces. For n = 0 the "
        "list is empty.",
        f"Count from 1 to n (n may be 0), but say words for some numbers: {words}. If more than one applies "
        "say all of them, in this order, as one text with nothing in between; if none applies, say the "
        "number. Return the list of what is said, all of it as strings.",
        f"Play a counting game up to n. The rules are, in order: {words}. A number that meets several rules "
        "gets their words glued together in that order, a number that meets none is written in digits. "
        "Return the n strings in a list.",
    ]


FIZZBUZZ = ProblemFamily(
    name="fizzbuzz",
    difficulties=range(3, 5),
    entries=("fizzbuzz", "count_off", "counting_game"),
    parameters={"n": "int"},
    returns="list[str]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "first word only": (
            '"".join(word for divisor, word in RULES if number % divisor == 0)',
            'next((word for divisor, word in RULES if number % divisor == 0), "")',
        ),
        "stops before n": ("range(1, n + 1)", "range(1, n)"),
        "starts at 0": ("range(1, n + 1)", "range(n)"),
        "numbers, not texts": ("words or str(number)", "words or number"),
        "words in the other order": ("in RULES", "in RULES[::-1]"),
    },
)
