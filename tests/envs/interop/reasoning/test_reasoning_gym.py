"""Questions of reasoning-gym: by its own scorers, in splits that never meet, exploits worth nothing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs import check_env
from pixelis.envs.interop.reasoning.env import ReasoningGymEnv
from pixelis.envs.interop.reasoning.grading import may_be_scored, worth
from pixelis.envs.interop.reasoning.library import DATASETS
from pixelis.envs.interop.reasoning.numeric import may_be_integral
from pixelis.envs.interop.reasoning.tasks import LEFT_OUT, question_of, task_names
from pixelis.envs.tasks import Task
from pixelis.errors import ConfigError, DifficultyError

SLOW = ("arc_agi", "codeio", "figlet_font", "group_anagrams", "jugs", "knight_swap", "sokoban", "word_ladder")
"""Whose questions take a tenth of a second and more to make."""
NO_ANSWER_TOLD = ("boxnet", "rush_hour")


def made(task: Any, **keywords: Any) -> ReasoningGymEnv:
    return gym.make("Pixelis/ReasoningGym-v0", task=task, **keywords).unwrapped  # type: ignore[return-value]


def paid(env: ReasoningGymEnv, action: str, seed: int = 0) -> tuple[float, bool]:
    env.reset(seed=seed)
    _, reward, terminated, _, info = env.step(action)
    assert terminated
    return reward, info["success"]


def test_a_sum_by_hand():
    env = made("chain_sum")
    text = env.reset(seed=1)[0]["text"]
    assert text == (
        "State the final answer to the following arithmetic problem: 5 + 4 =\n"
        "Give the final answer as <answer>…</answer>."
    )
    for said, success in (
        ("9", True), (" 9\n", True), ("It is <answer> 9 </answer>.", True),
        ("<answer>8</answer><answer>9", True), ("<answer>9</answer><answer>8</answer>", False),
        ("10", False), ("", False), ("<answer></answer>", False),
    ):  # fmt: skip
        assert paid(env, said, seed=1) == (float(success), success), said


def test_partial_scores_are_paid_where_they_are_wanted():
    env = made("countdown", partial=True)
    assert paid(env, "1", seed=0) == (0.05, False)  # what reasoning-gym gives for any expression
    assert paid(made("countdown"), "1", seed=0) == (0.0, False)


def test_every_task_is_solved_by_its_answer_at_its_lowest_level():
    names = [name for name in task_names() if name not in SLOW]
    assert len(names) > 90
    for name in names:
        env = made(name)
        env.reset(seed=3)
        assert env.task is not None
        *_, info = env.step(f"<answer>{env.task.answer}</answer>")
        assert info["success"] is (name not in NO_ANSWER_TOLD), name


def test_the_splits_never_meet_and_a_level_changes_the_questions():
    env = made(["leg_counting", "chain_sum"])
    seen = {
        split: {env.reset(seed=seed, options={"split": split})[0]["text"] for seed in range(150)}
        for split in ("train", "test")
    }
    assert not seen["train"] & seen["test"] and min(map(len, seen.values())) > 40
    assert len({env.reset(seed=seed)[1]["task"]["id"].split("-")[0] for seed in range(20)}) == 2
    answers = {}
    for level in (0, 5):
        sums = made("chain_sum", difficulty=level)
        for seed in range(20):
            sums.reset(seed=seed)
            answers.setdefault(level, []).append(abs(int(sums.task.answer)))  # type: ignore[union-attr]
    assert max(answers[0]) < 40 and max(answers[5]) > 10_000
    given = made("chain_sum", config={"min_terms": 6, "max_terms": 6}).reset(seed=0)[0]["text"]
    assert given.count("+") + given.count("-") >= 5


def test_a_question_is_made_anew_from_its_task_alone():
    env = made("maze")
    env.reset(seed=5)
    task = env.task
    assert task is not None and question_of(task)[1] == env.workspace[1]
    other = made("maze")
    observation, _ = other.reset(options={"task": task.to_json()})
    assert observation["text"].startswith(task.question) and other.step(task.answer)[1] == 1.0


def test_nobody_s_generators_are_touched():
    made("pool_matrix").reset(seed=0)
    kept = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[union-attr]
    made("pool_matrix").reset(seed=1)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == kept  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("task", "exploit"),
    [
        ("string_insertion", "oracle_answer"),
        ("string_insertion", "entry['answer']"),
        ("n_queens", "valid_solutions[0]"),
        ("n_queens", "entry['metadata']['solutions'][0]"),
        ("simple_integration", "Integral(1, x)"),
        ("countdown", "9**9**9**9**9"),
        ("countdown", "3" * 5000),
        ("countdown", "(" * 900 + "1" + ")" * 900),
        ("countdown", "9999999999!"),
    ],
)
def test_what_a_scorer_would_run_is_worth_nothing(task: str, exploit: str):
    assert paid(made(task, partial=True), f"<answer>{exploit}</answer>") == (0.0, False)


@pytest.mark.parametrize(
    "task", ["string_insertion", "spiral_matrix", "countdown", "intermediate_integration"]
)
def test_nothing_a_policy_says_is_executed(task: str, tmp_path: Path):
    touched = tmp_path / "touched"
    for said in (
        f"open({str(touched)!r}, 'w')", f"[open({str(touched)!r}, 'w')]",
        f"__import__('pathlib').Path({str(touched)!r}).touch()", f"exec('open({str(touched)!r}, \"w\")')",
    ):  # fmt: skip
        assert paid(made(task, partial=True), said) == (0.0, False)
    assert not touched.exists()


def test_scorers_that_run_answers_are_found_in_their_source():
    kinds = {name: kind for name, (kind, _) in DATASETS.items()}
    found = {name for name, kind in kinds.items() if name != "composite" and not may_be_scored(kind, "f(1)")}
    assert found == {
        "basic_arithmetic", "binary_matrix", "bitwise_arithmetic", "countdown", "intermediate_integration",
        "n_queens", "number_sorting", "polynomial_multiplication", "propositional_logic", "puzzle24",
        "simple_integration", "spiral_matrix", "string_insertion",
    }  # fmt: skip
    assert may_be_scored(kinds["string_insertion"], "ABCDE") and may_be_scored(kinds["n_queens"], "_ Q _ _")
    assert may_be_scored(kinds["countdown"], "(3 + 4) * 5 - 2**3 / 7")
    assert may_be_scored(kinds["polynomial_multiplication"], "-12*x**9 + 3*x*y - 7")


def test_scorers_that_are_too_kind_are_asked_only_for_answers():
    env = made("game_of_life_halting")
    assert [paid(env, said)[1] for said in ("I do not know", "maybe", "0")] == [False] * 3
    env.reset(seed=0)
    assert env.task is not None and paid(env, env.task.answer) == (1.0, True)
    env = made("puzzle24")
    env.reset(seed=0)
    numbers = env.workspace[1]["metadata"]["numbers"]
    other = "8*3*1*1" if sorted(numbers) != [1, 1, 3, 8] else "6*4*1*1"
    assert paid(env, other) == (0.0, False)
    assert worth(*env.workspace, env.task.answer) == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("answer", "integrand", "right"),
    [
        ("x**3/3 + C", "x**2", True),
        ("x**3/3", "x**2", True),
        ("x**3 + C", "x**2", False),
        ("log(x) + C", "1/x", True),
        ("2*(-6*x - 3)**(3/2)/3", "-6*sqrt(-6*x - 3)", True),
        ("2*x*asin(2*x) + sqrt(1 - 4*x**2)", "2*asin(2*x)", True),
        ("x/(x - x)", "x**2", False),  # nowhere defined
        ("unknown(x)", "x**2", False),
    ],
)
def test_a_wrong_integral_is_told_by_its_slope(answer: str, integrand: str, right: bool):
    assert may_be_integral(answer, integrand, "x") is right


def test_the_contract():
    report = check_env(
        "Pixelis/ReasoningGym-v0", seeds=4, processes=False, keywords={"task": "chain_sum", "difficulty": 3}
    )
    failed = {finding.clause for finding in report.failures}
    assert failed == {"bad_actions_are_observations", "the_end"}  # every turn is an answer, as of own rows


@pytest.mark.parametrize(
    "task",
    [
        "string_insertion",
        "n_queens",
        "game_of_life_halting",
        pytest.param("puzzle24", marks=pytest.mark.slow),
        "maze",
    ],
)
def test_floors(task: str):
    env = made(task, partial=task != "puzzle24", difficulty=1)
    found = {}
    for name, player in env.players().items():
        total = 0.0
        for seed in range(8):
            observation, info = env.reset(seed=seed)
            total += env.step(player(env).act(observation, info))[1]
        found[name] = total / 8
    assert found.pop("oracle") == 1.0 and max(found.pop("blind"), 0.0) < 1.0
    assert max(found.values()) == 0.0, found


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"task": "chain_sums"}, "Did you mean 'chain_sum'"),
        ({"task": []}, "for example"),
        ({"task": ["chain_sum", "maze"], "config": {"min_terms": 2}}, "belongs to one task, got 2"),
        ({"task": "chain_sum", "config": {"min_term": 2}}, "no field 'min_term'. Did you mean 'min_terms'"),
        ({"task": "chain_sum", "config": {"seed": 2}}, "no field 'seed'"),
        (
            {"task": "chain_sum", "config": {"min_terms": 9, "max_terms": 2}},
            "chain_sum cannot be made with config",
        ),
        ({"task": "chain_sum", "config": {"min_terms": "many"}}, "chain_sum cannot be made with config"),
    ],
)
def test_bad_keywords_are_one_clear_error(keywords: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        made(**keywords)


def test_a_level_that_a_task_does_not_have():
    with pytest.raises(DifficultyError, match="0 to 0"):
        made("acre", difficulty=1)


@pytest.mark.parametrize(
    ("task", "trick"),
    [
        ("number_sorting", None),  # NaN is never greater than the next one
        ("complex_arithmetic", "nan"),
        ("complex_arithmetic", "inf"),
        ("countdown", "constants"),
        ("puzzle24", "constants"),
    ],
)
def test_what_scorers_can_be_fooled_by_is_worth_nothing(task: str, trick: str | None):
    env = made(task, partial=True)
    for seed in range(4):
        env.reset(seed=seed)
        assert env.task is not None
        metadata = env.workspace[1]["metadata"]
        if trick is None:
            said = json.dumps(["nan"] * len(json.loads(env.task.answer.replace("'", '"'))))
        elif trick == "constants":  # all numbers times nothing, and the goal out of quotients
            ones = "+".join(["E/E"] * int(metadata.get("target", 24)))
            said = f"({'+'.join(map(str, metadata['numbers']))})*(E-E)+{ones}"
        else:
            said = trick
        assert paid(env, said, seed) == (0.0, False)
        env.reset(seed=seed)
        assert paid(env, env.task.answer, seed) == (1.0, True)


@pytest.mark.parametrize("said", ["0", "0.", "0.1", "1", "0.5", "1/2"])
def test_the_first_digits_of_a_chance_are_not_the_chance(said: str):
    """Their scorer pays any beginning of the truth, or of the answer, as the whole."""
    env, right = made("coin_flip", partial=True), 0
    for seed in range(12):
        env.reset(seed=seed)
        assert env.task is not None
        near = abs(float(Fraction(said.rstrip("."))) - float(env.task.answer)) <= 1e-4
        assert paid(env, said, seed) == (float(near), near)
        right += near
    assert right < 12


@pytest.mark.parametrize(
    ("task", "numbers", "target", "said", "right"),
    [
        ("puzzle24", [5, 3, 4, 5], 24, "5*5-3/4", False),  # 24.25, behind whose point the scorer cuts
        ("puzzle24", [5, 3, 4, 5], 24, "5*5-4+3", True),
        ("puzzle24", [5, 5, 1, 5], 24, "5*(5-1/5)", True),
        ("countdown", [900, 1, 500], 900, "900+1/500", False),  # within the scorer's hundred-thousandth
        ("countdown", [900, 1, 500], 1401, "(900 + 1) + 500", True),
    ],
)
def test_a_little_more_than_the_number_is_not_the_number(
    task: str, numbers: list[int], target: int, said: str, right: bool
):
    env = made(task, partial=True)
    env.reset(seed=0)
    metadata = {"source_dataset": task, "numbers": numbers, "target": target}
    found = worth(env.workspace[0], {"answer": "", "metadata": metadata}, said)
    assert found == (1.0 if right else 0.0)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("rush_hour", "A+99999999999"),
        ("coin_flip", "1e999999999"),
        ("coin_flip", "1e-9999_9999"),
        ("rubiks_cube", "F99999999"),
    ],
)
def test_numbers_that_a_scorer_would_count_for_hours_are_worth_nothing(task: str, said: str):
    begun = time.process_time()
    assert paid(made(task, partial=True), said) == (0.0, False)
    assert time.process_time() - begun < 20


def test_tasks_that_are_left_out_say_why():
    assert not LEFT_OUT.keys() & set(task_names()) and LEFT_OUT.keys() <= DATASETS.keys()
    task = Task("it", "reasoning_gym", 0, "train", "?", "", {"task": "ransom_note", "seed": 0, "config": {}})
    with pytest.raises(ConfigError, match="ransom_note is no task here: it goes through a set of words"):
        question_of(task)


def test_a_task_whose_seed_is_another_question_here_is_not_judged():
    env = made("chain_sum")
    env.reset(seed=5)
    assert env.task is not None
    with pytest.raises(ConfigError, match="makes another question of its seed here"):
        question_of(replace(env.task, question="What is 1 + 1?"))


QUESTIONS = """
import sys, gymnasium as gym, pixelis
for task in sys.argv[1:]:
    env = gym.make("Pixelis/ReasoningGym-v0", task=task).unwrapped
    print([env.reset(seed=seed)[0]["text"] for seed in range(2)], env.task.answer)
"""


@pytest.mark.slow
def test_a_seed_is_the_same_question_in_every_process():
    names = [name for name in task_names() if name not in SLOW]
    told = [
        subprocess.run(
            [sys.executable, "-c", QUESTIONS, *names],
            env={**os.environ, "PYTHONHASHSEED": number},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for number in ("1", "2")
    ]
    assert len(told[0]) >= len(names)
    assert told[0] == told[1]
