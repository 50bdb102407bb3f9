"""Every family: its solutions agree, its mistakes fail, and what it draws is said, disjoint and repeatable.

Solutions here are a family's own trusted texts, run in this process. benchmarks/quality/problem_families.py
does the same for 200 seeds.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.answers.comparison import compare
from pixelis.envs.coding.families import (
    FAMILIES,
    HiddenTests,
    draw_problem,
    families_at,
    family_of,
    hidden_tests,
)
from pixelis.envs.coding.families.family import HIDDEN_TESTS, rule_split
from pixelis.envs.coding.families.registry import DIFFICULTIES
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.problems.trusted import trusted_function
from pixelis.errors import ConfigError, DifficultyError, SplitError, TaskError

SEEDS = 5
EVERY = [(name, difficulty) for name, family in FAMILIES.items() for difficulty in family.difficulties]
PLAIN = (bool, int, float, str, type(None), list, tuple, dict, set)


def draw(name, difficulty, seed, split="train"):
    return FAMILIES[name].draw(np.random.default_rng(seed), difficulty, split)


def passed(source, problem, cases):
    function = trusted_function(source, problem.entry)
    try:
        return sum(compare(case.expected, function(*case.args), problem.comparison) for case in cases)
    except Exception:
        return -1


def test_there_are_at_least_25_families_and_each_difficulty_has_three():
    assert len(FAMILIES) >= 25
    assert all(len(families_at(difficulty)) >= 3 for difficulty in DIFFICULTIES)
    assert 3 in FAMILIES["fizzbuzz"].difficulties and 7 in FAMILIES["brackets"].difficulties


@pytest.mark.parametrize(("name", "difficulty"), EVERY)
def test_right_solutions_pass_and_wrong_ones_fail(name, difficulty):
    family = FAMILIES[name]
    assert len(family.mistakes) >= 3
    for seed in range(SEEDS):
        problem = draw(name, difficulty, seed, "test" if seed == 0 else "train")
        tests = hidden_tests(problem, seed)
        assert passed(family.reference(problem), problem, tests.cases) == len(tests.cases)
        assert passed(family.brute_force(problem), problem, tests.cases) == len(tests.cases)
        assert passed(family.brute_force(problem), problem, problem.examples) == len(problem.examples)
        for wrong, source in family.wrong(problem).items():
            assert passed(source, problem, tests.cases) < len(tests.cases), wrong


@pytest.mark.parametrize(("name", "difficulty"), EVERY)
def test_hidden_tests_are_fresh_distinct_repeatable_and_no_constant_carries_them(name, difficulty):
    problem = draw(name, difficulty, 7)
    tests = hidden_tests(problem, 1)
    calls = [case.call("f") for case in tests.cases]
    assert len(calls) == len(set(calls)) >= 12
    assert not set(calls) & {case.call("f") for case in problem.examples}
    assert hidden_tests(problem, 1) == tests != hidden_tests(problem, 2)
    constant = sum(compare(case.expected, tests.constant, problem.comparison) for case in tests.cases)
    assert tests.constant_share == constant / len(tests.cases) <= 0.5
    assert {type(case.expected) for case in tests.cases} <= set(PLAIN)


@pytest.mark.parametrize(("name", "difficulty"), EVERY)
def test_the_statement_says_all_that_was_drawn(name, difficulty):
    """Two problems that are worded alike are the same problem: each wording is a function one to one."""
    said: dict[str, str] = {}
    family = FAMILIES[name]
    for seed in range(40):
        problem = draw(name, difficulty, seed)
        wordings = family.wordings(problem.rule)
        assert len(set(wordings)) == len(wordings) >= 3
        assert problem.statement in wordings
        for statement in wordings:
            assert said.setdefault(statement, json.dumps(problem.rule)) == json.dumps(problem.rule)
    assert len(set(said.values())) >= 10


@pytest.mark.parametrize(("name", "difficulty"), EVERY)
def test_problems_survive_json_and_their_hidden_tests_with_them(name, difficulty):
    problem = draw(name, difficulty, 3, "test")
    stored = Problem.from_json(json.loads(json.dumps(problem.to_json())))
    assert stored == problem
    assert hidden_tests(stored, 5) == hidden_tests(problem, 5)
    assert len(problem.examples) == 3
    assert problem.signature in problem.prompt and problem.examples[0].call(problem.entry) in problem.prompt


@pytest.mark.parametrize("name", FAMILIES)
def test_a_rule_is_in_one_split_only(name):
    difficulty = FAMILIES[name].difficulties[0]
    for split in ("train", "test"):
        rules = [draw(name, difficulty, seed, split).rule for seed in range(10)]
        assert {rule_split(name, rule) for rule in rules} == {split}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_texts_compile_and_name_one_function(name):
    problem = draw(name, FAMILIES[name].difficulties[-1], 11)
    for source in [FAMILIES[name].reference(problem), *FAMILIES[name].wrong(problem).values()]:
        assert f"def {problem.entry}({', '.join(name for name, _ in problem.parameters)}):" in source
        assert "solve" not in source


def test_solutions_leave_their_arguments_alone():
    for name, difficulty in EVERY:
        problem = draw(name, difficulty, 2)
        namespace: dict = {}
        exec(FAMILIES[name].reference(problem), namespace)
        for case in problem.examples:
            before = repr(case.args)
            namespace[problem.entry](*case.args)
            assert repr(case.args) == before, name


@given(st.integers(0, 2**32), st.sampled_from(EVERY), st.sampled_from(["train", "test"]))
def test_drawing_depends_on_the_generator_alone(seed, which, split):
    name, difficulty = which
    one, other = draw(name, difficulty, seed, split), draw(name, difficulty, seed, split)
    assert one == other and one.id == other.id
    assert (one.family, one.difficulty, one.split) == (name, difficulty, split)
    assert all(compare(case.expected, case.expected, one.comparison) for case in one.examples)


def test_fizzbuzz_by_hand():
    problem = Problem("x", "fizzbuzz", 3, "train", "…", "f", rule={"RULES": [[2, "Hop"], [3, "Zap"]]})
    solve = trusted_function(FAMILIES["fizzbuzz"].reference(problem), "f")
    assert solve(6) == ["1", "Hop", "Zap", "Hop", "5", "HopZap"]


def test_the_best_constant_by_hand():
    cases = [TestCase((n,), n % 3 == 0) for n in range(10)]  # 0, 3, 6, 9 are True
    tests = HiddenTests.of(cases, draw("brackets", 7, 0).comparison)
    assert (tests.constant, tests.constant_share) == (False, 0.6)
    with pytest.raises(TaskError, match="at least one test case"):
        HiddenTests.of([], draw("brackets", 7, 0).comparison)


def test_drawing_over_all_families():
    rng = np.random.default_rng(0)
    drawn = {draw_problem(rng, 3).family for _ in range(60)}
    assert drawn == set(families_at(3))
    assert draw_problem(rng, 3, "test", names=["fizzbuzz"]).family == "fizzbuzz"


def test_counts_of_hidden_tests():
    problem = draw("ciphers", 2, 0)
    assert len(hidden_tests(problem, 0).cases) == HIDDEN_TESTS
    assert len(hidden_tests(problem, 0, 30).cases) == 30
    assert len(hidden_tests(problem, 0, 1).cases) == 5  # the edges


def test_bad_calls():
    rng = np.random.default_rng(0)
    with pytest.raises(DifficultyError, match="from 3 to 4"):
        FAMILIES["fizzbuzz"].draw(rng, 9)
    with pytest.raises(SplitError):
        FAMILIES["fizzbuzz"].draw(rng, 3, "validation")
    with pytest.raises(ConfigError, match="Did you mean 'fizzbuzz'"):
        draw_problem(rng, 3, names=["fizbuzz"])
    with pytest.raises(DifficultyError, match=r"choose one of \[3, 4\]"):
        draw_problem(rng, 9, names=["fizzbuzz"])
    with pytest.raises(TaskError, match="there is no family"):
        family_of(Problem("x", "own", 0, "train", "…", "f"))
