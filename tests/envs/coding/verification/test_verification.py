"""Verdicts worked out by hand: what passes, what a share is worth, and whose fault a failure is."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.coding.answers.comparison import AnswerComparison
from pixelis.envs.coding.families import FAMILIES, HiddenTests, draw_problem
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.problems.problem_rows import row_of
from pixelis.envs.coding.sandbox import Limits, Sandbox
from pixelis.envs.coding.verification.verification import (
    judging_tests,
    run_cases,
    verify,
    verify_by,
    whole_program,
)
from pixelis.errors import SandboxJobError, ScriptNeededError, TaskError

QUICK = Limits(wall_seconds=60.0, cpu_seconds=1.0)  # a busy machine gives little of its time


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


def problem_of(cases, entry="f", **fields):
    return Problem(
        "p", "own", 0, "train", "Do it.", entry, (("x", "int"),), "int", tests=tuple(cases), **fields
    )


DOUBLE = problem_of(TestCase((x,), 2 * x) for x in (0, 1, 2, 3, 4, 5, 6, 7))


def one(sandbox, code, problem=DOUBLE, seed=0, limits=QUICK):
    (result,) = verify(problem, [code], sandbox=sandbox, seed=seed, limits=limits)
    return result


# ---------------------------------------------------------------------- shares


def test_a_right_program_passes(sandbox):
    result = one(sandbox, "def f(x):\n    print('thinking', x)\n    return x + x")
    assert result.passed and result.share == result.corrected == 1.0 and result.status == "finished"
    assert result.detail == "passed 8 of 8 hidden tests" and not result.failed
    assert (
        len(result.cases) == 8 and sum(len(case.outcomes) for case in result.cases) == 10
    )  # two asked twice
    assert result.cpu_seconds > 0 and result.wall_seconds > 0


def test_a_share_is_corrected_by_the_best_constant(sandbox):
    cases = [TestCase((x,), expected) for x, expected in enumerate([1, 1, 1, 1, 0, 2, 3, 4])]  # c = 4 / 8
    problem = problem_of(cases)
    constant = one(sandbox, "def f(x): return 1", problem)
    assert (constant.share, constant.corrected, constant.passed) == (0.5, 0.0, False)
    better = one(sandbox, "def f(x): return [1, 1, 1, 1, 0, 2, 9, 9][x]", problem)
    assert (better.share, better.corrected) == (0.75, 0.5)  # (0.75 - 0.5) / 0.5
    worse = one(sandbox, "def f(x): return 0", problem)
    assert (worse.share, worse.corrected) == (0.125, 0.0)
    assert {case.case.args for case in better.failed} == {(6,), (7,)}


def test_where_a_constant_passes_everything_there_is_no_partial_credit(sandbox):
    problem = problem_of([TestCase((1,), 5), TestCase((2,), 5)])
    assert one(sandbox, "def f(x): return 5", problem).passed
    half = one(sandbox, "def f(x): return 4 + x", problem)
    assert (half.share, half.corrected, half.passed) == (0.5, 0.0, False)


def test_types_are_exact_and_leeway_is_declared(sandbox):
    assert not one(sandbox, "def f(x): return float(2 * x)").passed
    assert not one(
        sandbox, "class I(int):\n    def __eq__(self, o): return True\ndef f(x): return I(7)"
    ).passed
    loose = problem_of(
        [TestCase((2,), 1.41), TestCase((0,), 0.0)], comparison=AnswerComparison(float_tolerance=0.01)
    )
    assert one(sandbox, "def f(x): return x ** 0.5", loose).passed
    nan = problem_of([TestCase((1,), float("nan")), TestCase((2,), float("inf"))])
    assert one(sandbox, "def f(x): return float('nan') if x == 1 else float('inf')", nan).passed


@pytest.mark.parametrize(
    "code",
    [
        "import random\ndef f(x): return 2 * x + random.randrange(10**9)",
        "seen = set()\ndef f(x):\n    if x in seen: return None\n    seen.add(x)\n    return 2 * x",
        "count = 0\ndef f(x):\n    global count\n    count += 1\n    return 2 * x if count < 9 else None",
    ],
)
def test_the_second_answer_must_be_right_too(sandbox, code):
    assert not any(one(sandbox, code, seed=seed).passed for seed in range(6))


def test_the_tests_are_asked_in_an_order_that_the_seed_decides(sandbox):
    orders = [
        [case.case.args[0] for case in one(sandbox, "def f(x): return 2 * x", seed=seed).cases]
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert all(order != sorted(order) == list(range(8)) for order in orders)


def test_answers_that_differ_are_told(sandbox):
    result = one(
        sandbox, "seen = set()\ndef f(x):\n    if x in seen: return None\n    seen.add(x)\n    return 2 * x"
    )
    assert result.share == 6 / 8 and sum(case.differs for case in result.cases) == 2
    assert result.detail.endswith("; the same input was answered in two ways")


# ---------------------------------------------------------------------- the run's end


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("def f(x)\n    return 1", "syntax_error", "error in line 1"),
        ("def f(x): return 2 * x\n\0", "syntax_error", "null bytes"),
        ("x = '\ud800'\ndef f(x): return 2 * x", "syntax_error", "surrogates"),
        ("def g(x): return 2 * x", "no_entry", "only g; call it 'f': def f(x: int) -> int:"),
        ("", "no_entry", "there is no function 'f'; define it: def f(x: int) -> int:"),
        (
            "a = 1\nb = a / 0\ndef f(x): return 2 * x",
            "raised",
            "raised in line 2, before any call: ZeroDivision",
        ),
        ("import sys\ndef f(x): return 2 * x\nsys.exit(0)", "exited", "ended its process"),
        ("import os\ndef f(x): os._exit(0)", "exited", "ended its process"),
        ("def f(x):\n    while True: pass", "cpu_limit", "used 1 s of processor time"),
        ("def f(x): return 'x' * 10 ** 10", "memory_limit", "needed more than"),
        ("import os\ndef f(x):\n    os.write(3, b'PASSED')\n    return 2 * x", "protocol", "held"),
        ("import ctypes\ndef f(x): return ctypes.string_at(0)", "killed", "signal"),
    ],
)
def test_a_run_that_does_not_end_by_itself_passes_nothing(sandbox, code, status, words):
    result = one(sandbox, code)
    assert (result.status, result.passed, result.share, result.corrected) == (status, False, 0.0, 0.0)
    assert words in result.detail and result.valid and not result.cases


def test_a_run_that_waits_for_ever_passes_nothing(sandbox):
    limits = Limits(wall_seconds=0.5, cpu_seconds=1.0)
    result = one(sandbox, "import time\ndef f(x): time.sleep(600)", limits=limits)
    assert (result.status, result.share, result.valid) == ("timeout", 0.0, True)
    assert "ran for 0.5 s of wall time" in result.detail and not result.cases


FINDS_ITS_INPUTS = """
import os, sys
frame = sys._getframe()
while 'job' not in frame.f_locals: frame = frame.f_back
found = repr(frame.f_locals['job']['calls'])
"""


@pytest.mark.parametrize(
    ("says", "status"),
    [
        ("raise ValueError(found)", "raised"),
        ("raise type('E_' + found, (Exception,), {})", "raised"),
        ("raise SystemExit(found)", "exited"),
        ("raise MemoryError(found)", "memory_limit"),
        ("globals()['known_' + found[3:9]] = print", "no_entry"),
        ('os.write(3, b\'{"t":["syntax",1,"%s"]}\\n\' % found.encode()); os._exit(0)', "syntax_error"),
        ("os.write(3, b'{\"%s\":1}\\n' % found[3:9].encode()); os._exit(0)", "protocol"),
        ("if '918273' in found: raise ValueError(found)\ndef f(x): return 2 * x", "raised"),
    ],
)
def test_no_hidden_input_is_told_by_a_program_that_looked_them_up(sandbox, says, status):
    problem = problem_of([TestCase((918273,), 1836546), TestCase((918273, 918273), 2)])
    result = one(sandbox, FINDS_ITS_INPUTS + says, problem)
    assert result.status == status and result.detail
    assert "918" not in result.detail and "273" not in result.detail and not result.passed


@pytest.mark.parametrize(
    "code",
    [
        "def f(x, y): return 2 * x",
        "def f(x): raise SystemExit(0)",
        "def f(x): return f(x)",
        "def f(x): return object()",
        "def f(x):\n    a = []\n    a.append(a)\n    return a",
        "def f(x): return 10 ** 100_000",
        "f = 3 .__class__.__name__.join",
        "def f(x): yield 2 * x",
        "from unittest.mock import ANY\ndef f(x): return ANY",
    ],
)
def test_odd_values_are_wrong_answers(sandbox, code):
    result = one(sandbox, code)
    assert result.status == "finished" and not result.passed and result.corrected == 0.0


def test_a_megabyte_of_source_is_a_candidate_like_another(sandbox):
    long = one(sandbox, "def f(x):\n    return 2 * x\n" + "# more\n" * 150_000)
    assert long.passed
    assert not one(sandbox, "x" * 1_000_000).passed
    assert one(sandbox, "(" * 1_000_000).status in ("syntax_error", "memory_limit")


def test_a_batch_keeps_its_order_and_members_do_not_meet(sandbox):
    poison = (
        "import builtins, sys\nbuiltins.ANSWER = True\nsys.modules['solution'] = None\ndef f(x): return 2 * x"
    )
    needy = "import builtins\ndef f(x): return 2 * x if hasattr(builtins, 'ANSWER') else None"
    wrong, right = "def f(x): return 3 * x", "def f(x): return 2 * x"
    results = verify(DOUBLE, [poison, needy, wrong, right, "("], sandbox=sandbox, seed=3)
    assert [result.passed for result in results] == [True, False, False, True, False]
    assert verify(DOUBLE, [], sandbox=sandbox, seed=3) == []


# ---------------------------------------------------------------------- problems


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_tells_right_from_wrong(sandbox, name):
    family = FAMILIES[name]
    problem = family.draw(np.random.default_rng(6), family.difficulties[-1], "test")
    wrong = list(family.wrong(problem).values())
    programs = [
        family.reference(problem),
        family.brute_force(problem),
        *wrong,
        f"def {problem.entry}(*a): pass",
    ]
    passed = [result.passed for result in verify(problem, programs, sandbox=sandbox, seed=11)]
    assert passed == [True, True, *[False] * (len(wrong) + 1)]


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(0, 2**53))
def test_the_best_constant_earns_nothing_and_the_examples_are_not_enough(draw, difficulty, seed):
    problem = draw_problem(np.random.default_rng(draw), difficulty)
    tests = judging_tests(problem, seed)
    table = [(case.args, case.expected) for case in problem.examples]
    codes = [
        f"def {problem.entry}(*args): return {tests.constant!r}",
        f"def {problem.entry}(*a):\n  for k, v in {table!r}:\n    if k == a: return v\n"
        f"  return {tests.constant!r}",
    ]
    with Sandbox() as own:
        for result in verify(problem, codes, sandbox=own, seed=seed):
            assert not result.passed and result.corrected == 0.0
            assert result.share == pytest.approx(tests.constant_share)


def test_the_seed_decides_the_tests_and_nothing_else_does():
    problem = draw_problem(np.random.default_rng(0), 3)
    inputs = [tuple(case.args for case in judging_tests(problem, seed).cases) for seed in (1, 1, 2)]
    assert inputs[0] == inputs[1] != inputs[2]


PROMPT = '''from typing import List


def total(xs: List[int]) -> int:
    """Sum.
    >>> total([1])
    1
    """
'''
CHECK = """def check(candidate):
    assert candidate([1, 2]) == 3
    assert candidate([]) == 0
"""


def test_humaneval_completions_and_whole_functions(sandbox):
    fields = {"task_id": "T/0", "prompt": PROMPT, "entry_point": "total", "test": CHECK}
    row = row_of({**fields, "canonical_solution": "    return sum(xs)\n"})
    candidates = [
        "    return sum(xs)\n",
        "def total(xs: List[int]) -> int:\n    return sum(xs)\n",
        row.solution,
        "    pass\n",
        "def total(xs):\n    return 0",
        "    return sum(xs) / 0",
    ]
    results = verify(row.problem, candidates, sandbox=sandbox, seed=0)
    assert [result.passed for result in results] == [True, True, True, False, False, False]
    _, cases, offset = run_cases(row.problem, row.problem.tests, candidates[-1], sandbox=sandbox)
    assert offset == 8 and [line - offset for line in cases[0].outcomes[0].lines] == [1]


def test_a_prefix_without_docstring_is_closed():
    problem = problem_of([TestCase((1,), 2)], prefix="import math\ndef f(x):")
    code, offset = whole_program(problem, "def f(x):\n    return 2 * x")
    assert code.startswith("import math\ndef f(x):\n    pass\ndef f") and offset == 3
    assert whole_program(problem, "    return 2 * x") == ("import math\ndef f(x):\n    return 2 * x", 2)
    helper = problem_of([TestCase((1,), 2)], prefix="LIMIT = 3")
    assert whole_program(helper, "def f(x): return LIMIT") == ("LIMIT = 3\ndef f(x): return LIMIT", 1)


@pytest.mark.parametrize("margin", ["\t", "  ", "   "])
def test_a_prefix_may_be_indented_as_it_likes(margin, sandbox):
    asked = f"def twice(n):\n{margin}'''Return n doubled.'''\n"
    row = row_of(
        {
            "prompt": asked,
            "entry_point": "twice",
            "canonical_solution": f"{margin}if n:\n{margin * 2}return 2 * n\n{margin}return 0\n",
            "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n",
        }
    )
    candidates = [row.solution, row.solution.removeprefix(asked), "def twice(n):\n    return n + n"]
    assert [one.passed for one in verify(row.problem, candidates, sandbox=sandbox, seed=0)] == [True] * 3
    open_loop = problem_of([TestCase((1,), 2)], prefix=f"def f(x):\n{margin}for i in x:\n{margin * 2}# look")
    compile(whole_program(open_loop, "def f(x): return 2 * x")[0], "x", "exec")


def test_a_script_is_never_run_and_no_tests_are_no_pass(sandbox):
    row = row_of(
        {
            "prompt": "def f(x):\n    '''Sorts.'''\n",
            "entry_point": "f",
            "test": "def check(candidate):\n    for x in range(3):\n        assert candidate([x]) == [x]\n",
        }
    )
    assert row.problem.needs_script
    with pytest.raises(ScriptNeededError, match="not run"):
        verify(row.problem, ["    return x"], sandbox=sandbox, seed=0)
    with pytest.raises(TaskError, match="at least one test case"):
        verify(problem_of([]), ["def f(x): return 1"], sandbox=sandbox, seed=0)


def test_arguments_that_do_not_travel_are_the_callers_mistake(sandbox):
    problem = problem_of([TestCase((object(),), 1)])
    with pytest.raises(SandboxJobError, match="cannot be sent"):
        verify(problem, ["def f(x): return 1"], sandbox=sandbox, seed=0)


def test_tests_drawn_before_are_used(sandbox):
    tests = HiddenTests.of([TestCase((5,), 25)], DOUBLE.comparison)
    (result,) = verify_by(DOUBLE, tests, ["def f(x): return x * x"], sandbox=sandbox)
    assert result.passed and len(result.cases) == 1 and len(result.cases[0].outcomes) == 2


# ---------------------------------------------------------------------- infrastructure


def test_a_killed_server_is_no_verdict():
    with Sandbox() as sandbox:
        server = sandbox._server.process.pid
        children = Path(f"/proc/{server}/task/{server}/children")

        def kill():
            while not children.read_text():
                time.sleep(0.01)
            os.kill(server, signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        slow, right = "import time\ndef f(x): time.sleep(20)", "def f(x): return 2 * x"
        results = verify(DOUBLE, [slow, right], sandbox=sandbox, seed=0, limits=Limits(wall_seconds=30))
        thread.join()
        assert [result.valid for result in results] == [False, True]
        assert results[0].status == "sandbox_failed" and not results[0].passed and results[0].share == 0.0
        assert results[1].passed and sandbox.restarts == 1
