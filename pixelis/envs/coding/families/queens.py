"""Counting placements of pieces with drawn moves and blocked cells."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(blocked, count):
    cells = [(y, x) for y in range(SIZE) for x in range(SIZE) if (y, x) not in blocked]

    def attack(one, other):
        dy, dx = abs(one[0] - other[0]), abs(one[1] - other[1])
        if [dy, dx] in JUMPS or [dx, dy] in JUMPS:
            return True
        return (LINES and 0 in (dy, dx)) or (DIAGONALS and dy == dx)

    def place(start, chosen):
        if len(chosen) == count:
            return 1
        return sum(
            place(i + 1, chosen + [cells[i]])
            for i in range(start, len(cells))
            if not any(attack(cells[i], piece) for piece in chosen)
        )

    return place(0, [])
"""

_BRUTE_FORCE = """
from itertools import combinations

def solve(blocked, count):
    cells = [(y, x) for y in range(SIZE) for x in range(SIZE) if (y, x) not in blocked]
    hit = set()
    for one, other in combinations(cells, 2):
        dy, dx = one[0] - other[0], one[1] - other[1]
        straight = dy == 0 or dx == 0
        slanted = dy * dy == dx * dx
        jump = sorted([abs(dy), abs(dx)]) in [sorted(pair) for pair in JUMPS]
        if (straight and LINES) or (slanted and DIAGONALS) or jump:
            hit.add((one, other))
    sets = combinations(cells, count)
    return sum(not any(pair in hit for pair in combinations(chosen, 2)) for chosen in sets)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    lines = rng.random() < 0.5
    diagonals = not lines or rng.random() < 0.5
    jumps = [[1, 2], [1, 3], [2, 3]]
    jumps += [] if lines else [[0, 2], [0, 3]]  # these would change nothing beside lines
    jumps += [] if diagonals else [[2, 2], [3, 3]]
    chosen = sorted(rng.sample(jumps, rng.randint(1, 2)))
    return {"SIZE": 4, "LINES": lines, "DIAGONALS": diagonals, "JUMPS": chosen}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    cells = [(y, x) for y in range(4) for x in range(4)]
    return (rng.sample(cells, rng.randint(1, 7)), rng.randint(2, 3))


def _edges(rule: Rule) -> Sequence[Arguments]:
    row = [(0, x) for x in range(4)]
    return [([], 0), ([], 1), ([], 2), ([], 3), (row, 2), ([(1, 1), (2, 2), (0, 3)], 3), (row, 4)]


def _wordings(rule: Rule) -> Sequence[str]:
    ways = [f"{a} rows and {b} columns away, or {b} rows and {a} columns" for a, b in rule["JUMPS"]]
    ways += ["in the same row or column, at any distance"] if rule["LINES"] else []
    ways += ["on the same diagonal, at any distance"] if rule["DIAGONALS"] else []
    size, attacks = rule["SIZE"], "; ".join(ways)
    note = "Pieces are all alike, attacks pass over all cells, and blocked is a list of (row, column) "
    note += "from 0, where nothing may stand. No piece at all can be placed in one way."
    return [
        f"In how many ways can count pieces stand on a {size} by {size} board so that none attacks another? "
        f"A piece attacks cells that are: {attacks}. {note}",
        f"Count the sets of count cells of a {size} x {size} board, none of them blocked, such that no two "
        f"of the cells are: {attacks}. {note}",
        f"A new chess piece reaches the cells which are: {attacks}. Return the number of ways to put count "
        f"of them on a board of {size} rows and {size} columns with no one reaching another. {note}",
    ]


QUEENS = ProblemFamily(
    name="queens",
    difficulties=range(9, 10),
    entries=("count_placements", "peaceful", "placements"),
    parameters={"blocked": "list[tuple[int, int]]", "count": "int"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "blocked cells used": (" if (y, x) not in blocked", ""),
        "order counts": ("place(i + 1, chosen", "place(0, chosen"),
        "no jumps": ("return True", "pass"),
        "jumps only": ("return (LINES and 0 in (dy, dx)) or (DIAGONALS and dy == dx)", "return False"),
    },
)
