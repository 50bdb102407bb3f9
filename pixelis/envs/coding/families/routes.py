"""Cheapest routes with a toll for stopping and a limit on legs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
import heapq

def solve(roads, start, goal):
    neighbours = {}
    for a, b, cost in roads:
        neighbours.setdefault(a, []).append((b, cost))
        neighbours.setdefault(b, []).append((a, cost))
    heap = [(0, 0, start)]
    done = set()
    while heap:
        cost, legs, town = heapq.heappop(heap)
        if town == goal:
            return cost
        if (town, legs) in done or legs == LEGS:
            continue
        done.add((town, legs))
        for other, length in neighbours.get(town, []):
            toll = 0 if other == goal else TOLL
            heapq.heappush(heap, (cost + length + toll, legs + 1, other))
    return -1
"""

_BRUTE_FORCE = """
def solve(roads, start, goal):
    if start == goal:
        return 0
    both = roads + [(b, a, cost) for a, b, cost in roads]
    cost, best = {start: 0}, None
    for legs in range(LEGS):
        after = {}
        for a, b, length in both:
            if a in cost and a != goal:
                total = cost[a] + length + (TOLL if legs else 0)
                after[b] = min(total, after.get(b, total))
        cost = after
        if goal in cost and (best is None or cost[goal] < best):
            best = cost[goal]
    return -1 if best is None else best
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"TOLL": rng.randint(2, 9), "LEGS": rng.randint(3, 5)}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    towns = "ABCDEFG"[: rng.randint(4, 7)]
    roads = [(*rng.sample(towns, 2), rng.randint(1, 20)) for _ in range(rng.randint(4, 12))]
    return (roads, *rng.sample(towns, 2))


def _edges(rule: Rule) -> Sequence[Arguments]:
    toll, legs = rule["TOLL"], rule["LEGS"]
    chain = [("PQRSTUVW"[i], "PQRSTUVW"[i + 1], 1) for i in range(legs + 1)]
    short_cut = [("A", "B", 1), ("B", "C", 1), ("A", "C", toll + 1), ("C", "D", 4), ("A", "D", 5 + 2 * toll)]
    long_way = [*chain, ("P", chain[-1][1], 99)]
    return [
        ([], "A", "B"),
        ([], "A", "A"),
        (chain, "P", chain[-1][1]),
        (chain, "P", chain[-2][1]),
        (chain, chain[-2][1], "P"),
        (short_cut, "A", "C"),
        (short_cut, "D", "A"),
        (long_way, "P", chain[-1][1]),
        ([("A", "B", 7), ("B", "A", 3)], "A", "B"),
        ([("A", "B", 9), ("A", "C", 2), ("C", "B", 2)], "A", "B"),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    toll, legs = rule["TOLL"], rule["LEGS"]
    note = (
        f"No more than {legs} roads may be used. Return -1 if there is no such route, 0 if start is the goal."
    )
    return [
        "roads holds tuples (town, town, cost), usable both ways. Return the lowest cost of a route from "
        f"start to goal: the costs of its roads, plus a toll of {toll} in every town on the way (not in "
        f"start or goal). {note}",
        "Find the cheapest way from start to goal. Each road (a, b, cost) connects a and b in both "
        f"directions, and passing through a town in between costs {toll} more each time. {note}",
        "A carrier pays for every road it takes, given as (a, b, cost) and open in both directions, and "
        f"{toll} for each stop between start and goal. What is the least it pays? {note}",
    ]


ROUTES = ProblemFamily(
    name="routes",
    difficulties=range(8, 9),
    entries=("cheapest_route", "least_cost", "travel_cost"),
    parameters={"roads": "list[tuple[str, str, int]]", "start": "str", "goal": "str"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "no toll": ("0 if other == goal else TOLL", "0"),
        "toll at the goal": ("0 if other == goal else TOLL", "TOLL"),
        "any number of roads": (" or legs == LEGS", ""),
        "one way": ("        neighbours.setdefault(b, []).append((a, cost))\n", ""),
        "fewest roads": ("(cost + length + toll, legs + 1, other)", "(cost + 1, legs + 1, other)"),
    },
)
