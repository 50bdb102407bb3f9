"""Coding problems: what one is, and files of them. What draws them is in `families`.

This package knows nothing of how a solution is run.
"""

from pixelis.envs.coding.problems.problem import Problem, TestCase

__all__ = ["Problem", "TestCase"]
