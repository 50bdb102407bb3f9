"""Demonstrations of CodeProblem at difficulty 1: the shortest solution of each family, or a mistaken one.

The numbers and letters of the statement stand in the solution as they are, so that writing one is copying.
Two families are written hastily, two patiently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.code_problem.players import fenced
from pixelis.envs.coding.code_problem.tasks import problem_of
from pixelis_mini.habits import CAREFUL, Demonstration, Habits, drawn_habit

DIFFICULTY = 1

PATIENT: Habits = {CAREFUL: 0.68, "mistake": 0.20, "wrong_number": 0.12}
HASTY: Habits = {CAREFUL: 0.28, "first_mistake": 0.50, "mistake": 0.12, "wrong_number": 0.10}
"""The first of a family's mistakes is likelier than a right solution: the likeliest turn fails too."""
HASTY_FAMILIES = ("letters", "select")

Rule = Mapping[str, Any]


def _clamp(rule: Rule) -> dict[str, str]:
    value = f"{rule['FACTOR']} * x + {rule['SHIFT']}"
    low, high = rule["LOW"], rule["HIGH"]
    return {
        CAREFUL: f"max({low}, min({high}, {value}))",
        "no upper bound": f"max({low}, {value})",
        "no lower bound": f"min({high}, {value})",
        "forgets to add": f"max({low}, min({high}, {rule['FACTOR']} * x))",
        "bounds changed": f"min({low}, max({high}, {value}))",
    }


def _letters(rule: Rule) -> dict[str, str]:
    letters = "".join(f" {letter}" for letter in rule["LETTERS"])
    return {
        CAREFUL: f'sum(c in "{letters}".split() for c in text.lower())',
        "lower case only": f'sum(c in "{letters}".split() for c in text)',
        "a letter too few": f'sum(c in "{letters[2:]}".split() for c in text.lower())',
        "all the others": f'sum(c not in "{letters}".split() for c in text.lower())',
    }


def _multiples(rule: Rule) -> dict[str, str]:
    first, second = rule["FIRST"], rule["SECOND"]
    return {
        CAREFUL: f"sum(i for i in range(1, n) if i % {first} == 0 or i % {second} == 0)",
        "n included": f"sum(i for i in range(1, n + 1) if i % {first} == 0 or i % {second} == 0)",
        "both divide": f"sum(i for i in range(1, n) if i % {first} == 0 and i % {second} == 0)",
        "counts": f"sum(1 for i in range(1, n) if i % {first} == 0 or i % {second} == 0)",
        "one of them": f"sum(i for i in range(1, n) if i % {first} == 0)",
    }


def _select(rule: Rule) -> dict[str, str]:
    kept = f"k % {rule['DIVISOR']} == {rule['REST']}"
    factor, least = rule["FACTOR"], rule["LEAST"]
    return {
        CAREFUL: f"[{factor} * k for k in numbers if {kept} and k >= {least}]",
        "above, not at least": f"[{factor} * k for k in numbers if {kept} and k > {least}]",
        "either condition": f"[{factor} * k for k in numbers if {kept} or k >= {least}]",
        "no scaling": f"[k for k in numbers if {kept} and k >= {least}]",
        "no bound": f"[{factor} * k for k in numbers if {kept}]",
    }


SOLUTIONS: Mapping[str, Callable[[Rule], dict[str, str]]] = {
    "clamp": _clamp,
    "letters": _letters,
    "multiples": _multiples,
    "select": _select,
}
"""Family of difficulty 1 → what its function may return, by what is wrong with it; ``careful`` is right."""


def written(problem: Any, rng: np.random.Generator, habit: str) -> str:
    """Return the turn that hands a solution in, with a mistake where the habit has one."""
    rule = dict(problem.rule)
    if habit == "wrong_number":
        name = str(rng.choice([name for name, value in rule.items() if name != "STEP"]))
        rule[name] = _changed(rule[name], rng)
    solutions = SOLUTIONS[problem.family](rule)
    right = solutions.pop(CAREFUL)
    mistakes = list(solutions.values())
    body = {"first_mistake": mistakes[0], "mistake": str(rng.choice(mistakes))}.get(habit, right)
    return fenced(f"def {problem.entry}({problem.parameters[0][0]}):\n    return {body}")


def _changed(value: Any, rng: np.random.Generator) -> Any:
    """Return a number that is off by a little, or letters of which one is another."""
    if isinstance(value, str):
        place = int(rng.integers(len(value)))
        return value[:place] + chr(int(rng.integers(97, 123))) + value[place + 1 :]
    if isinstance(value, bool):
        return value
    changed = value + int(rng.choice([-2, -1, 1, 2]))
    return changed or value + 3  # nothing is divided by 0


def code_demonstrations(seeds: range, *, judge: bool = False) -> Iterator[Demonstration]:
    """Write a solution to one problem of the train split a seed.

    Args:
        seeds: reset seeds.
        judge: whether to run what was written in the sandbox, which takes some 20 ms each.
    """
    env = CodeProblemEnv(difficulty=DIFFICULTY, split="train")
    try:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            observation, _ = env.reset(seed=seed)
            assert env.task is not None  # just drawn
            problem, *_ = problem_of(env.task)
            habit = drawn_habit(HASTY if problem.family in HASTY_FAMILIES else PATIENT, rng)
            turn = written(problem, rng, habit)
            success = bool(env.step(turn)[4]["success"]) if judge else None
            name = f"{problem.family}/{habit}"
            yield Demonstration(((str(observation["text"]), turn),), name, success)
    finally:
        env.close()
