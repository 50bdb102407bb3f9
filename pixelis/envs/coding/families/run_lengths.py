"""Run-length encoding and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule
from pixelis.envs.coding.problems.trusted import trusted_function

_ENCODE = """
def solve(text):
    result = ""
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] == text[at]:
            end += 1
        run = end - at
        if run >= SHORTEST:
            result += str(run) + MARK + text[at]
        else:
            result += text[at] * run
        at = end
    return result
"""

_ENCODE_TWIN = """
from itertools import groupby

def solve(text):
    runs = [(letter, len(list(run))) for letter, run in groupby(text)]
    return "".join(f"{n}{MARK}{letter}" if n >= SHORTEST else n * letter for letter, n in runs)
"""

_DECODE = """
def solve(text):
    result = ""
    number = ""
    for letter in text:
        if letter.isdigit():
            number += letter
        elif letter != MARK:
            result += letter * int(number or "1")
            number = ""
    return result
"""

_DECODE_TWIN = """
import re

def solve(text):
    pattern = r"([0-9]+)" + re.escape(MARK) + "([a-z])"
    return re.sub(pattern, lambda found: found.group(2) * int(found.group(1)), text)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    marks = "*:#~/|^=@&+"
    return {"MARK": rng.choice(marks), "SHORTEST": rng.randint(2, 8)}


def _runs(rng: Random, shortest: int) -> str:
    lengths = [rng.choice([1, 1, 2, 3, shortest, shortest + 1, 12]) for _ in range(rng.randint(1, 6))]
    return "".join(rng.choice("abcde") * length for length in lengths)


def _edges(rule: Rule) -> Sequence[Arguments]:
    n = rule["SHORTEST"]
    return [
        ("",),
        ("a",),
        ("a" * n,),
        ("b" * (n - 1) + "a",),
        ("a" + "b" * 10 + "a",),
        ("abc" * 3 + "c" * n,),
    ]


def _encoded(rule: Rule, text: str) -> str:
    return trusted_function(_ENCODE, "solve", rule)(text)


def _encode_wordings(rule: Rule) -> Sequence[str]:
    mark, n = rule["MARK"], rule["SHORTEST"]
    example = f"so {'z' * (n + 1)!r} becomes {f'{n + 1}{mark}z'!r}"
    return [
        f"Run-length encode text: replace each run of {n} or more equal characters by its length, the "
        f"sign {mark!r} and the character, {example}. Shorter runs stay. text has the letters a-z only.",
        f"Shorten a text of letters a-z. Every longest stretch of one letter repeated at least {n} times is "
        f"written as count, {mark!r}, letter ({example}); everything else is copied.",
        f"Compress text: where a letter (a-z) stands k times in a row and k >= {n}, write k, then {mark!r}, "
        f"then the letter, {example}. Leave runs of fewer than {n} letters alone.",
    ]


def _decode_wordings(rule: Rule) -> Sequence[str]:
    mark, n = rule["MARK"], rule["SHORTEST"]
    example = f"{f'{n + 10}{mark}z'!r} stands for {n + 10} times the letter z"
    return [
        f"Undo a run-length encoding. In text, a number of one or more digits, the sign {mark!r} and a "
        f"letter stand for that many copies of the letter: {example}. Other letters (a-z) stand for "
        f"themselves. Runs of fewer than {n} letters were not encoded.",
        f"Expand text: replace each count, followed by {mark!r} and a letter a-z, by the letter repeated so "
        f"often ({example}); copy the letters without a count. Only runs of {n} or more have a count.",
        f"A text of letters a-z was packed by writing runs of {n} or more as length, {mark!r}, letter: "
        f"{example}. Return the text before it was packed.",
    ]


RUN_LENGTHS = ProblemFamily(
    name="run_lengths",
    difficulties=range(3, 4),
    entries=("compress", "encode_runs", "shorten"),
    parameters={"text": "str"},
    returns="str",
    wordings=_encode_wordings,
    draw_rule=_draw_rule,
    draw_args=lambda rng, rule: (_runs(rng, rule["SHORTEST"]),),
    edges=_edges,
    reference_text=_ENCODE,
    brute_force_text=_ENCODE_TWIN,
    mistakes={
        "longer runs only": (">= SHORTEST", "> SHORTEST"),
        "every run": ("if run >= SHORTEST", "if run >= 1"),
        "letter before number": ("str(run) + MARK + text[at]", "text[at] + MARK + str(run)"),
        "counts in the whole text": ("run = end - at", "run = text.count(text[at])"),
    },
)

RUN_LENGTHS_BACK = replace(
    RUN_LENGTHS,
    name="run_lengths_back",
    difficulties=range(4, 5),
    entries=("expand", "decode_runs", "unpack"),
    wordings=_decode_wordings,
    draw_args=lambda rng, rule: (_encoded(rule, _runs(rng, rule["SHORTEST"])),),
    edges=lambda rule: [(_encoded(rule, text),) for (text,) in _edges(rule)],
    reference_text=_DECODE,
    brute_force_text=_DECODE_TWIN,
    mistakes={
        "one digit": ("number += letter", "number = letter"),
        "keeps the sign": ("elif letter != MARK", "else"),
        "never forgets the number": ('\n            number = ""', ""),
        "drops single letters": ('number or "1"', 'number or "0"'),
    },
)
