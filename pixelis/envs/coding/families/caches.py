"""Tracing a cache that forgets by age, by use or by count."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_POLICIES = {
    "oldest": "the one that was put in first",
    "unused": "the one that was asked for least recently (putting in counts as asking)",
    "rarest": "the one asked for least often since it was put in (putting in counts as once), and of these "
    "the "
    "one put in first",
}

_REFERENCE = """
def solve(keys):
    held = {}
    missed = []
    for time, key in enumerate(keys):
        if key in held:
            held[key][1] = time
            held[key][2] += 1
            continue
        missed.append(key)
        if len(held) == SIZE:
            which = {"oldest": 0, "unused": 1, "rarest": 2}[POLICY]
            del held[min(held, key=lambda k: (held[k][which], held[k][0]))]
        held[key] = [time, time, 1]
    return missed
"""

_BRUTE_FORCE = """
def solve(keys):
    missed, order, asked = [], [], {}
    for key in keys:
        if key not in order:
            missed.append(key)
            if len(order) >= SIZE:
                if POLICY == "rarest":
                    fewest = min(asked[k] for k in order)
                    order.remove(next(k for k in order if asked[k] == fewest))
                else:
                    order = order[1:]
            order = order + [key]
            asked[key] = 1
        else:
            asked[key] += 1
            if POLICY == "unused":
                order = [k for k in order if k != key] + [key]
    return missed
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"SIZE": rng.randint(2, 12), "POLICY": rng.choice(list(_POLICIES)[difficulty - 5 :])}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    names = "abcdefghijklmnopq"[: rule["SIZE"] + rng.randint(1, 3)]
    weights = [rng.choice([1, 2, 4]) for _ in names]
    return (rng.choices(names, weights, k=rng.randint(8, 12) + 3 * rule["SIZE"]),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    names = list("abcdefghijklmnopq")[: rule["SIZE"]]
    rest = [*names, names[0], names[0], "x", *names, "y", *names[::-1], *names[1:], *names[1:], "x", *names]
    return [
        ([],),
        (["a"] * 5,),
        (names * 2,),
        ([*names, "x"] * 3,),
        (rest,),
        (names + names[::-1] + ["x", "y"] + names,),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    size, policy = rule["SIZE"], _POLICIES[rule["POLICY"]]
    return [
        f"A cache holds at most {size} keys. keys are asked for one after the other; one that is not in the "
        f"cache is a miss and is put in. If the cache is full, first one key is thrown out: {policy}. "
        "Return the misses in order, repeated ones too.",
        f"Simulate a store with room for {size} entries. For each key of the list: if it is there, good; if "
        f"not, note it and put it in, dropping, when there is no room, {policy}. Return the list of noted "
        "keys.",
        f"Return, in order and as often as it happens, the keys that a cache of {size} places does not hold "
        f"when they are requested. A missing key is then added, and in a full cache it replaces {policy}.",
    ]


CACHES = ProblemFamily(
    name="caches",
    difficulties=range(5, 7),
    entries=("cache_misses", "misses", "trace"),
    parameters={"keys": "list[str]"},
    returns="list[str]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "one place less": ("len(held) == SIZE", "len(held) == SIZE - 1"),
        "throws out the newest": ("del held[min(", "del held[max("),
        "another policy": (
            '{"oldest": 0, "unused": 1, "rarest": 2}',
            '{"oldest": 1, "unused": 0, "rarest": 0}',
        ),
        "hits, not misses": (
            "            continue\n        missed.append(key)",
            "            missed.append(key)\n            continue",
        ),
        "never throws out": ("if len(held) == SIZE", "if len(held) == SIZE + 99"),
    },
)
