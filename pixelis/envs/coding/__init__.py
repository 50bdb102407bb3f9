"""Coding problems: problems with hidden tests, solutions read out of answers, a sandbox that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.envs.coding.answers.extraction import extract_code as extract_code
    from pixelis.envs.coding.families.registry import draw_problem as draw_problem
    from pixelis.envs.coding.families.registry import families_at as families_at
    from pixelis.envs.coding.families.registry import family_of as family_of
    from pixelis.envs.coding.families.registry import hidden_tests as hidden_tests
    from pixelis.envs.coding.problems.problem import Problem as Problem
    from pixelis.envs.coding.problems.problem import TestCase as TestCase
    from pixelis.envs.coding.sandbox.jobs import Call as Call
    from pixelis.envs.coding.sandbox.jobs import Job as Job
    from pixelis.envs.coding.sandbox.jobs import JobResult as JobResult
    from pixelis.envs.coding.sandbox.jobs import Limits as Limits
    from pixelis.envs.coding.sandbox.jobs import SandboxSettings as SandboxSettings
    from pixelis.envs.coding.sandbox.sandbox import Sandbox as Sandbox
    from pixelis.envs.coding.verification.verification import verify as verify

__getattr__, __dir__, __all__ = lazy_exports(__name__)
