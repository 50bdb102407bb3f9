"""Sorting records by a composed key."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_NAMES = ("Ann", "bob", "Cy", "dora", "Eve", "finn", "Gus", "hal", "Ida", "jo", "Kim", "leo")
_KEYS = ("name", "name without regard to case", "length of the name", "age", "score")

_REFERENCE = """
def key_of(record, which):
    name, age, score = record
    return [name, name.lower(), len(name), age, score][which]

def solve(records):
    result = list(records)
    for which, falling in reversed(KEYS):
        result.sort(key=lambda record: key_of(record, which), reverse=falling)
    return result
"""

_BRUTE_FORCE = """
def before(one, other):
    for which, falling in KEYS:
        a, b = (
            (name, name.lower(), len(name), age, score)[which] for name, age, score in (one, other)
        )
        if a != b:
            return a > b if falling else a < b
    return False

def solve(records):
    result = []
    for record in records:
        at = len(result)
        while at > 0 and before(record, result[at - 1]):
            at -= 1
        result.insert(at, record)
    return result
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    first = rng.choice([2, 3, 4])  # ties, so that the second key matters
    others = rng.sample([which for which in (0, 2, 3, 4) if which != first], difficulty - 2)
    return {"KEYS": [[which, rng.random() < 0.5] for which in (first, *others)]}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    count = rng.randint(2, 9)
    return ([(rng.choice(_NAMES), rng.randint(20, 23), rng.randint(0, 3)) for _ in range(count)],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    same = [("Eve", 21, 2), ("dora", 21, 2), ("bob", 22, 1), ("Cy", 20, 3), ("Eve", 21, 2), ("Ida", 23, 0)]
    cases = [("bob", 21, 1), ("Ann", 21, 1), ("Gus", 21, 1), ("hal", 21, 1), ("leo", 22, 0), ("Kim", 20, 2)]
    ties = [("leo", 22, 1), ("leo", 22, 3), ("leo", 20, 3), ("leo", 20, 1), ("Ann", 22, 3), ("Ann", 20, 3)]
    return [([],), ([("Ann", 20, 1)],), (same,), (cases,), (cases[::-1],), (ties,), (ties[::-1],)]


def _wordings(rule: Rule) -> Sequence[str]:
    first, *rest = (f"{_KEYS[which]} ({'falling' if down else 'rising'})" for which, down in rule["KEYS"])
    second = ", and where that is equal too, by ".join(rest)
    note = "Records equal in all of this keep their order. Texts compare as Python compares them."
    return [
        f"records is a list of tuples (name, age, score). Return it sorted by {first}, and where that is "
        f"equal, by {second}. {note}",
        f"Sort a list of (name, age, score) tuples. The first key is the {first}; ties are broken by the "
        f"{second}. Return a new list. {note}",
        f"Put people, given as (name, age, score), into this order: by {first}; then, among equals, by "
        f"{second}. {note}",
    ]


SORTING = ProblemFamily(
    name="sorting",
    difficulties=range(3, 5),
    entries=("sort_records", "ranking", "arrange"),
    parameters={"records": "list[tuple[str, int, int]]"},
    returns="list[tuple[str, int, int]]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "first key only": ("in reversed(KEYS)", "in KEYS[:1]"),
        "keys swapped": ("in reversed(KEYS)", "in KEYS"),
        "directions swapped": ("reverse=falling", "reverse=not falling"),
        "duplicates dropped": ("list(records)", "list(dict.fromkeys(records))"),
    },
)
