"""Rows of files played through ``gym.make``: what must earn nothing, what must be paid, what is refused."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest

import pixelis  # noqa: F401
from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.problems.problem_rows import MAX_PROMPT_LENGTH
from pixelis.envs.tool_env import MAX_TEXT_LENGTH
from pixelis.errors import DatasetError


@pytest.fixture
def play(tmp_path):
    """Return a function from a row and solutions to the reward of each."""

    def played(row, *solutions):
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps({"split": "train", **row}), encoding="utf-8")
        env = gym.make("Pixelis/CodeProblem-v0", problems=str(path), disable_env_checker=True)
        rewards = []
        for solution in solutions:
            env.reset(seed=0)
            rewards.append(env.step(f"<answer>{solution}</answer>")[1])
        env.close()
        return rewards

    return played


def own(tests, **fields):
    cases = [{"args": [given], "expected": expected} for given, expected in tests]
    return {"statement": "Compute f.", "entry": "f", "tests": cases, **fields}


def mbpp(*tests, code="def f(n):\n    return n"):
    return {"task_id": 1, "text": "Do it.", "code": code, "test_list": list(tests)}


# ---------------------------------------------------------------------- nothing unearned


def test_a_constant_within_the_tolerance_earns_nothing(play):
    near = [(i, 0.5 + i / 100) for i in range(-4, 5)] + [(99, 1.0)]  # 0.5 passes 9 of 10
    absolute = own(near, comparison={"float_tolerance": 0.05})
    assert play(absolute, "def f(x): return 0.5", "def f(x): return 0.5 if x < 99 else 1.0") == [0.0, 1.0]
    share = [(i, float(i)) for i in range(91, 110)] + [(0, 0.0)]  # 100 is a tenth off at most
    relative = own(share, comparison={"relative_tolerance": 0.1})
    assert play(relative, "def f(x): return 100.0", "def f(x): return float(x)") == [0.0, 1.0]


def test_a_constant_between_the_expected_values_earns_nothing(play):
    row = own([(1, 0.4), (2, 0.5), (3, 2.0), (4, 3.0)], comparison={"float_tolerance": 0.05})
    three = "def f(x): return [0.4, 0.5, 2.0, 0.0][x - 1]"  # 3 of 4, a constant 2 of 4: half of the rest
    assert play(row, "def f(x): return 0.45", three) == [0.0, 0.25]


def test_one_tolerance_is_that_of_its_assertion_alone(play):
    row = mbpp("assert abs(f(1) - 0.5) < 0.5", "assert f(2) == 0.25", "assert f(3) == 0.1")
    values = "def f(n): return {{1: {}, 2: {}, 3: 0.1}}[n]"
    wide, at_the_edge, off = values.format(0.9, 0.25), values.format(1.0, 0.25), values.format(0.5, 0.3)
    # f(1) is shown; of f(2) and f(3) a constant is right once, so two of three earn nothing
    assert play(row, "def f(n): return 0.3", wide, at_the_edge, off) == [0.0, 1.0, 0.0, 0.0]


def test_is_true_wants_a_bool(play):
    row = mbpp("assert f(3) is True", "assert f(4) is False", "assert f(5) == 1")
    assert play(row, "def f(n): return n % 2", "def f(n): return n % 2 == 1")[1] == 1.0
    assert play(row, "def f(n): return n % 2")[0] < 0.5


PROMPT = 'def f(x):\n    """Return x squared.\n{}    """\n'
HUMAN_EVAL = {
    "task_id": "H/1",
    "entry_point": "f",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\n"
    "    assert candidate(4) == 16\n    assert candidate(12) == 144\n",
}


@pytest.mark.parametrize(
    "told",
    [
        "    >>> f(2)\n    4\n    >>> f(3)\n    9\n    >>> f(4)\n    16\n",
        "    f(2) == 4, f(3) == 9 and so on: f(4) == 16\n",
        "    f(2) ➞ 4\n    f(3) -> 9\n    f(4) # returns 16\n",
        "    >>> f(2) == 4\n    True\n    * f(3) => 9.\n    * f(\n      4) should be 16\n",
    ],
)
def test_a_table_of_a_docstrings_examples_earns_nothing(play, told):
    row = {**HUMAN_EVAL, "prompt": PROMPT.format(told)}
    table, right = "def f(x): return {2: 4, 3: 9, 4: 16}.get(x)", "def f(x): return x * x"
    assert play(row, table, right) == [0.0, 1.0]


def test_a_call_without_a_value_tells_nothing(play):
    row = {**HUMAN_EVAL, "prompt": PROMPT.format("    For instance f(2), f(3); f(y) is f(-y).\n")}
    # 3 of 4, where a constant is right once: 2/3 of the rest, and half of that
    assert play(row, "def f(x): return {2: 4, 3: 9, 4: 16}.get(x)") == [pytest.approx(1 / 3)]


# ---------------------------------------------------------------------- right solutions are paid

LAZY = "def f(n):\n    for i in range(n):\n        yield i"


def test_what_stands_around_a_call_is_applied_to_its_value(play):
    row = mbpp("assert list(f(3)) == [0, 1, 2]", "assert list(f(2)) == [0, 1]", code=LAZY)
    ranged, listed = "def f(n): return range(n)", "def f(n): return list(range(n))"
    assert play(row, LAZY, ranged, listed, "def f(n): return n") == [1.0, 1.0, 1.0, 0.0]
    row = mbpp("assert sorted(f('ba')) == ['a', 'b']", "assert sorted(f('dc')) == ['c', 'd']")
    assert play(row, "def f(s): return s", "def f(s): return s[:1]") == [1.0, 0.0]
    row = mbpp("assert set(f({'a': 1})) == {'a'}", "assert set(f({'b': 1, 'c': 2})) == {'b', 'c'}")
    assert play(row, "def f(d): return d.keys()", "def f(d): return [*d, *d]") == [1.0, 1.0]
    row = mbpp("assert tuple(sorted(f(2))) == tuple(sorted((3, 2)))", "assert tuple(sorted(f(0))) == (0, 1)")
    assert play(row, "def f(n): return {n + 1, n}", "def f(n): return [n, n]") == [1.0, 0.0]


def test_an_object_gains_nothing_by_what_is_applied_to_it(play):
    row = mbpp("assert list(f(3)) == [0, 1, 2]", "assert list(f(2)) == [0, 1]")
    equal = "class E(list):\n    def __eq__(self, other): return True\ndef f(n): return E()"
    patched = "import builtins\nbuiltins.list = lambda value: E()\n" + equal
    endless = "class E:\n    def __iter__(self): raise SystemExit(0)\ndef f(n): return E()"
    assert play(row, equal, patched, endless) == [0.0, 0.0, 0.0]


# ---------------------------------------------------------------------- refused rows


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (own([(1, 2), (1, 3)]), r"line 1: f\(1\) has two expected values that no answer could meet"),
        (own([(1, 0.4), (1, 0.6)], comparison={"float_tolerance": 0.05}), r"f\(1\) has two expected"),
        (own([(5, 2)], examples=[{"args": [1], "expected": n} for n in (2, 3)]), r"f\(1\) has two expected"),
        (mbpp("assert f(1) == 2", "assert f(1) == 3"), "one call with two values"),
        (own([(1, 2)], entry="\ufb01b"), "line 1: field 'entry' must be the name of a function.*NFKC"),
        (own([(1, 2)], entry="class"), "write no keyword"),
        (own([(1, 2)], statement="A" * 8_000), r"line 1: its prompt .* has 8,\d+ characters, at most 8,000"),
        (own([(1, 2)], examples=[{"args": ["a" * 8_000], "expected": 2}]), "at most 8,000 can be shown"),
    ],
)
def test_rows_that_nobody_could_solve_are_refused(play, row, words):
    with pytest.raises(DatasetError, match=words):
        play(row)


def test_the_longest_prompt_fits_an_observation():
    instructions = [CodeProblemEnv(mode=mode).instructions for mode in ("single", "multi")]
    assert MAX_PROMPT_LENGTH + max(map(len, instructions)) + 1 <= MAX_TEXT_LENGTH


def test_a_test_that_stands_twice_counts_once(play):
    row = own([(1, 2), (1, 2), (1, 2), (2, 4), (3, 6), (4, 8)])
    # 2 of 4 different ones, where a constant is right once: a third of the rest, and half of that
    assert play(row, "def f(x): return {2: 4, 3: 6}.get(x)") == [pytest.approx(1 / 6)]
    near = own([(1, 0.5), (1, 0.52), (2, 3.0)], comparison={"float_tolerance": 0.05})
    assert play(near, "def f(x): return 0.51 if x == 1 else 3.0") == [1.0]  # both can be met
