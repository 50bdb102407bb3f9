"""Counting characters of a class."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from string import ascii_lowercase
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(text):
    count = 0
    for at, letter in enumerate(text):
        if letter.lower() in LETTERS and (at + 1) % STEP == 0:
            count += 1
    return count
"""

_BRUTE_FORCE = """
def solve(text):
    folded = text[STEP - 1::STEP].lower()
    return sum(folded.count(letter) for letter in LETTERS)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    chosen = {rng.choice("bcdfghklmnprst"), *rng.sample(ascii_lowercase, rng.randint(4, 6))}
    return {"LETTERS": "".join(sorted(chosen)), "STEP": 1 if difficulty == 1 else rng.randint(2, 4)}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    letters = rule["LETTERS"]
    pool = letters * 3 + letters.upper() * 2 + "AEbkmz .,7-"
    return ("".join(rng.choice(pool) for _ in range(rng.randint(3, 40))),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    letters, step = rule["LETTERS"], rule["STEP"]
    return [
        ("",),
        ("-" * step,),
        (letters * step,),
        (letters.upper() * step,),
        (letters[0] * (2 * step + 1),),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    letters, step = ", ".join(rule["LETTERS"]), rule["STEP"]
    which = "" if step == 1 else f" Look only at every {step}th character: positions {step}, {2 * step}, "
    which += "" if step == 1 else f"{3 * step}, … counted from 1."
    return [
        f"Count how many characters of text are one of the letters {letters}, in upper or lower case."
        f"{which} Return the count.",
        f"Return the number of characters in text that belong to this set of letters: {letters}. Upper and "
        f"lower case both count, and a letter counts each time it occurs.{which}",
        f"Given a text, how often do the letters {letters} occur in it, all together? Ignore case.{which}",
    ]


LETTERS = ProblemFamily(
    name="letters",
    difficulties=range(1, 3),
    entries=("count_letters", "how_many", "tally"),
    parameters={"text": "str"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "lower case only": ("letter.lower()", "letter"),
        "distinct letters": """
def solve(text):
    return len(set(text[STEP - 1::STEP].lower()) & set(LETTERS))
""",
        "vowels": ("in LETTERS", 'in "aeiou"'),
        "all the others": ("letter.lower() in", "letter.lower() not in"),
    },
)
