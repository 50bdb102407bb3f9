"""Matching small patterns with drawn signs for repeats and for any letter."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_MEANINGS = {
    "any": "any number of times, perhaps never",
    "many": "once or more often",
    "maybe": "once or never",
}

_REFERENCE = """
def solve(pattern, text):
    items = []
    for sign in pattern:
        if sign in REPEATS:
            items[-1] = (items[-1][0], REPEATS[sign])
        else:
            items.append((sign, "once"))

    def skip(states):
        reached = set(states)
        for i in range(len(items)):
            if i in reached and items[i][1] in ("any", "maybe"):
                reached.add(i + 1)
        return reached

    states = skip({0})
    best = 0 if len(items) in states else -1
    for at, letter in enumerate(text):
        after = set()
        for i in states:
            if i < len(items) and items[i][0] in (letter, WILD):
                after.add(i + 1)
                if items[i][1] in ("any", "many"):
                    after.add(i)
        states = skip(after)
        if len(items) in states:
            best = at + 1
    return best
"""

_BRUTE_FORCE = """
import re

def solve(pattern, text):
    signs = {"any": "*", "many": "+", "maybe": "?"}
    plain = "".join("." if s == WILD else signs[REPEATS[s]] if s in REPEATS else s for s in pattern)
    lengths = [n for n in range(len(text) + 1) if re.fullmatch(plain, text[:n])]
    return max(lengths, default=-1)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    meanings = ["any", *rng.sample(["many", "maybe"], difficulty - 8)]
    wild, *signs = rng.sample("*+?.#%!~^", len(meanings) + 1)
    return {"WILD": wild, "REPEATS": dict(zip(signs, meanings, strict=True))}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    pattern = ""
    for _ in range(rng.randint(1, 5)):
        pattern += rng.choice(["a", "b", "c", rule["WILD"]])
        if rng.random() < 0.5:
            pattern += rng.choice(list(rule["REPEATS"]))
    return (
        pattern,
        "".join(rng.choice("aab" if rng.random() < 0.8 else "c") for _ in range(rng.randint(1, 9))),
    )


def _edges(rule: Rule) -> Sequence[Arguments]:
    wild, repeats = rule["WILD"], list(rule["REPEATS"])
    pairs = [("", ""), ("", "a"), ("a", "b"), (wild + "b", "abab"), ("a", "")]
    for sign in repeats:
        pairs += [
            ("a" + sign, "aaab"),
            ("b" + sign, "aa"),
            (f"a{sign}{wild}{sign}b", "abbab"),
            (f"c{sign}b", "ba"),
        ]
    return pairs


def _wordings(rule: Rule) -> Sequence[str]:
    repeats = "; ".join(f"{sign!r}: {_MEANINGS[meaning]}" for sign, meaning in rule["REPEATS"].items())
    signs = (
        f"{rule['WILD']!r} stands for any one letter. A sign behind a letter or behind {rule['WILD']!r} says "
    )
    signs += f"how often that stands there ({repeats}); without a sign it stands there once."
    return [
        "Return the length of the longest beginning of text (the empty one and all of it included) that fits "
        f"pattern from start to end, or -1 if none does. A letter stands for itself; {signs}",
        f"A pattern consists of letters and signs: {signs} All other letters stand for themselves. How many "
        "letters of text, from its first on, can pattern cover at most? Return -1 if it cannot even cover "
        "none.",
        f"Write a matcher. In pattern, letters mean themselves and {signs} Find the largest n for which "
        "text[:n] matches the whole pattern; return -1 if there is no such n.",
    ]


PATTERNS = ProblemFamily(
    name="patterns",
    difficulties=range(9, 11),
    entries=("longest_match", "match_length", "covers"),
    parameters={"pattern": "str", "text": "str"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "signs are letters": ("if sign in REPEATS", "if items and sign in []"),
        "the shortest": ("best = at + 1", "best = best if best >= 0 else at + 1"),
        "never is not allowed": ('in ("any", "maybe")', 'in ("maybe",)'),
        "no wild card": ("in (letter, WILD)", "in (letter,)"),
        "0 for none": ("in states else -1", "in states else 0"),
    },
)
