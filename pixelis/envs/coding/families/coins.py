"""Paying an amount with drawn coins: fewest, or number of ways."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(amount):
    if FEWEST:
        best = [0] + [None] * amount
        for total in range(1, amount + 1):
            fits = [best[total - coin] for coin in COINS if coin <= total and best[total - coin] is not None]
            best[total] = min(fits) + 1 if fits else None
        return -1 if best[amount] is None else best[amount]
    ways = [1] + [0] * amount
    for coin in COINS:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]
"""

_BRUTE_FORCE = """
from functools import lru_cache

@lru_cache(maxsize=None)
def options(amount, kinds):
    if amount == 0:
        return (1, 0)
    if kinds == 0:
        return (0, None)
    count, fewest = 0, None
    for used in range(amount // COINS[kinds - 1] + 1):
        ways, least = options(amount - used * COINS[kinds - 1], kinds - 1)
        count += ways
        if least is not None and (fewest is None or least + used < fewest):
            fewest = least + used
    return (count, fewest)

def solve(amount):
    count, fewest = options(amount, len(COINS))
    return (-1 if fewest is None else fewest) if FEWEST else count
"""


def _greedy_fails(coins: Sequence[int]) -> list[int]:
    fails = []
    for amount in range(1, 60):
        best = [0, *[999] * amount]
        for total in range(1, amount + 1):
            best[total] = min([999, *(best[total - coin] + 1 for coin in coins if coin <= total)])
        count, rest = 0, amount
        for coin in sorted(coins, reverse=True):
            count, rest = count + rest // coin, rest % coin
        if best[amount] < 999 and (rest or count != best[amount]):
            fails.append(amount)
    return fails


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    while True:  # until taking the largest coin first is wrong somewhere
        coins = sorted(rng.sample(range(2, 24), 3 if difficulty == 6 else 4))
        if len(_greedy_fails(coins)) > 4:
            return {"COINS": coins, "FEWEST": rng.random() < 0.5}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return (rng.randint(2, 160),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    amounts = [0, 1, rule["COINS"][0], sum(rule["COINS"]), *_greedy_fails(rule["COINS"])[:3]]
    return [(amount,) for amount in dict.fromkeys(amounts)]


def _wordings(rule: Rule) -> Sequence[str]:
    coins = ", ".join(map(str, rule["COINS"]))
    if rule["FEWEST"]:
        return [
            f"Return the least number of coins that make up amount exactly, with as many coins of {coins} "
            "as you like; -1 if it cannot be done, and 0 for amount 0.",
            f"A machine has any number of coins worth {coins}. How few coins can pay out amount (0 or more)? "
            "Return -1 for amounts it cannot pay exactly.",
            f"Write amount (>= 0) as a sum of as few numbers as possible, each of them one of {coins}, "
            "repeats allowed. Return how many numbers that takes, -1 if there is no such sum.",
        ]
    return [
        f"In how many ways can amount (0 or more) be paid exactly with coins of {coins}? There are enough "
        "of each; the order of the coins does not matter; amount 0 can be paid in one way.",
        f"Count the multisets of the numbers {coins} (each may repeat) whose sum is amount, which is 0 or "
        "more. The empty one has the sum 0.",
        f"A machine has any number of coins worth {coins}. Return how many different handfuls of coins are "
        "worth "
        "amount; two are the same if they have equally many of each coin, and an empty handful is worth 0.",
    ]


COINS = ProblemFamily(
    name="coins",
    difficulties=range(6, 8),
    entries=("pay", "coins", "change"),
    parameters={"amount": "int"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "largest first": """
def solve(amount):
    count = 0
    for coin in reversed(COINS):
        count += amount // coin
        amount %= coin
    return -1 if amount else count
""",
        "each coin once": """
def solve(amount):
    sums = {0: (0, 1)}
    for coin in COINS:
        for total, (count, ways) in list(sums.items()):
            few, more = sums.get(total + coin, (99, 0))
            sums[total + coin] = (min(few, count + 1), more + ways)
    count, ways = sums.get(amount, (-1, 0))
    return count if FEWEST else ways
""",
        "order matters, no failure": """
def solve(amount):
    best, ways = [0] + [0] * amount, [1] + [0] * amount
    for total in range(1, amount + 1):
        fits = [coin for coin in COINS if coin <= total]
        best[total] = min((best[total - coin] + 1 for coin in fits), default=0)
        ways[total] = sum(ways[total - coin] for coin in fits)
    return best[amount] if FEWEST else ways[amount]
""",
        "one coin forgotten": """
def solve(amount):
    best, ways = [0] + [10 ** 9] * amount, [1] + [0] * amount
    for coin in COINS[1:]:
        for total in range(coin, amount + 1):
            best[total] = min(best[total], best[total - coin] + 1)
            ways[total] += ways[total - coin]
    return (best[amount] if best[amount] < 10 ** 9 else -1) if FEWEST else ways[amount]
""",
    },
)
