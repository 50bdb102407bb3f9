"""Updates of a list and questions about stretches of it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def combine(a, b):
    if ASK == "sum":
        return a + b
    if ASK == "smallest":
        return min(a, b)
    return max(a, b)

def solve(numbers, commands):
    size = len(numbers)
    tree = [None] * size + list(numbers)

    def join(a, b):
        return b if a is None else a if b is None else combine(a, b)

    for i in range(size - 1, 0, -1):
        tree[i] = join(tree[2 * i], tree[2 * i + 1])
    answers = []
    for command, first, second in commands:
        if command == "set":
            i = first + size
            tree[i] = tree[i] + second if ADDS else second
            while i > 1:
                i //= 2
                tree[i] = join(tree[2 * i], tree[2 * i + 1])
        else:
            low, high, value = first + size, second + size + 1, None
            while low < high:
                if low % 2:
                    value = join(value, tree[low])
                    low += 1
                if high % 2:
                    high -= 1
                    value = join(value, tree[high])
                low, high = low // 2, high // 2
            answers.append(value * FACTOR)
    return answers
"""

_BRUTE_FORCE = """
def solve(numbers, commands):
    numbers = list(numbers)
    answers = []
    for command, first, second in commands:
        if command == "ask":
            part = sorted(numbers[first:second + 1])
            answers.append(FACTOR * {"sum": sum(part), "smallest": part[0], "largest": part[-1]}[ASK])
        elif ADDS:
            numbers[first] += second
        else:
            numbers[first] = second
    return answers
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {
        "ASK": rng.choice(["sum", "smallest", "largest"]),
        "ADDS": rng.random() < 0.5,
        "FACTOR": rng.choice([-5, -4, -3, -2, 2, 3, 4, 5]),
    }


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    numbers = [rng.randint(-50, 50) for _ in range(rng.randint(2, rng.choice([4, 40])))]
    commands = []
    for _ in range(rng.randint(2, rng.choice([4, 40]))):
        low, high = sorted(rng.randrange(len(numbers)) for _ in range(2))
        commands.append(rng.choice([("ask", low, high), ("set", low, rng.randint(-60, 60))]))
    return (numbers, [*commands, ("ask", 0, len(numbers) - 1)])


def _edges(rule: Rule) -> Sequence[Arguments]:
    rising = list(range(-3, 5))
    each = [("ask", i, i) for i in range(8)]
    falling = [("ask", 0, 7), ("set", 7, -99), ("ask", 0, 7), ("ask", 0, 6), ("set", 0, 99), ("ask", 0, 7)]
    return [([5], [("ask", 0, 0)]), ([1, 2], []), (rising, each), (rising, [*falling, *falling[::-1], *each])]


def _wordings(rule: Rule) -> Sequence[str]:
    value = {"sum": "the sum of", "smallest": "the smallest of", "largest": "the largest of"}[rule["ASK"]]
    change = "adds x to the number at i" if rule["ADDS"] else "replaces the number at i by x"
    factor = rule["FACTOR"]
    note = "Indices start at 0 and i <= j. Lists can be long and commands many."
    return [
        f"Work through commands on a list of numbers. ('set', i, x) {change}; ('ask', i, j) asks for "
        f"{factor} times "
        f"{value} the numbers from index i to j, both included. Return the answers in order. {note}",
        f"commands is a list of tuples. ('ask', i, j): note {factor} * {value} numbers[i] to numbers[j], "
        f"ends included, as the list is then. ('set', i, x): {change}. Return the list of notes. {note}",
        f"Keep a list of numbers under change and answer questions on it: ('set', i, x) {change}, and the "
        "answer to "
        f"('ask', i, j) is {value} all numbers at the indices i, i + 1, …, j, multiplied by {factor}. {note}",
    ]


RANGE_QUERIES = ProblemFamily(
    name="range_queries",
    difficulties=range(10, 11),
    entries=("answer_queries", "run_commands", "ask_ranges"),
    parameters={"numbers": "list[int]", "commands": "list[tuple[str, int, int]]"},
    returns="list[int]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "j left out": ("second + size + 1, None", "max(second, first + 1) + size, None"),
        "other kind of change": ("if ADDS else", "if not ADDS else"),
        "changes are not passed on": ("            while i > 1:", "            while False:"),
        "no factor": ("value * FACTOR", "value"),
    },
)
