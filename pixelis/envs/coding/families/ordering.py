"""Topological order with a drawn preference among the free."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
import heapq

def rank(name):
    return tuple(ORDER.index(letter) for letter in name)

def solve(names, before):
    waiting = {name: 0 for name in names}
    for _, last in before:
        waiting[last] += 1
    free = [(rank(name), name) for name in names if waiting[name] == 0]
    heapq.heapify(free)
    result = []
    while free:
        _, name = heapq.heappop(free)
        result.append(name)
        for first, last in before:
            if first == name:
                waiting[last] -= 1
                if waiting[last] == 0:
                    heapq.heappush(free, (rank(last), last))
    return result if len(result) == len(names) else []
"""

_BRUTE_FORCE = """
def solve(names, before):
    rest = sorted(names, key=lambda name: [ORDER.index(letter) for letter in name])
    result = []
    while rest:
        blocked = {last for first, last in before if first in rest}
        ready = [name for name in rest if name not in blocked]
        if not ready:
            return []
        result.append(ready[0])
        rest.remove(ready[0])
    return result
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    letters = list("abcde")
    while letters == sorted(letters) or letters == sorted(letters)[::-1]:
        rng.shuffle(letters)
    return {"ORDER": "".join(letters)}


def _names(rng: Random, count: int) -> list[str]:
    return ["".join(pair) for pair in rng.sample([(a, b) for a in "abcde" for b in "abcde"], count)]


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    names = _names(rng, rng.randint(3, 8))
    pairs = [(names[i], names[j]) for i in range(len(names)) for j in range(i + 1, len(names))]
    before = rng.sample(pairs, rng.randint(1, len(names) - 1))
    if rng.random() < 0.15:
        before.append((before[0][1], before[0][0]))
    return (rng.sample(names, len(names)), before)


def _edges(rule: Rule) -> Sequence[Arguments]:
    all_free = [a + b for a in "cab" for b in "abc"]
    chain = [("ab", "ba"), ("ba", "aa"), ("aa", "bb")]
    late = ([*"abcde"], [(rule["ORDER"][4], rule["ORDER"][0]), (rule["ORDER"][4], rule["ORDER"][1])])
    cycle = (["a", "b", "c"], [("a", "b"), ("b", "a")])
    return [
        ([], []),
        (all_free, []),
        (["aa", "ab", "ba", "bb"], chain),
        late,
        cycle,
        ([*"edcba"], [("a", "b")] * 2),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    order = ", ".join(rule["ORDER"])
    note = (
        f"Names compare letter by letter, in the alphabet {order} (a name that begins another comes first). "
    )
    note += "If the pairs contradict each other, return an empty list. A pair may be given twice."
    return [
        "Put names into an order in which, for each pair (first, last) of before, first comes earlier than "
        f"last. At every place take the smallest name that may stand there. {note}",
        "Sort tasks topologically: before holds tuples (first, last), and last can only be done after "
        f"first. Whenever several tasks of names could be next, the smallest is. Return the list. {note}",
        "Return names in the smallest order (deciding the first place, then the second, …) that respects "
        f"before, a list of (first, last) meaning that first precedes last. {note}",
    ]


ORDERING = ProblemFamily(
    name="ordering",
    difficulties=range(7, 8),
    entries=("order_tasks", "in_order", "schedule"),
    parameters={"names": "list[str]", "before": "list[tuple[str, str]]"},
    returns="list[str]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "usual alphabet": ("tuple(ORDER.index(letter) for letter in name)", "name"),
        "first come, first served": ("(rank(last), last))", "((9, len(result)), last))"),
        "pairs reversed": (
            "for _, last in before",
            "before = [pair[::-1] for pair in before]\n    for _, last in before",
        ),
        "part of an order": ("result if len(result) == len(names) else []", "result"),
    },
)
