"""Edit distance with drawn costs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(old, new):
    row = [j * INSERT for j in range(len(new) + 1)]
    for i, a in enumerate(old):
        above = row
        row = [(i + 1) * DELETE]
        for j, b in enumerate(new):
            change = 0 if a == b else REPLACE
            best = min(above[j] + change, above[j + 1] + DELETE, row[j] + INSERT)
            row.append(best)
    return row[-1]
"""

_BRUTE_FORCE = """
import heapq

def solve(old, new):
    heap = [(0, 0, 0)]
    done = set()
    while True:
        cost, i, j = heapq.heappop(heap)
        if (i, j) == (len(old), len(new)):
            return cost
        if (i, j) in done:
            continue
        done.add((i, j))
        if i < len(old):
            heapq.heappush(heap, (cost + DELETE, i + 1, j))
        if j < len(new):
            heapq.heappush(heap, (cost + INSERT, i, j + 1))
        if i < len(old) and j < len(new):
            heapq.heappush(heap, (cost + (REPLACE if old[i] != new[j] else 0), i + 1, j + 1))
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    insert, delete = rng.sample(range(2, 9), 2)
    return {"INSERT": insert, "DELETE": delete, "REPLACE": rng.randint(1, insert + delete - 1)}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    old = [rng.choice("abc") for _ in range(rng.randint(1, 9))]
    new = [rng.choice("abcd") if rng.random() < 0.3 else letter for letter in old]
    for _ in range(rng.randint(0, 3)):
        new.insert(rng.randint(0, len(new)), rng.choice("abc"))
    del new[: rng.randint(0, 2)]
    words = ["".join(old), "".join(new)]
    return tuple(rng.sample(words, 2))


def _edges(rule: Rule) -> Sequence[Arguments]:
    pairs = [
        ("", ""),
        ("abc", ""),
        ("", "abc"),
        ("a", "b"),
        ("abc", "abc"),
        ("abcde", "bcdea"),
        ("aab", "baaab"),
    ]
    return [*pairs, ("kitten", "sitting"), ("xabcabc", "abcabcy")]


def _wordings(rule: Rule) -> Sequence[str]:
    i, d, r = rule["INSERT"], rule["DELETE"], rule["REPLACE"]
    return [
        f"Return the least total cost of turning the text old into new one character at a time: inserting a "
        f"character costs {i}, deleting one costs {d}, replacing one by another costs {r}.",
        f"Compute the weighted edit distance from old to new, with cost {i} for an insertion, {d} for a "
        f"deletion and {r} for a substitution. Keeping a character is free.",
        f"A typist changes old into new. Each added character takes {i} seconds, each removed one {d}, and "
        f"each one overwritten {r}. What is the shortest time?",
    ]


EDIT_DISTANCE = ProblemFamily(
    name="edit_distance",
    difficulties=range(7, 8),
    entries=("edit_cost", "distance", "cheapest_edit"),
    parameters={"old": "str", "new": "str"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "unit costs": """
def solve(old, new):
    row = list(range(len(new) + 1))
    for i, a in enumerate(old):
        above, row = row, [i + 1]
        for j, b in enumerate(new):
            row.append(min(above[j] + (a != b), above[j + 1] + 1, row[j] + 1))
    return row[-1]
""",
        "costs swapped": ("above[j + 1] + DELETE, row[j] + INSERT", "above[j + 1] + INSERT, row[j] + DELETE"),
        "position by position": """
def solve(old, new):
    cost = sum(REPLACE for a, b in zip(old, new) if a != b)
    return cost + max(0, len(new) - len(old)) * INSERT + max(0, len(old) - len(new)) * DELETE
""",
        "no replacing": ("0 if a == b else REPLACE", "0 if a == b else INSERT + DELETE"),
    },
)
