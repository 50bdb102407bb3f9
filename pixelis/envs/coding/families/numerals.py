"""Roman-like numerals with drawn symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from string import ascii_uppercase
from typing import Any

from pixelis.envs.coding.families.family import ProblemFamily, Rule
from pixelis.envs.coding.problems.trusted import trusted_function

_WRITE = """
def solve(n):
    ones, fives = SYMBOLS[0::2], SYMBOLS[1::2]
    result = ""
    for place in (3, 2, 1, 0):
        digit = n // 10 ** place % 10
        if digit == 9:
            result += ones[place] + ones[place + 1]
        elif digit == 4:
            result += ones[place] + fives[place]
        else:
            if digit >= 5:
                result += fives[place]
            result += ones[place] * (digit % 5)
    return result
"""

_WRITE_TWIN = """
def solve(n):
    values = [10 ** (i // 2) * (5 if i % 2 else 1) for i in range(len(SYMBOLS))]
    pairs = list(zip(values, SYMBOLS))
    for i in range(0, len(SYMBOLS) - 2, 2):
        pairs.append((values[i + 1] - values[i], SYMBOLS[i] + SYMBOLS[i + 1]))
        pairs.append((values[i + 2] - values[i], SYMBOLS[i] + SYMBOLS[i + 2]))
    pairs.sort(reverse=True)
    result = ""
    while n:
        value, symbol = next(pair for pair in pairs if pair[0] <= n)
        result += symbol
        n -= value
    return result
"""

_READ = """
def solve(text):
    total = 0
    highest = 0
    for symbol in reversed(text):
        at = SYMBOLS.index(symbol)
        value = 10 ** (at // 2) * (5 if at % 2 else 1)
        if value < highest:
            total -= value
        else:
            total += value
            highest = value
    return total
"""

_READ_TWIN = """
def solve(text):
    values = [10 ** (i // 2) * (5 if i % 2 else 1) for i in range(len(SYMBOLS))]
    numbers = [values[SYMBOLS.index(symbol)] for symbol in text]
    total = sum(numbers)
    for number, after in zip(numbers, numbers[1:]):
        if number < after:
            total -= 2 * number
    return total
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"SYMBOLS": "".join(rng.sample(ascii_uppercase, 7))}


def _written(rule: Rule, n: int) -> str:
    return trusted_function(_WRITE, "solve", rule)(n)


def _draw_number(rng: Random, rule: Rule) -> int:
    return rng.randint(1, 10 ** rng.randint(1, 3) * 3)


def _table(rule: Rule) -> str:
    return ", ".join(f"{10 ** (i // 2) * (5 if i % 2 else 1)} {s}" for i, s in enumerate(rule["SYMBOLS"]))


def _system(rule: Rule) -> str:
    one, five, ten = rule["SYMBOLS"][:3]
    return (
        f"The system is that of Roman numerals: larger symbols first, and 4 and 9 (in each decimal place) "
        f"written by putting the smaller symbol first, so 4 is {one + five} and 9 is {one + ten}."
    )


def _write_wordings(rule: Rule) -> Sequence[str]:
    table, system = _table(rule), _system(rule)
    return [
        f"Write the integer n (1 to 3999) in numerals with these values and symbols: {table}. {system}",
        f"A people counts like the Romans with signs of their own: {table}. Return n, which is 1 to 3999, as "
        f"they would write it. {system}",
        f"Convert n, 1 <= n <= 3999, to a numeral. Its symbols are {table}. {system}",
    ]


def _read_wordings(rule: Rule) -> Sequence[str]:
    table, system = _table(rule), _system(rule)
    return [
        f"Return the value of a numeral (1 to 3999) whose symbols have these values: {table}. {system}",
        f"A people counts like the Romans with signs of their own: {table}. Return the integer that text, a "
        f"well-formed numeral below 4000, stands for. {system}",
        f"Convert a numeral to an integer from 1 to 3999. The symbols are {table}. {system}",
    ]


_EDGES = (1, 4, 9, 14, 40, 90, 400, 944, 3999)

NUMERALS = ProblemFamily(
    name="numerals",
    difficulties=range(5, 6),
    entries=("to_numeral", "write_number", "numeral"),
    parameters={"n": "int"},
    returns="str",
    wordings=_write_wordings,
    draw_rule=_draw_rule,
    draw_args=lambda rng, rule: (_draw_number(rng, rule),),
    edges=lambda rule: [(n,) for n in _EDGES],
    reference_text=_WRITE,
    brute_force_text=_WRITE_TWIN,
    mistakes={
        "no subtraction": (
            "digit == 9:\n            result += ones[place] + ones[place + 1]\n        elif digit == 4:\n"
            "            result += ones[place] + fives[place]",
            "digit == 0:\n            pass",
        ),
        "four is right, nine is not": ("ones[place] + ones[place + 1]", "fives[place] + ones[place] * 4"),
        "smaller symbol behind": ("ones[place] + fives[place]", "fives[place] + ones[place]"),
        "up to 999": ("(3, 2, 1, 0)", "(2, 1, 0)"),
    },
)

NUMERALS_BACK = replace(
    NUMERALS,
    name="numerals_back",
    difficulties=range(4, 5),
    entries=("from_numeral", "read_numeral", "value_of"),
    parameters={"text": "str"},
    returns="int",
    wordings=_read_wordings,
    draw_args=lambda rng, rule: (_written(rule, _draw_number(rng, rule)),),
    edges=lambda rule: [(_written(rule, n),) for n in _EDGES],
    reference_text=_READ,
    brute_force_text=_READ_TWIN,
    mistakes={
        "no subtraction": ("total -= value", "total += value"),
        "from left to right": ("in reversed(text)", "in text"),
        "fives are tens": ("5 if at % 2 else 1", "10 if at % 2 else 1"),
        "ignores the smaller symbol": ("total -= value", "pass"),
    },
)
