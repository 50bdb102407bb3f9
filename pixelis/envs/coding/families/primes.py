"""Prime factors and coprime numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_FACTORS = """
def solve(n):
    result = []
    p = 2
    while p * p <= n:
        power = 0
        while n % p == 0:
            n //= p
            power += 1
        if power:
            result.append((p, power))
        p += 1
    if n > 1:
        result.append((n, 1))
    return [(p, power) for p, power in result if p % MODULUS in RESTS]
"""

_FACTORS_TWIN = """
def prime(p):
    return p > 1 and all(p % q for q in range(2, p) if q * q <= p)

def solve(n):
    result = []
    for p in range(2, n + 1):
        if n % p == 0 and prime(p) and p % MODULUS in RESTS:
            power = max(k for k in range(1, 40) if n % p ** k == 0)
            result.append((p, power))
    return result
"""

_COPRIME = """
from math import gcd

def solve(first, last):
    return sum(1 for n in range(first, last + 1) if gcd(n, NUMBER) == 1)
"""

_COPRIME_TWIN = """
def solve(first, last):
    primes = [p for p in range(2, NUMBER + 1) if NUMBER % p == 0 and all(p % q for q in range(2, p))]

    def up_to(n):
        total = 0
        for chosen in range(2 ** len(primes)):
            product, sign = 1, 1
            for i, p in enumerate(primes):
                if chosen >> i & 1:
                    product, sign = product * p, -sign
            total += sign * (n // product)
        return total

    return up_to(last) - up_to(first - 1) if first <= last else 0
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    modulus = rng.choice([4, 5, 6, 7, 8])
    units = {4: (1, 3), 5: (1, 2, 3, 4), 6: (1, 5), 7: (1, 2, 3, 4, 5, 6), 8: (1, 3, 5, 7)}[modulus]
    return {"MODULUS": modulus, "RESTS": sorted({2 % modulus, *rng.sample(units, len(units) // 2)})}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    n = rng.choice([1, 1, rng.randint(2, 60)])
    for _ in range(rng.randint(1, 5)):
        n *= rng.choice([2, 2, 3, 3, 5, 7, 11, 13])
    while n > 20_000:
        n = n // 2 + 1
    return (n,)


def _edges(rule: Rule) -> Sequence[Arguments]:
    return [(1,), (4,), (1024,), (9973,), (97 * 97,), (2310,), (2**4 * 3**2 * 5 * 7,), (2 * 4999,)]


def _wordings(rule: Rule) -> Sequence[str]:
    m, rests = rule["MODULUS"], ", ".join(map(str, rule["RESTS"]))
    return [
        f"Return the prime factors p of n (n >= 1) whose remainder p % {m} is one of {rests}: a list of "
        "tuples (p, how often p divides n), with p rising.",
        "Factorise the positive integer n. Of its prime powers p^k return those (as tuples (p, k), smallest "
        f"p first) where p leaves one of the remainders {rests} on division by {m}.",
        "Which primes divide n >= 1, and with what exponent? List (prime, exponent) tuples in rising order, "
        f"but only for primes which are {rests} modulo {m}.",
    ]


def _draw_number(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"NUMBER": rng.choice([n for n in range(12, 400) if len(_primes_of(n)) >= 2])}


def _primes_of(n: int) -> list[int]:
    return [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p))]


def _draw_range(rng: Random, rule: Rule) -> Arguments:
    first = rng.randint(1, 300)
    return (first, first + rng.randint(0, 400))


def _range_edges(rule: Rule) -> Sequence[Arguments]:
    n = rule["NUMBER"]
    return [(1, n), (n, n), (1, 1), (n + 1, n + 1), (2, 1), (1, n * 2 + 1), (n - 1, n + 1)]


def _coprime_wordings(rule: Rule) -> Sequence[str]:
    n = rule["NUMBER"]
    return [
        f"Count the integers from first to last, both included, that have no common divisor with {n} except "
        "1. first is at least 1; return 0 if last is below first.",
        f"How many k with first <= k <= last are coprime to {n}? (first >= 1; an empty range has none.)",
        "Return how many whole numbers in the range first..last (ends included, first >= 1, perhaps empty) "
        f"share no prime factor with {n}.",
    ]


FACTORS = ProblemFamily(
    name="factors",
    difficulties=range(5, 6),
    entries=("factorise", "prime_powers", "factors"),
    parameters={"n": "int"},
    returns="list[tuple[int, int]]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_FACTORS,
    brute_force_text=_FACTORS_TWIN,
    mistakes={
        "stops before the square root": ("p * p <= n", "p * p < n"),
        "forgets the last prime": ("if n > 1", "if n > 10 ** 9"),
        "all primes": ("p % MODULUS in RESTS", "p"),
        "each prime once": ("power += 1", "power = 1"),
    },
)

COPRIME = replace(
    FACTORS,
    name="coprime",
    difficulties=range(3, 4),
    entries=("count_coprime", "coprimes", "without_common_divisor"),
    parameters={"first": "int", "last": "int"},
    returns="int",
    wordings=_coprime_wordings,
    draw_rule=_draw_number,
    draw_args=_draw_range,
    edges=_range_edges,
    reference_text=_COPRIME,
    brute_force_text=_COPRIME_TWIN,
    mistakes={
        "last left out": ("last + 1", "last"),
        "no divisor of the number": ("gcd(n, NUMBER) == 1", "NUMBER % n != 0"),
        "not divisible by it": ("gcd(n, NUMBER) == 1", "n % NUMBER != 0"),
        "starts at 1": ("range(first, last + 1)", "range(1, last + 1)"),
    },
)
