"""Shortest paths on a grid with drawn moves."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(grid):
    goal = (len(grid) - 1, len(grid[0]) - 1)
    steps = {(0, 0): 0}
    queue = [(0, 0)]
    for y, x in queue:
        for dy, dx in MOVES:
            i, j = y + dy, x + dx
            if 0 <= i < len(grid) and 0 <= j < len(grid[0]) and (i, j) not in steps and grid[i][j] != WALL:
                steps[i, j] = steps[y, x] + 1
                queue.append((i, j))
    return steps.get(goal, -1)
"""

_BRUTE_FORCE = """
def solve(grid):
    high, wide = len(grid), len(grid[0])
    reached, count = {(0, 0)}, 0
    while (high - 1, wide - 1) not in reached:
        more = set(reached)
        for i in range(high):
            for j in range(wide):
                if grid[i][j] != WALL and any((i - dy, j - dx) in reached for dy, dx in MOVES):
                    more.add((i, j))
        if more == reached:
            return -1
        reached, count = more, count + 1
    return count
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    pool = [[0, 1], [1, 0], [0, -1], [-1, 0]]
    if difficulty == 7:
        pool = [[y, x] for y in (-2, -1, 0, 1, 2) for x in (-2, -1, 0, 1, 2) if abs(y) + abs(x) in (2, 3)]
    moves = [[0, 1], [1, 0], *rng.sample([m for m in pool if m not in ([0, 1], [1, 0])], 2)]
    return {"MOVES": moves, "WALL": rng.choice("#X%@=*&+")}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    high, wide, walls = rng.randint(2, 7), rng.randint(2, 7), rng.choice([0.2, 0.3, 0.4])
    rows = [[rule["WALL"] if rng.random() < walls else "." for _ in range(wide)] for _ in range(high)]
    rows[0][0] = rows[-1][-1] = "."
    return (["".join(row) for row in rows],)


def _edges(rule: Rule) -> Sequence[Arguments]:
    wall = rule["WALL"]
    rows = ["....o", ".ooo.", ".o...", ".o.oo", "...o.", "oo...", "....."]
    maze = [row.replace("o", wall) for row in rows]
    shut = ["." * 6, "." * 6, wall * 6, wall * 6, wall * 6, "." * 6]
    return [
        (["."],),
        (["...."],),
        ([".", "."],),
        (maze,),
        (shut,),
        (["." * 5] * 5,),
        (["." + wall, wall + "."],),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    moves, wall = ", ".join(f"({y}, {x})" for y, x in rule["MOVES"]), rule["WALL"]
    note = f"A cell with {wall!r} cannot be entered, other cells can; only the cell a move ends in matters. "
    note += "The start and the goal are free, and they may be the same cell."
    return [
        "grid is a list of texts of equal length. Return the least number of moves from the top left cell "
        "to the bottom right cell, or -1 if there is no way. A move changes (row, column) by one of "
        f"{moves}. {note}",
        "A piece stands in row 0, column 0 of a board given as rows of characters. It moves by (rows, "
        f"columns) = {moves}. How many moves does it need at least to the last column of the last row? -1 "
        f"if it cannot. {note}",
        "Find the length, in moves, of the shortest path through a map from its first to its last cell (-1: "
        f"none). Allowed changes of (row, column): {moves}. {note}",
    ]


GRID_PATH = ProblemFamily(
    name="grid_path",
    difficulties=range(6, 8),
    entries=("shortest_path", "fewest_moves", "moves_needed"),
    parameters={"grid": "list[str]"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "through walls": (" and grid[i][j] != WALL", ""),
        "forgets a move": ("in MOVES", "in MOVES[1:]"),
        "counts cells": ("steps.get(goal, -1)", "steps.get(goal, -2) + 1"),
        "0 for no way": ("steps.get(goal, -1)", "steps.get(goal, 0)"),
    },
)
