"""Turning and mirroring a grid, and reading it in a spiral."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule
from pixelis.envs.coding.problems.trusted import trusted_function

_MOVES = {
    "right": "turn it a quarter to the right (clockwise)",
    "left": "turn it a quarter to the left",
    "flip": "put its rows in reverse order",
    "mirror": "reverse each of its rows",
    "transpose": "swap its rows and columns (entry i, j goes to j, i)",
    "wrap": "move its last row to the top",
    "double": "write each of its rows twice, one copy below the other",
    "shift": "move its first column to the right end",
}

_REFERENCE = """
def solve(grid):
    for move in MOVES:
        if move == "right":
            grid = [list(row) for row in zip(*grid[::-1])]
        elif move == "left":
            grid = [list(row) for row in zip(*grid)][::-1]
        elif move == "flip":
            grid = grid[::-1]
        elif move == "mirror":
            grid = [row[::-1] for row in grid]
        elif move == "transpose":
            grid = [list(row) for row in zip(*grid)]
        elif move == "wrap":
            grid = grid[-1:] + grid[:-1]
        elif move == "double":
            grid = [list(row) for row in grid for _ in range(2)]
        else:
            grid = [row[1:] + row[:1] for row in grid]
    return grid
"""

_BRUTE_FORCE = """
def solve(grid):
    for move in MOVES:
        high, wide = len(grid), len(grid[0])
        tall, broad = (wide, high) if move in ("right", "left", "transpose") else (high, wide)
        if move == "double":
            tall *= 2
        result = [[None] * broad for _ in range(tall)]
        for i in range(tall):
            for j in range(broad):
                y, x = {
                    "right": (high - 1 - j, i),
                    "left": (j, wide - 1 - i),
                    "flip": (high - 1 - i, j),
                    "mirror": (i, wide - 1 - j),
                    "transpose": (j, i),
                    "wrap": ((i - 1) % high, j),
                    "double": (i // 2, j),
                    "shift": (i, (j + 1) % wide),
                }[move]
                result[i][j] = grid[y][x]
        grid = result
    return grid
"""

_SPIRAL = """
def solve(grid):
    result = []
    rows = [list(row) for row in grid]
    if FROM_RIGHT:
        rows = [row[::-1] for row in rows]
    while rows:
        result += rows.pop(0)
        rows = [list(row) for row in zip(*rows)][::-1]
    return result[START::STEP]
"""

_SPIRAL_TWIN = """
def solve(grid):
    high, wide = len(grid), len(grid[0])
    seen = set()
    y, x = 0, wide - 1 if FROM_RIGHT else 0
    dy, dx = 0, -1 if FROM_RIGHT else 1
    path = []
    while len(path) < high * wide:
        path.append(grid[y][x])
        seen.add((y, x))
        for _ in range(4):
            new = (y + dy, x + dx)
            if 0 <= new[0] < high and 0 <= new[1] < wide and new not in seen:
                y, x = new
                break
            dy, dx = (-dx, dy) if FROM_RIGHT else (dx, -dy)
    return [number for i, number in enumerate(path) if i >= START and (i - START) % STEP == 0]
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    while True:  # until every move and their order matter
        moves = rng.choices(list(_MOVES), k=difficulty - 1)
        if _moved(moves) not in [_moved(moves[1:]), _moved(moves[:-1]), _moved(moves[::-1])]:
            return {"MOVES": moves}


def _moved(moves: list[str]) -> Any:
    return trusted_function(_REFERENCE, "solve", {"MOVES": moves})([[1, 2, 3], [4, 5, 6]])


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    wide = rng.randint(1, 5)
    return ([[rng.randint(0, 99) for _ in range(wide)] for _ in range(rng.randint(1, 5))],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    square = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    return [([[7]],), ([[1, 2, 3]],), ([[1], [2], [3]],), ([[1, 2, 3], [4, 5, 6]],), (square,)]


def _wordings(rule: Rule) -> Sequence[str]:
    moves = "; ".join(f"({i}) {_MOVES[move]}" for i, move in enumerate(rule["MOVES"], 1))
    return [
        "grid is a list of rows of equal length, at least 1 by 1. Return the grid after these moves, one "
        f"after the other: {moves}.",
        f"Do the following to a rectangular grid of numbers (a list of rows, never empty), in this order: "
        f"{moves}. Return the new grid.",
        f"A picture is given as a list of rows, at least one, each with as many numbers. Change it step by "
        f"step: {moves}. Return what comes out.",
    ]


def _draw_spiral(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"FROM_RIGHT": rng.random() < 0.5, "START": rng.randint(0, 6), "STEP": rng.randint(2, 7)}


def _draw_large(rng: Random, rule: Rule) -> Arguments:
    wide = rng.randint(2, 7)
    return ([[rng.randint(0, 99) for _ in range(wide)] for _ in range(rng.randint(2, 7))],)


def _spiral_edges(rule: Rule) -> Sequence[Arguments]:
    numbered = [
        [[10 * i + j for j in range(wide)] for i in range(high)] for high, wide in ((4, 6), (7, 5), (9, 1))
    ]
    return [([[7]],), *((grid,) for grid in numbered), ([list(range(1, 15))],)]


def _spiral_wordings(rule: Rule) -> Sequence[str]:
    corner, way = ("right", "anticlockwise") if rule["FROM_RIGHT"] else ("left", "clockwise")
    first, step = rule["START"], rule["STEP"]
    which = (
        f"Of the numbers in that order, at positions 0, 1, 2, …, return those at {first}, {first + step}, "
    )
    which += f"{first + 2 * step} and so on, as far as there are any."
    return [
        "Walk through a rectangular grid (a list of rows, never empty) in a spiral: start in the top "
        f"{corner} "
        f"corner, go along the top row, and on {way} along the edge and inwards to the middle. {which}",
        f"Read the numbers of grid, a list of rows of equal length (at least 1 by 1), in {way} spiral order "
        f"from the top {corner} corner, the top row first, from the outside in. {which}",
        f"A snail starts at the top {corner} of a grid of numbers, crawls along the top row, and winds "
        f"{way} to the centre, over every cell once. {which}",
    ]


GRIDS = ProblemFamily(
    name="grids",
    difficulties=range(3, 6),
    entries=("transform", "move_grid", "change_picture"),
    parameters={"grid": "list[list[int]]"},
    returns="list[list[int]]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "last move forgotten": ("in MOVES", "in MOVES[:-1]"),
        "first move forgotten": ("in MOVES", "in MOVES[1:]"),
        "moves in reverse": ("in MOVES", "in MOVES[::-1]"),
        "rows are tuples": ("return grid", "return [tuple(row) for row in grid]"),
    },
)

SPIRAL = replace(
    GRIDS,
    name="spiral",
    difficulties=range(5, 6),
    entries=("spiral", "snail", "unwind"),
    returns="list[int]",
    wordings=_spiral_wordings,
    draw_rule=_draw_spiral,
    draw_args=_draw_large,
    edges=_spiral_edges,
    reference_text=_SPIRAL,
    brute_force_text=_SPIRAL_TWIN,
    mistakes={
        "wrong corner": ("if FROM_RIGHT", "if not FROM_RIGHT"),
        "row by row": ("[list(row) for row in zip(*rows)][::-1]", "rows"),
        "turns the wrong way": ("zip(*rows)][::-1]", "zip(*rows[::-1])]"),
        "first ring only": (
            "while rows:",
            "for _ in range(min(4, len(rows))):\n        if not rows:\n            break",
        ),
        "one position later": ("[START::STEP]", "[START + 1::STEP]"),
    },
)
