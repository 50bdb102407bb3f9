"""Balanced brackets of drawn kinds: whether, or where they stop being so."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_KINDS = ("()", "[]", "{}", "<>", "/\\", "bd", "pq", "+-")

_REFERENCE = """
def solve(text):
    opened = []
    for at, sign in enumerate(text):
        for first, last in PAIRS:
            if sign == first:
                opened.append((last, at))
            elif sign == last:
                if not opened or opened[-1][0] != last:
                    return at if WHERE else False
                opened.pop()
    if WHERE:
        return opened[-1][1] if opened else -1
    return not opened
"""

_BRUTE_FORCE = """
def solve(text):
    signs = {sign for pair in PAIRS for sign in pair}
    rest = [(sign, at) for at, sign in enumerate(text) if sign in signs]
    found = True
    while found:
        found = False
        for i in range(len(rest) - 1):
            if rest[i][0] + rest[i + 1][0] in PAIRS:
                del rest[i:i + 2]
                found = True
                break
    if not WHERE:
        return not rest
    closing = [at for sign, at in rest if sign in {pair[1] for pair in PAIRS}]
    return min(closing) if closing else max((at for _, at in rest), default=-1)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"PAIRS": rng.sample(_KINDS, 2 if difficulty == 6 else 3), "WHERE": difficulty == 8}


def _balanced(rng: Random, pairs: Sequence[str], size: int) -> str:
    if size == 0:
        return rng.choice(["", "", "x"])
    inner = rng.randrange(size)
    first, last = rng.choice(pairs)
    return first + _balanced(rng, pairs, inner) + last + _balanced(rng, pairs, size - 1 - inner)


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    signs = list(_balanced(rng, rule["PAIRS"], rng.randint(1, 7)))
    damage = rng.choice(["none", "none", "none", "drop", "swap", "change"])
    at = rng.randrange(len(signs))
    if damage == "drop":
        del signs[at]
    elif damage == "swap":
        other = rng.randrange(len(signs))
        signs[at], signs[other] = signs[other], signs[at]
    elif damage == "change":
        signs[at] = rng.choice("".join(rule["PAIRS"]))
    return ("".join(signs),)


def _edges(rule: Rule) -> Sequence[Arguments]:
    (a, b), (c, d) = rule["PAIRS"][:2]
    texts = ["", a, b, b + a, a + c + b + d, a * 9 + b * 9, a + b + d, a + b + c, c + a + "y" + b + d + a + b]
    return [(text,) for text in texts]


def _wordings(rule: Rule) -> Sequence[str]:
    pairs = ", ".join(f"{first} with {last}" for first, last in rule["PAIRS"])
    result = "Return True if so and False if not."
    if rule["WHERE"]:
        result = (
            "Return -1 if so. Otherwise return the index of the first closing sign that does not close the "
            "last one open; if there is none, the index of the last opening sign that is never closed."
        )
    note = f"All other characters are ignored, and an empty text is balanced. {result}"
    return [
        f"Is text balanced? These signs open and close: {pairs}. Each opening sign needs its own closing "
        f"sign behind it, and pairs may be nested but not crossed. {note}",
        f"Check whether the brackets in text match. The kinds are {pairs}: every closing sign must close the "
        f"latest sign still open, and none may stay open. {note}",
        f"A text uses the pairs {pairs} (opening, closing). It is balanced if reading it from the left every "
        f"closing sign fits the most recent unclosed opening sign, and nothing is left open. {note}",
    ]


BRACKETS = ProblemFamily(
    name="brackets",
    difficulties=range(6, 9),
    entries=("balanced", "check_brackets", "is_nested"),
    parameters={"text": "str"},
    returns="bool | int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "counts only": """
def solve(text):
    good = all(text.count(first) == text.count(last) for first, last in PAIRS)
    return (-1 if good else 0) if WHERE else good
""",
        "crossing allowed": """
def solve(text):
    open_now = {}
    for at, sign in enumerate(text):
        for first, last in PAIRS:
            if sign == first:
                open_now.setdefault(first, []).append(at)
            elif sign == last:
                if not open_now.get(first):
                    return at if WHERE else False
                open_now[first].pop()
    left = [at for places in open_now.values() for at in places]
    return max(left, default=-1) if WHERE else not left
""",
        "may stay open": (
            "    if WHERE:\n        return opened[-1][1] if opened else -1\n    return not opened",
            "    return -1 if WHERE else True",
        ),
        "a closing sign at the start is fine": (
            "                if not opened or opened[-1][0] != last:\n"
            "                    return at if WHERE else False\n"
            "                opened.pop()",
            "                if opened and opened[-1][0] != last:\n"
            "                    return at if WHERE else False\n"
            "                opened[-1:] = []",
        ),
        "first kind only": ("in PAIRS", "in PAIRS[:1]"),
    },
)
