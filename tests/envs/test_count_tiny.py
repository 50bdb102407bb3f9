from __future__ import annotations

import itertools

import numpy as np
import pytest

from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.count_tiny.env import CountTinyEnv, ask_for, verify_count
from pixelis.envs.pixel.count_tiny.players import tiling
from pixelis.envs.pixel.count_tiny.scene import LEVELS


@pytest.fixture(scope="module")
def env():
    return CountTinyEnv(reader="truth")


def guess(env, policy, task):
    """What a policy that looks at nothing says to a task."""
    info = {"task": {"hash": task.content_hash, "difficulty": task.difficulty}}
    return env.players()[policy](env).act({"text": task.question}, info)


def test_questions():
    assert ask_for("red", None) == "How many red pieces are on the table? Answer with a number."
    assert ask_for("sky blue", "stick").startswith("How many sky blue sticks are on the table?")


def test_the_answer_is_the_number_of_pieces_in_the_look(env):
    env.reset(seed=0, options={"difficulty": 3})
    data = env.task.data
    right = [
        i for i, look in enumerate(data["scene"]["looks"]) if tuple(look) == (data["colour"], data["kind"])
    ]
    assert len(right) == 1
    assert env.task.answer == str(sum(piece[2] == right[0] for piece in data["scene"]["pieces"]))
    assert data["colour"] in env.task.question and data["kind"] in env.task.question


@pytest.mark.parametrize(
    ("text", "success", "error"),
    [
        (" 13 ", True, 0.0),
        ("12", False, 1 / 13),
        ("26", False, 1.0),
        ("12 13 14", False, 1.0),
        ("thirteen", False, 1.0),
        ("-13", False, 1.0),
        ("9" * 5000, False, 1.0),
        ("", False, 1.0),
        (None, False, 1.0),
    ],
)
def test_verdicts_by_hand(env, text, success, error):
    env.reset(seed=0)
    task = type(env.task)("t", "count_tiny", 0, "train", "?", "13")
    verdict = verify_count(task, text, env.workspace)
    assert (verdict.success, verdict.reward) == (success, float(success))
    assert verdict.terms["count_error"] == pytest.approx(error)


def test_the_overview_lists_nothing_and_a_closer_view_does(env):
    for difficulty in range(5):
        env.reset(seed=1, options={"difficulty": difficulty})
        *_, info = env.step(call("SEGMENT"))
        assert info["tool_calls"][0]["data"]["regions"] == []
        *_, info = env.step(call("ZOOM", center=[0.5, 0.5], factor=8) + call("SEGMENT"))
        record = info["tool_calls"][1]
        assert len(record["data"]["regions"]) > 0
        assert record["scores"]["iou"] > 0.7


def test_a_tiling_covers_the_scene_with_overlap_by_hand():
    assert tiling(1, 0.1) == [[0.5, 0.5]]
    assert tiling(2, 0.1) == [[x, y] for y in (0.25, 0.5, 0.75) for x in (0.25, 0.5, 0.75)]
    for factor, overlap in ((3.0, 0.026), (8.0, 0.0104)):
        xs = sorted({x for x, _ in tiling(factor, overlap)})
        assert xs[0] == pytest.approx(0.5 / factor, abs=1e-5)
        assert xs[-1] == pytest.approx(1 - 0.5 / factor, abs=1e-5)
        steps = [b - a for a, b in itertools.pairwise(xs)]
        assert max(steps) <= 1 / factor - overlap + 2e-5


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(2), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds_on_more_seeds(env, difficulty):
    assert score(env, "oracle", range(2, 7), difficulty=difficulty).success == 1.0


def test_a_guess_is_worth_its_chance(env):
    """Level 0 has 25 counts; 300 tasks, four standard deviations."""
    tasks = [env.source.sample(np.random.default_rng(seed), 0, "test") for seed in range(300)]
    rate = sum(guess(env, "tool_free", task) == f"<answer>{task.answer}</answer>" for task in tasks) / 300
    assert rate == pytest.approx(1 / 25, abs=4 * (1 / 25 * 24 / 25 / 300) ** 0.5)
    assert [round(1 / env.chance(difficulty)) for difficulty in range(5)] == [25, 31, 40, 50, 60]
    assert len(LEVELS) == 5


@pytest.mark.parametrize(
    "policy", ["nothing", "exploit_answer_everything", "exploit_parrot_question", "exploit_tag_stuffing"]
)
def test_floors(env, policy):
    assert score(env, policy, range(4), difficulty=4).success == 0
