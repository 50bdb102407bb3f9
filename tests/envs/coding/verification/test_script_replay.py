"""Test scripts in a process of their own: right and wrong programs, and programs that would talk to them."""

from __future__ import annotations

import pytest

from pixelis.envs.coding.problems.problem_rows import row_of
from pixelis.envs.coding.sandbox import Limits, Sandbox
from pixelis.envs.coding.verification.script_replay import MOST_CALLS
from pixelis.envs.coding.verification.verification import verify
from pixelis.errors import ScriptNeededError

PROMPT = "def turned(s):\n    return s[1:] + s[:1]\n\n\ndef turned_back(s):\n    '''Undo turned.'''\n"
CHECK = """
import random
def check(candidate):
    for _ in range(5):
        word = "".join(random.choice("abc") for _ in range(6))
        assert candidate(turned(word)) == word
    assert candidate("") == "", "empty"
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


def verdicts(sandbox, candidates, check=CHECK, prompt=PROMPT, entry="turned_back"):
    row = row_of({"prompt": prompt, "entry_point": entry, "test": check})
    assert row.problem.needs_script
    return verify(
        *(row.problem, candidates), sandbox=sandbox, seed=0, limits=Limits(60.0, 1.0), replay_scripts=True
    )


def test_right_and_wrong_programs(sandbox):
    right, whole, body_of_pass, half, failing = verdicts(
        sandbox,
        [
            "    return s[-1:] + s[:-1]\n",
            "def turned_back(s):\n    return s[-1:] + s[:-1]",
            "    pass\n",
            "    return s[-1:] + s[:-1] if s else None\n",
            "    return s[-1] + s[:-1]\n",
        ],
    )
    assert right.passed and whole.passed and right.share == right.corrected == 1.0
    assert right.detail == "passed the test script" and right.status == "finished" and right.cpu_seconds > 0
    for wrong in (body_of_pass, half, failing):
        assert not wrong.passed and wrong.share == wrong.corrected == 0.0 and wrong.valid
    assert body_of_pass.detail == half.detail == "an assertion does not hold"
    assert failing.detail == "the candidate raised IndexError"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (
            "class Same(str):\n    def __eq__(self, o): return True\ndef turned_back(s): return Same()",
            "finished",
        ),
        (
            "import builtins\nbuiltins.AssertionError = RuntimeError\ndef turned_back(s): return ''",
            "finished",
        ),
        ("def check(candidate): pass\ndef turned(s): return s\ndef turned_back(s): return s", "finished"),
        ("import os\ndef turned_back(s): os._exit(0)", "exited"),
        (
            'import os\ndef turned_back(s):\n    os.write(3, b\'{"t":["passed"]}\\n\')\n    return s',
            "protocol",
        ),
        ("def turned_back(s):\n    while True: pass", "cpu_limit"),
        ("def turned_back(s", "syntax_error"),
        ("count = 0\ndef turned_back(s):\n    global count\n    count += 1\n    return 'passed'", "finished"),
    ],
)
def test_no_program_talks_the_script_into_a_pass(sandbox, code, status):
    (result,) = verdicts(sandbox, [code])
    assert (result.passed, result.status, result.share) == (False, status, 0.0) and result.detail


def test_answers_that_change_are_found(sandbox):
    code = "import random\ndef turned_back(s): return s[-1:] + s[:-1] + ' ' * (random.random() < 0.7)"
    assert not verdicts(sandbox, [code])[0].passed
    check = "def check(candidate):\n    for _ in range(4):\n        assert isinstance(candidate(''), str)\n"
    (result,) = verdicts(sandbox, ["import random\ndef turned_back(s): return str(random.random())"], check)
    assert not result.passed and result.detail == "the same input was answered in two ways"


@pytest.mark.parametrize(
    "check",
    [
        "def check(candidate):\n    for _ in range(3): pass\n",
        "import no_such_module\ndef check(candidate):\n    for x in [1]: assert candidate(x)\n",
        "def check(candidate):\n    for x in [1:\n",
        "def check(candidate):\n    while True: pass\n",
    ],
)
def test_a_script_that_asks_nothing_is_refused(sandbox, check):
    with pytest.raises(ScriptNeededError, match="does not get so far"):
        verdicts(sandbox, ["    return s"], check)


def test_a_script_without_end_is_no_pass(sandbox):
    assert MOST_CALLS == 1_000
    check = "def check(candidate):\n    assert candidate('ab') == 'ba'\n    while True: pass\n"
    (result,) = verdicts(sandbox, ["    return s[-1:] + s[:-1]"], check)
    assert not result.passed and "did not take the answers" in result.detail
