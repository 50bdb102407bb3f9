"""An episode's state: the problem, its hidden tests, what was run and what was handed in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pixelis.envs.coding.answers.extraction import code_as_given, extract_code
from pixelis.envs.coding.families import HiddenTests
from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.sandbox import JobResult
from pixelis.envs.coding.verification.sandbox_lease import SandboxLease
from pixelis.envs.coding.verification.verification import (
    CaseResult,
    Verification,
    explain,
    run_cases,
    verify_by,
)
from pixelis.envs.tools import CallRefused, Tool, ToolOutput
from pixelis.errors import SandboxUnavailableError
from pixelis.rewards.terms.traits import ToolTraits

STDOUT_CHARACTERS = 500
VALUE_CHARACTERS = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


@dataclass
class Attempt:
    """One episode.

    Attributes:
        problem: what is asked.
        seed: of the hidden tests.
        tests: the hidden tests.
        lease: where code runs.
        turn: the current assistant turn, whole.
        code: the code that ran last, or was handed in.
        is_over: whether something was handed in.
        verification: its verdict.
        layers: of the sandbox, once something ran.
        failure: why the sandbox failed; empty if it did not.
    """

    problem: Problem
    seed: int
    tests: HiddenTests
    lease: SandboxLease
    turn: str = ""
    code: str | None = None
    is_over: bool = False
    verification: Verification | None = None
    layers: tuple[str, ...] = ()
    failure: str = ""
    runs: int = field(default=0)

    def hand_in(self, code: str) -> None:
        """Verify code by the hidden tests and end the episode."""
        self.code, self.is_over = code, True
        try:
            sandbox = self.lease.get()
            (self.verification,) = verify_by(
                self.problem, self.tests, [code], sandbox=sandbox, seed=self.seed
            )
        except SandboxUnavailableError as error:
            self.failure = str(error)
            return
        self.layers = sandbox.layers
        if not self.verification.valid:
            self.failure = self.verification.detail

    def run(self, code: str) -> ToolOutput:
        """Run code on the visible tests and return what the model reads.

        Raises:
            CallRefused: the sandbox failed.
        """
        self.code, self.runs = code, self.runs + 1
        try:
            sandbox = self.lease.get()
            result, cases, offset = run_cases(self.problem, self.problem.examples, code, sandbox=sandbox)
        except SandboxUnavailableError as error:
            self.failure = str(error)
            raise CallRefused(
                "sandbox_failed", "the code could not be run; this is no fault of it."
            ) from None
        self.layers = sandbox.layers
        if result.status == "sandbox_failed":
            self.failure = result.detail
            raise CallRefused("sandbox_failed", "the code could not be run; this is no fault of it.")
        passed = sum(one.passed for one in cases)
        data = {"status": result.status, "passed": passed, "tests": len(self.problem.examples)}
        text = "\n".join(_report(self.problem, result, cases, code, offset))
        return ToolOutput(_ADDRESS.sub("0x…", text), data)


def _report(
    problem: Problem, result: JobResult, cases: tuple[CaseResult, ...], code: str, offset: int
) -> list[str]:
    count, passed = len(problem.examples), sum(one.passed for one in cases)
    failed = next((one for one in cases if not one.passed), None)
    if result.status != "finished":
        said = [f"Not run to the end: {explain(problem, result, offset)}."]
        said += _source_line(code, result.line - offset)
        if failed is not None and result.outcomes:
            said.append(f"It had not answered {failed.case.call(problem.entry)[:VALUE_CHARACTERS]}.")
    elif not count:
        said = [f"The code runs and defines {problem.entry}; there are no visible tests."]
    elif failed is None:
        said = [f"All {count} visible tests passed."]
    else:
        said = [f"{passed} of {count} visible tests passed.", *_failing(problem, failed, code, offset)]
    if result.stdout:
        printed = result.stdout[:STDOUT_CHARACTERS]
        said.append(f"Printed: {printed}{'[… cut]' if len(result.stdout) > STDOUT_CHARACTERS else ''}")
    return said


def _failing(problem: Problem, failed: CaseResult, code: str, offset: int) -> list[str]:
    outcome = failed.outcomes[0]
    call, expected = failed.case.call(problem.entry), _short(failed.case.expected)
    if outcome.kind == "value":
        return [f"{_cut(call)} returned {_short(outcome.value)}, expected {expected}."]
    lines = [line - offset for line in outcome.lines if line > offset]
    said = [f"{_cut(call)} raised {_cut(outcome.error)}, expected {expected}."]
    if not lines and outcome.error.startswith("TypeError:"):
        said.append(f"It is called with {len(failed.case.args)} argument(s): {problem.signature}")
    for line in lines[-3:]:
        said += _source_line(code, line)
    return said


def _source_line(code: str, number: int) -> list[str]:
    lines = code.split("\n")
    return [f"  line {number}: {_cut(lines[number - 1].strip())}"] if 0 < number <= len(lines) else []


def _short(value: Any) -> str:
    try:
        return _cut(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits, or a list in lists in lists
        return f"a {type(value).__name__} too large to show"


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else text[:VALUE_CHARACTERS] + "…"


# ---------------------------------------------------------------------- tools


def _code_of(attempt: Attempt, arguments: Mapping[str, Any], *, last: bool) -> str:
    """Return the code a call means: its argument, else the turn's, else (to hand in) what ran last."""
    if "code" in arguments:
        return code_as_given(arguments["code"], attempt.problem.entry, attempt.problem.prefix)
    before = attempt.turn.partition("<tool_call>")[0]
    code = extract_code(before, attempt.problem.entry, attempt.problem.prefix)
    if code is None and last:
        code = attempt.code
    if code is None:
        raise CallRefused("no_code", "no code; write it in a ```python block before the call.")
    return code


def _run(attempt: Attempt, arguments: Mapping[str, Any]) -> ToolOutput:
    if attempt.is_over:
        raise CallRefused("is_over", "code was handed in; nothing more is run.")
    return attempt.run(_code_of(attempt, arguments, last=False))


def _submit(attempt: Attempt, arguments: Mapping[str, Any]) -> ToolOutput:
    if attempt.is_over:
        raise CallRefused("is_over", "code was handed in before; only one hand-in counts.")
    attempt.hand_in(_code_of(attempt, arguments, last=True))
    return ToolOutput("Handed in.")


_CODE = {"properties": {"code": {"type": "string"}}}
TOOLS: tuple[Tool[Attempt], ...] = (
    Tool(
        "RUN",
        "Run code on the visible examples: the argument, or the Python block before the call. Says which "
        "example fails first, what was printed, and where an error came from.",
        _CODE,
        _run,
        ToolTraits(limit=4, leads_to=("SUBMIT",), repeatable=True),  # the code may stand before the call
    ),
    Tool(
        "SUBMIT",
        "Hand in code and end: the argument, the Python block before the call, or else what ran last.",
        _CODE,
        _submit,
    ),
)
