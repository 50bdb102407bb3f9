"""Shifting letters by a fixed amount or by a key."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from string import ascii_letters
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_KEY_LETTERS = "bcdefghijklmopqrstuvwxyz"  # a moves nothing, n by 13 places both ways

_REFERENCE = """
def solve(text):
    result = []
    used = 0
    for letter in text:
        if letter.isalpha():
            first = ord("a") if letter.islower() else ord("A")
            shift = ord(KEY[used % len(KEY)]) - ord("a")
            result.append(chr((ord(letter) - first + shift) % 26 + first))
            used += 1
        else:
            result.append(letter)
    return "".join(result)
"""

_BRUTE_FORCE = """
from itertools import cycle
from string import ascii_lowercase as low

def solve(text):
    keys = cycle(KEY)
    out = ""
    for letter in text:
        if letter.lower() in low:
            at = low.index(next(keys))
            row = low[at:] + low[:at]
            moved = row[low.index(letter.lower())]
            letter = moved if letter in low else moved.upper()
        out += letter
    return out
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    length = 1 if difficulty == 2 else rng.randint(2, 3) if difficulty == 3 else rng.randint(4, 7)
    return {"KEY": "".join(rng.sample(_KEY_LETTERS, length))}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    return ("".join(rng.choice(ascii_letters + "  .,!7") for _ in range(rng.randint(3, 30))),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    return [("",), ("2 + 2!",), ("a-zA-Z" * 3,), ("xyz XYZ, abc! XYZ xyz",), ("The quick brown fox; jumps.",)]


def _wordings(rule: Rule) -> Sequence[str]:
    key = rule["KEY"]
    if len(key) == 1:
        shift = ord(key) - ord("a")
        return [
            f"Shift every letter a-z and A-Z of text forward by {shift} places in the alphabet, from z back "
            "to a. Case stays; all other characters stay as they are.",
            f"Encrypt text with a Caesar cipher that moves letters {shift} places forward (wrapping around "
            "after z). Upper-case letters stay upper-case and everything that is no letter is kept.",
            f"Replace each letter by the one {shift} further on in the alphabet, which starts again after "
            "its end. Keep upper and lower case, and keep characters that are no letters.",
        ]
    detail = (
        "a means 0 places, b means 1, and so on, with z going back to a. Case stays. Characters that are no "
        "letters stay, and they use up no letter of the key."
    )
    return [
        f"Encrypt text with a Vigenère cipher and the key {key!r}, repeated as often as needed: {detail}",
        f"Shift the letters of text forward, the first by the first letter of {key!r}, the second by its "
        f"second, and so on, starting again at the key's end: {detail}",
        f"The letters of the word {key!r} say, in turn and over and over, how far the next letter of text "
        f"moves forward in the alphabet: {detail}",
    ]


CIPHERS = ProblemFamily(
    name="ciphers",
    difficulties=range(2, 5),
    entries=("encrypt", "encode", "shift_letters"),
    parameters={"text": "str"},
    returns="str",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "backwards": ("- first + shift", "- first - shift"),
        "no way back to a": ("(ord(letter) - first + shift) % 26 + first", "ord(letter) + shift"),
        "loses case": ("for letter in text:", "for letter in text.lower():"),
        "drops other characters": ("            result.append(letter)", "            pass"),
        "one too far": ('- ord("a")\n            result', '- ord("a") + 1\n            result'),
    },
)
