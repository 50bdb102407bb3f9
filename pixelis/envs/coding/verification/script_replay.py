"""Test scripts that are no list of calls and values, run so that no candidate can talk to them.

Script and candidate never share a process. The script runs in the sandbox by itself, where the function it
tests only looks up answers. A call without an answer yet ends that run and says what is asked; the candidate
is run, in its own process, on everything asked so far; and the script starts again with one answer more. What
passes between the two is plain data. Scripts must be repeatable: ``random`` is seeded for them.
"""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

from pixelis.envs.coding.answers.comparison import AnswerComparison, compare
from pixelis.envs.coding.answers.python_source import completed
from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.sandbox import Call, CallResult, Job, JobResult, Limits, Sandbox
from pixelis.errors import ScriptNeededError

MOST_CALLS = 1_000
_EXACT = AnswerComparison()
_ENTRY = "replay_answers"
_CHECKER = """
def replay_answers(SOURCES, ENTRY, ANSWERS):
    import random

    class Asked(BaseException):
        pass

    answers = iter(ANSWERS)

    def candidate(*args, **kwargs):
        for kind, value in answers:
            if kind == "value":
                return value
            raise RuntimeError("the candidate raised " + value)
        raise Asked(args, kwargs)

    space = {"__name__": "test_script"}
    random.seed(0)
    try:
        for source in SOURCES:
            exec(source, space)
            space[ENTRY] = space["candidate"] = candidate
        if "check" in space:
            space["check"](candidate)
    except Asked as asked:
        return ("asked", asked.args[0], asked.args[1])
    except AssertionError as error:
        return ("failed", "an assertion does not hold")
    except RuntimeError as error:
        return ("failed", str(error)[:300])
    return ("passed",)
"""


def replay_script(
    problem: Problem, program: str, *, sandbox: Sandbox, limits: Limits | None = None
) -> tuple[bool, str, JobResult]:
    """Return whether a program passes a problem's script, what happened in words, and the last run.

    The run's times are those of all runs of the program together.

    Raises:
        ScriptNeededError: the script cannot be run at all, for example for a module that is not there.
    """
    calls: list[Call] = []
    outcomes: tuple[CallResult, ...] = ()
    spent = result = JobResult("finished")
    while True:
        checked = _check(problem, outcomes, sandbox, limits)
        if checked.status == "sandbox_failed":
            return False, checked.detail, replace(checked, cpu_seconds=0.0)
        said = _said(problem, checked, calls)
        if said[0] != "asked":
            return said[0] == "passed", " ".join(said[1:]) or "passed the test script", spent
        if len(calls) == MOST_CALLS:
            return False, f"the test script makes more than {MOST_CALLS} calls", spent
        calls.append(Call(said[1], said[2]))
        (result,) = sandbox.run([Job(program, problem.entry, tuple(calls), limits)])
        spent = replace(
            result,
            cpu_seconds=spent.cpu_seconds + result.cpu_seconds,
            wall_seconds=spent.wall_seconds + result.wall_seconds,
        )
        if result.status != "finished":
            return False, "", spent
        if not all(map(_agree, outcomes, result.outcomes)):
            return False, "the same input was answered in two ways", spent
        outcomes = result.outcomes


def _check(
    problem: Problem, outcomes: tuple[CallResult, ...], sandbox: Sandbox, limits: Limits | None
) -> JobResult:
    answers = [(one.kind, one.value if one.kind == "value" else _class_name(one.error)) for one in outcomes]
    call = Call(([completed(problem.prefix), problem.script], problem.entry, answers))
    return sandbox.run([Job(_CHECKER, _ENTRY, (call,), limits)])[0]


def _class_name(error: str) -> str:
    """Return an error's class; not its message nor a name of its own, which could tell what is asked."""
    name = error.partition(":")[0]
    return name if hasattr(builtins, name) else "an exception of its own"


def _said(problem: Problem, checked: JobResult, calls: list[Call]) -> tuple[Any, ...]:
    """Return the script's verdict, or what it asks; a script that never gets as far as a call is refused."""
    outcome = checked.outcomes[0] if checked.outcomes else CallResult("missing")
    if checked.status == "finished" and outcome.kind == "value" and (calls or outcome.value[0] == "asked"):
        return outcome.value
    why = checked.detail or outcome.error or "it asks for nothing"
    if calls:
        return ("failed", f"the test script did not take the answers ({why[:200]})")
    raise ScriptNeededError(
        f"{problem.id}: expected a test script that calls {problem.entry}, got one that "
        f"does not get so far: {why[:200]}"
    )


def _agree(before: CallResult, after: CallResult) -> bool:
    return before.kind == after.kind and compare(before.value, after.value, _EXACT)
