"""Coding problems: drawn by families, or read from files.

What they share is `Problem`. This package knows nothing of how a solution is run.
"""

from pixelis.envs.coding.families.family import Family, HiddenTests
from pixelis.envs.coding.families.registry import FAMILIES, draw_problem, families_at, family_of, hidden_tests
from pixelis.envs.coding.problems.problem import Problem, TestCase

__all__ = [
    "FAMILIES",
    "Family",
    "HiddenTests",
    "Problem",
    "TestCase",
    "draw_problem",
    "families_at",
    "family_of",
    "hidden_tests",
]
