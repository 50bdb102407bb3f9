"""Whether candidates solve a problem: hidden tests in the caller's hands, candidates in the sandbox.

The sandbox runs each candidate on inputs and returns what it claims; expected values never leave this
process. Some inputs are asked twice, out of order, and both answers must be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from pixelis.envs.coding.answers.comparison import AnswerComparison, compare
from pixelis.envs.coding.answers.extraction import defines
from pixelis.envs.coding.answers.python_source import completed
from pixelis.envs.coding.families import HiddenTests, hidden_tests
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.sandbox import Call, CallResult, Job, JobResult, Limits, Sandbox
from pixelis.envs.coding.verification.script_replay import replay_script
from pixelis.errors import ScriptNeededError

REPEATED = 4
"""One in so many hidden inputs is asked a second time; of fewer, one is."""


@dataclass(frozen=True)
class CaseResult:
    """What became of one test case.

    Attributes:
        case: the test case.
        outcomes: what the candidate claimed, once for each time it was asked.
        rights: whether each of them is the expected value.
    """

    case: TestCase
    outcomes: tuple[CallResult, ...]
    rights: tuple[bool, ...]

    @property
    def passed(self) -> bool:
        """Whether every answer is the expected value."""
        return all(self.rights)

    @property
    def differs(self) -> bool:
        """Whether the same input was answered rightly and, another time, wrongly."""
        return len(set(self.rights)) > 1


@dataclass(frozen=True)
class Verification:
    """The verdict on one candidate.

    Attributes:
        passed: it ran to its end and every claimed output of every test is the expected value.
        share: share of tests passed, 0 to 1; 0 for a run that did not get to its end.
        corrected: what of the share the best constant answer does not earn, max(0, (share - c) / (1 - c)); 0
            where a constant passes every test (c = 1).
        detail: what happened, in words; holds no hidden input and no expected value.
        cases: the result of each test case; empty for a run that did not get to its end.
        result: what the sandbox said.
        line_offset: lines before the candidate's first in the program that ran.
    """

    passed: bool
    share: float
    corrected: float
    detail: str
    cases: tuple[CaseResult, ...] = ()
    result: JobResult = field(default_factory=lambda: JobResult("sandbox_failed"))
    line_offset: int = 0

    @property
    def status(self) -> str:
        """How the run ended, see ``JobResult``; ``finished`` for every candidate that passed."""
        return self.result.status

    @property
    def valid(self) -> bool:
        """False when the sandbox itself failed, which says nothing of the candidate."""
        return self.result.status != "sandbox_failed"

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The cases that did not pass, in the order they were first asked."""
        return tuple(one for one in self.cases if not one.passed)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of the run."""
        return self.result.cpu_seconds

    @property
    def wall_seconds(self) -> float:
        """Time from the run's start to its end."""
        return self.result.wall_seconds


def verify(
    problem: Problem,
    candidates: Sequence[str],
    *,
    sandbox: Sandbox,
    seed: int,
    limits: Limits | None = None,
    replay_scripts: bool = False,
) -> list[Verification]:
    """Return a verdict on each candidate, in their order; all get the same tests, each a process of its own.

    Args:
        problem: what was asked.
        candidates: source texts; or, for a problem with a ``prefix``, what completes it.
        sandbox: where they run.
        seed: the hidden tests of a family's problem are drawn from it; no candidate may know it.
        limits: of one candidate, over all calls; None for those of the sandbox's settings.
        replay_scripts: judge problems whose tests are a script (``needs_script``), too, see `script_replay`:
            two runs for each call that the script makes, and a share of 1 or 0.

    Raises:
        ScriptNeededError: such a problem without ``replay_scripts``, or a script that cannot be run at all.
        TaskError: a problem without tests.
        SandboxJobError: a test's arguments do not travel.
        SandboxUnavailableError: a server that died could not be started again.
    """
    if problem.needs_script and replay_scripts:
        return [_by_script(problem, candidate, sandbox, limits) for candidate in candidates]
    return verify_by(
        problem, judging_tests(problem, seed), candidates, sandbox=sandbox, seed=seed, limits=limits
    )


def judging_tests(problem: Problem, seed: int) -> HiddenTests:
    """Return a problem's hidden tests; raises as `verify` does."""
    if problem.needs_script:
        raise ScriptNeededError(
            f"{problem.id}: expected tests that are calls and values, got a script that does more, which is "
            "not run; leave the row out, write its tests as args and expected values, or call verify with "
            "replay_scripts=True"
        )
    return hidden_tests(problem, seed)


def verify_by(
    problem: Problem,
    tests: HiddenTests,
    candidates: Sequence[str],
    *,
    sandbox: Sandbox,
    seed: int = 0,
    limits: Limits | None = None,
) -> list[Verification]:
    """Do what `verify` does with tests that were drawn before; ``seed`` decides which are asked twice."""
    asked = _asking_order(len(tests.cases), seed)
    calls = tuple(Call(tests.cases[at].args, tests.cases[at].kwargs) for at in asked)
    programs = [whole_program(problem, candidate) for candidate in candidates]
    jobs = [Job(code, problem.entry, calls, limits, problem.around) for code, _ in programs]
    verdicts = []
    for job, result, (_, offset) in zip(jobs, sandbox.run(jobs), programs, strict=True):
        if result.status == "finished":
            verdicts.append(_judge(problem, tests, asked, result, offset))
        else:
            words = _how_it_ended(problem, job, result, offset, sandbox)
            verdicts.append(Verification(False, 0.0, 0.0, words, (), result, offset))
    return verdicts


def run_cases(
    problem: Problem,
    cases: Sequence[TestCase],
    candidate: str,
    *,
    sandbox: Sandbox,
    limits: Limits | None = None,
) -> tuple[JobResult, tuple[CaseResult, ...], int]:
    """Run one candidate on test cases it may know, each once.

    Returns:
        What the sandbox said, a result for each case, and how many lines stand before the candidate's first.
    """
    code, offset = whole_program(problem, candidate)
    calls = tuple(Call(case.args, case.kwargs) for case in cases)
    (result,) = sandbox.run([Job(code, problem.entry, calls, limits, problem.around)])
    asked = range(len(cases)) if result.outcomes else ()
    return result, _case_results(cases, asked, result.outcomes, problem.comparison), offset


def whole_program(problem: Problem, candidate: str) -> tuple[str, int]:
    """Return a candidate as a program, and how many lines stand before its first.

    Code that a problem brings (``prefix``) comes first. A candidate that defines the function asked for
    follows it; any other one goes on where the prefix ends, as completions of HumanEval's prompts do.
    """
    candidate = candidate.removeprefix("\ufeff")  # in the middle of a program it would be a mistake
    if not problem.prefix:
        return candidate, 0
    prefix = problem.prefix if problem.prefix.endswith("\n") else problem.prefix + "\n"
    if defines(candidate, problem.entry):
        prefix = completed(prefix)
    return prefix + candidate, prefix.count("\n")


# ---------------------------------------------------------------------- verdict


def _by_script(problem: Problem, candidate: str, sandbox: Sandbox, limits: Limits | None) -> Verification:
    code, offset = whole_program(problem, candidate)
    passed, words, result = replay_script(problem, code, sandbox=sandbox, limits=limits)
    if result.status != "finished":
        words = _how_it_ended(problem, Job(code, problem.entry, (), limits), result, offset, sandbox)
    return Verification(passed, float(passed), float(passed), words, (), result, offset)


def _asking_order(count: int, seed: int) -> list[int]:
    """Return indices of test cases in the order they are asked: all of them, then some again, shuffled."""
    random = Random(f"asking order/{seed}")
    again = random.sample(range(count), max(1, count // REPEATED))
    order = [*range(count), *again]
    random.shuffle(order)
    return order


def _judge(
    problem: Problem, tests: HiddenTests, asked: Sequence[int], result: JobResult, offset: int
) -> Verification:
    cases = _case_results(tests.cases, asked, result.outcomes, problem.comparison)
    right = sum(one.passed for one in cases)
    share, constant = right / len(cases), tests.constant_share
    corrected = max(0.0, (share - constant) / (1 - constant)) if constant < 1 else 0.0
    detail = f"passed {right} of {len(cases)} hidden tests"
    if any(one.differs for one in cases):
        detail += "; the same input was answered in two ways"
    return Verification(right == len(cases), share, corrected, detail, cases, result, offset)


_BEFORE_ANY_CALL = ("syntax_error", "raised", "no_entry")
_UNQUOTED = {
    "exited": "the code ended its process before the last call had returned",
    "protocol": "the result pipe held something else than results",
}


def _how_it_ended(problem: Problem, job: Job, result: JobResult, offset: int, sandbox: Sandbox) -> str:
    """Return how a run on hidden inputs ended, without anything the code itself said while it knew them.

    A program finds its inputs in the memory of its process before any call, and could put them into its
    error. So its words are taken from a run that is given none.
    """
    if result.status in _BEFORE_ANY_CALL:
        (blind,) = sandbox.run([replace(job, calls=())])
        is_same = blind.status == result.status
        return explain(problem, blind, offset) if is_same else "the code did not get to its first call"
    return _UNQUOTED.get(result.status) or explain(problem, result, offset)


def _case_results(
    cases: Sequence[TestCase],
    asked: Sequence[int],
    outcomes: Sequence[CallResult],
    comparison: AnswerComparison,
) -> tuple[CaseResult, ...]:
    answers: dict[int, list[CallResult]] = {}
    for at, outcome in zip(asked, outcomes, strict=True):
        answers.setdefault(at, []).append(outcome)
    return tuple(
        CaseResult(cases[at], tuple(given), tuple(_is_right(cases[at], one, comparison) for one in given))
        for at, given in answers.items()
    )


def _is_right(case: TestCase, outcome: CallResult, comparison: AnswerComparison) -> bool:
    return outcome.kind == "value" and compare(case.expected, outcome.value, case.comparison or comparison)


def explain(problem: Problem, result: JobResult, offset: int = 0) -> str:
    """Return how a run ended, in words for whoever wrote the candidate; empty if it got to its end."""
    match result.status:
        case "finished":
            return ""
        case "syntax_error":
            message = result.detail.partition(": ")[2] if result.line else result.detail
            where = f" in line {result.line - offset}" if result.line > offset else ""
            return f"the code has an error{where}: {message}"
        case "no_entry":
            return _no_entry(problem, result.names)
        case "raised":
            where = f" in line {result.line - offset}" if result.line > offset else ""
            return f"the code raised{where}, before any call: {result.detail}"
        case "sandbox_failed":
            return f"the sandbox failed, which is no fault of the code: {result.detail}"
        case "exited":
            return f"the code ended its process before the last call had returned ({result.detail})"
        case _:
            return f"the code {result.detail}" if result.detail else f"the run ended with {result.status}"


def _no_entry(problem: Problem, names: Sequence[str]) -> str:
    missing = f"there is no function {problem.entry!r}"
    if not names:
        return f"{missing}; define it: {problem.signature}"
    return f"{missing}, only {', '.join(names[:5])}; call it {problem.entry!r}: {problem.signature}"
