"""An infix calculator with drawn signs, precedence and direction."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_MEANINGS = ("plus", "minus", "times", "max", "min", "minus twice")
_SIGNS = "+-*/%&@#$!^~"

_REFERENCE = """
def apply(meaning, a, b):
    if meaning == "plus":
        return a + b
    if meaning == "minus":
        return a - b
    if meaning == "times":
        return a * b
    if meaning == "max":
        return max(a, b)
    if meaning == "min":
        return min(a, b)
    return a - 2 * b

def solve(text):
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    at = 0

    def level(number):
        nonlocal at
        if number == len(LEVELS):
            token = tokens[at]
            at += 1
            if token != "(":
                return int(token)
            value = level(0)
            at += 1
            return value
        value = level(number + 1)
        while at < len(tokens) and tokens[at] in LEVELS[number]:
            meaning = LEVELS[number][tokens[at]]
            at += 1
            value = apply(meaning, value, level(number + 1))
        return value

    return level(0)
"""

_BRUTE_FORCE = """
ACTIONS = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "max": lambda a, b: a if a > b else b,
    "min": lambda a, b: b if a > b else a,
    "minus twice": lambda a, b: a - b - b,
}

def flat(tokens):
    for operators in reversed(LEVELS):
        i = 1
        while i < len(tokens):
            if tokens[i] in operators:
                tokens[i - 1:i + 2] = [ACTIONS[operators[tokens[i]]](tokens[i - 1], tokens[i + 1])]
            else:
                i += 2
    return tokens[0]

def solve(text):
    stack = [[]]
    for token in text.replace("(", "( ").replace(")", " )").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            inner = flat(stack.pop())
            stack[-1].append(inner)
        else:
            known = any(token in operators for operators in LEVELS)
            stack[-1].append(token if known else int(token))
    return flat(stack[0])
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    meanings = ["times", "minus", *rng.sample(["plus", "max", "min", "minus twice"], difficulty - 5)]
    signs = rng.sample(_SIGNS, len(meanings))
    binds = ["minus", *meanings[2:], "times"]
    middle = rng.sample(binds[1:-1], len(binds) - 2)
    ranked = [[binds[0]], *[[m] for m in middle[:1]], [*middle[1:], binds[-1]]]
    sign = dict(zip(meanings, signs, strict=True))
    return {"LEVELS": [{sign[meaning]: meaning for meaning in group} for group in ranked]}


def _expression(rng: Random, signs: Sequence[str], size: int, brackets: bool) -> str:
    if size == 0:
        return str(rng.randint(0, 12))
    left = rng.randrange(size)
    one = _expression(rng, signs, left, brackets)
    other = _expression(rng, signs, size - 1 - left, brackets)
    whole = f"{one} {rng.choice(signs)} {other}"
    return f"({whole})" if brackets and rng.random() < 0.3 else whole


def _signs(rule: Rule) -> list[str]:
    return [sign for level in rule["LEVELS"] for sign in level]


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return (_expression(rng, _signs(rule), rng.randint(1, 6), rng.random() < 0.6),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    signs = _signs(rule)
    texts = ["7", "((12))", f"9 {signs[0]} 4 {signs[0]} 3", f"(9 {signs[0]} (4 {signs[0]} 3)) {signs[-1]} 5"]
    texts += [f"7 {a} 2 {b} 5 {a} 3" for a in signs for b in signs if a != b]
    return [(text,) for text in texts[:12]]


_WORDS = {
    "plus": "a + b",
    "minus": "a - b",
    "times": "a * b",
    "max": "the larger of a and b",
    "min": "the smaller of a and b",
    "minus twice": "a - 2 * b",
}


def _wordings(rule: Rule) -> Sequence[str]:
    levels = "; then ".join(
        " and ".join(f"a {sign} b = {_WORDS[meaning]}" for sign, meaning in level.items())
        for level in rule["LEVELS"]
    )
    note = "Operators that bind equally tightly are applied from left to right. "
    note += "text has numbers from 0 up, operators with a space on both sides, and round brackets."
    return [
        f"Evaluate an arithmetic expression in an invented notation. Its operators, from the loosest to the "
        f"tightest binding: {levels}. {note} Return an integer.",
        f"Write a calculator for these operators, given from lowest to highest precedence: {levels}. {note}",
        f"What is the value of text? From those that are applied last to those applied first, the operators "
        f"are: {levels}. {note}",
    ]


CALCULATOR = ProblemFamily(
    name="calculator",
    difficulties=range(6, 9),
    entries=("evaluate", "calculate", "value_of"),
    parameters={"text": "str"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "no precedence": (
            "        while at < len(tokens) and tokens[at] in LEVELS[number]:\n"
            "            meaning = LEVELS[number][tokens[at]]",
            "        while at < len(tokens) and tokens[at] != ')':\n"
            "            meaning = next(signs[tokens[at]] for signs in LEVELS if tokens[at] in signs)",
        ),
        "from right to left": (
            "value = apply(meaning, value, level(number + 1))",
            "value = apply(meaning, value, level(number))",
        ),
        "one operator only": ("while at < len(tokens) and", "if at < len(tokens) and"),
        "minus the other way": ("return a - b", "return b - a"),
    },
)
