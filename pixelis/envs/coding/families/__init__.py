"""The families of coding problems, one small module for each or for two alike; `registry` finds them."""

from pixelis.envs.coding.families.family import HiddenTests, ProblemFamily
from pixelis.envs.coding.families.registry import FAMILIES, draw_problem, families_at, family_of, hidden_tests

__all__ = [
    "FAMILIES",
    "HiddenTests",
    "ProblemFamily",
    "draw_problem",
    "families_at",
    "family_of",
    "hidden_tests",
]
