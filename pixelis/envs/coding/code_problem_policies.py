"""Scripted policies of CodeProblem: the oracle, the baselines, and attempts at unearned reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pixelis.envs.coding.problems import Problem
from pixelis.envs.policies import Policy

if TYPE_CHECKING:
    from pixelis.envs.coding.code_problem import CodeProblemEnv
    from pixelis.envs.tool_env import ToolEnv

RUN = '<tool_call>{"name": "RUN"}</tool_call>'
SUBMIT = '<tool_call>{"name": "SUBMIT"}</tool_call>'


def fenced(code: str) -> str:
    """Return code in a fence."""
    return f"```python\n{code.strip()}\n```"


class OraclePolicy:
    """Writes a right solution; with tools it runs it before it hands it in. Silent where none is known."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env, self._has_run = cast("CodeProblemEnv", env), False

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next turn."""
        assert self._env.task is not None  # a policy plays an episode that has begun
        solution = self._env.task.answer
        if not solution or self._env.mode == "single":
            return fenced(solution) if solution else ""
        if self._has_run:
            return SUBMIT
        self._has_run = True
        return f"{fenced(solution)}\n{RUN}"


class CodePolicy:
    """Hands in at once what a function makes of the problem.

    Args:
        env: the environment.
        write: ``(problem, env) -> turn`` without the call that hands it in.
    """

    def __init__(self, env: ToolEnv[Any], write: Callable[[Problem, CodeProblemEnv], str]) -> None:
        self._env, self._write = cast("CodeProblemEnv", env), write

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the turn."""
        turn = self._write(self._env.workspace.problem, self._env)
        return turn if self._env.mode == "single" else f"{turn}\n{SUBMIT}"


def _lookup(problem: Problem, other: str = "None") -> str:
    """Return a solution that knows the visible examples and nothing else."""
    table = [(case.args, case.expected) for case in problem.examples]
    return f"def {problem.entry}(*args):\n    for known, value in {table!r}:\n        if args == known:\n            return value\n    return {other}\n"


def code_problem_policies(mode: str) -> dict[str, Callable[[ToolEnv[Any]], Policy]]:
    """Return the policies of a mode by name."""
    return {
        "oracle": OraclePolicy,
        ("blind" if mode == "single" else "tool_free"): lambda env: CodePolicy(
            env, lambda problem, _: fenced(f"def {problem.entry}(*args):\n    return 0\n")
        ),
        "exploit_lookup": lambda env: CodePolicy(env, lambda problem, _: fenced(_lookup(problem))),
    }
