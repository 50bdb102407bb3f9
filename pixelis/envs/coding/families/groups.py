"""Grouping words that consist of the same letters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from string import ascii_lowercase
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(words):
    groups = {}
    for word in words:
        key = "".join(sorted(letter for letter in word.lower() if letter not in IGNORED))
        groups.setdefault(key, []).append(word)
    kept = [sorted(group) for group in groups.values() if len(group) >= LEAST]
    return sorted(kept, key=lambda group: (-len(group), group))
"""

_BRUTE_FORCE = """
def alike(one, other):
    left = [letter for letter in one.lower() if letter not in IGNORED]
    for letter in other.lower():
        if letter in IGNORED:
            continue
        if letter not in left:
            return False
        left.remove(letter)
    return not left

def solve(words):
    rest, result = list(words), []
    while rest:
        group = [word for word in rest if alike(rest[0], word)]
        rest = [word for word in rest if not alike(rest[0], word)]
        if not len(group) < LEAST:
            result.append(sorted(group))
    result.sort()
    result.sort(key=len, reverse=True)
    return result
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    count = 0 if difficulty == 4 else rng.randint(2, 4)
    ignored = "".join(sorted(rng.sample(ascii_lowercase[:8], count)))
    return {"IGNORED": ignored or rng.choice("-_.:/'+*"), "LEAST": rng.randint(1, 3)}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    ignored = rule["IGNORED"]
    base = ["".join(rng.choice("rstuvw") for _ in range(rng.randint(2, 4))) for _ in range(rng.randint(1, 3))]
    words = []
    for _ in range(rng.randint(3, 9)):
        letters = list(rng.choice(base)) + rng.choices(ignored, k=rng.randint(0, 2))
        rng.shuffle(letters)
        words.append("".join(rng.choice([letter, letter, letter.upper()]) for letter in letters))
    return (words,)


def _edges(rule: Rule) -> Sequence[Arguments]:
    extra, n = rule["IGNORED"][0], rule["LEAST"]
    return [
        ([],),
        (["rst", "Tsr", "r" + extra + "ts", "srt", "uv", "vu", "V" + extra + "u", "wx", "yz", "zy"],),
        (["rs", "rrs", "rss", "rs", "srr", "ssr", "SR", "ssr", "rrs"],),
        (["uv"] * n + ["Rs"] * n + ["zx"] * (n - 1),),
        ([extra, extra * 2, "", "w"],),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    ignored, n = ", ".join(rule["IGNORED"]), rule["LEAST"]
    order = "Sort the words in each group; put larger groups first, and sort groups of equal size as lists."
    return [
        "Two words belong together if they have the same characters equally often, no matter the order and "
        f"the case, and not counting {ignored} at all. Return the groups of at least {n} as lists of the "
        f"words as given, repeated ones included. {order}",
        "Group a list of words into anagrams. Case does not matter and these characters are ignored: "
        f"{ignored}. Leave out groups with fewer than {n} words; a word given twice counts twice and keeps "
        f"its spelling. {order}",
        f"Collect the words that can be turned into each other by rearranging, after {ignored} are removed "
        f"and everything is lower-cased, into lists (of the original words, all of them). Keep lists of {n} "
        f"or more. {order}",
    ]


GROUPS = ProblemFamily(
    name="groups",
    difficulties=range(4, 6),
    entries=("anagram_groups", "group_words", "families"),
    parameters={"words": "list[str]"},
    returns="list[list[str]]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "case matters": ("word.lower()", "word"),
        "sets of letters": (
            '"".join(sorted(letter for letter in word.lower() if letter not in IGNORED))',
            "frozenset(word.lower()) - frozenset(IGNORED)",
        ),
        "ignores nothing": (" if letter not in IGNORED", ""),
        "one too few": ("len(group) >= LEAST", "len(group) > LEAST"),
        "groups in order of appearance": ("sorted(kept, key=lambda group: (-len(group), group))", "kept"),
    },
)
