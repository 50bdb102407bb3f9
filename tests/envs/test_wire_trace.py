from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.wire_trace.env import CableBoards, WireTraceEnv, ask_for, asked_cable
from pixelis.envs.pixel.wire_trace.players import any_port, cable_places, opposite_port, port_of_colour
from pixelis.envs.pixel.wire_trace.scene import CABLE_COLOURS
from pixelis.envs.tasks import Task
from pixelis.envs.verdict import exact_answer
from pixelis.errors import TaskError


@pytest.fixture(scope="module")
def env():
    return WireTraceEnv(reader="truth")


def task_of(seed, difficulty, split="test"):
    return CableBoards().sample(np.random.default_rng(seed), difficulty, split)


def test_the_question_names_the_start_and_the_answer_is_the_other_end():
    assert ask_for("HK7M").startswith("In which port does the cable end that starts at port HK7M?")
    task = task_of(0, 2)
    scene, start, end = asked_cable(task)
    assert scene.codes[start] in task.question
    assert task.answer == scene.codes[end] != scene.codes[start]


@pytest.mark.parametrize(
    ("text", "success"),
    [
        ("HK7M", True),
        (" hk7m ", True),
        ("HK7N", False),
        ("HK7M EC43", False),
        ("port HK7M", False),
        ("", False),
        (None, False),
    ],
)
def test_verdicts_by_hand(env, text, success):
    env.reset(seed=0)
    verdict = exact_answer(Task("t", "wire_trace", 0, "train", "?", "HK7M"), text, env.workspace)
    assert (verdict.success, verdict.terms) == (success, {"task": float(success)})


def test_the_overview_lists_all_labels_but_reads_none_of_them(env):
    for difficulty in range(5):
        env.reset(seed=difficulty, options={"difficulty": difficulty})
        *_, info = env.step(call("SEGMENT") + call("READ_TEXT"))
        listed, read = info["tool_calls"]
        ports = len(env.task.data["scene"]["codes"])
        assert [row["colour"] for row in listed["data"]["regions"]].count("yellow") == ports
        assert read["data"]["text"] == ""


def test_segment_gives_the_piece_of_a_cable_and_is_scored_for_it(env):
    for difficulty in (1, 4):
        env.reset(seed=2, options={"difficulty": difficulty})
        scene, start, _ = asked_cable(env.task)
        scores = []
        for at in cable_places(scene, start)[:6]:
            *_, info = env.step(call("ZOOM", center=at, factor=8) + call("SEGMENT", point=at))
            record = info["tool_calls"][1]
            assert record["data"]["regions"][0]["colour"] in CABLE_COLOURS
            scores.append(record["scores"]["iou"])
        assert np.median(scores) > 0.8


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(3), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_reads_real_pixels(difficulty):
    assert score(WireTraceEnv(), "oracle", range(5), difficulty=difficulty).success == 1.0


def test_choices_without_following_by_hand():
    scene, *_ = asked_cable(task_of(1, 0))  # 4 x 4 tiles: ports 0-3 above, 4-7 right, 8-11 below, 12-15 left
    assert [opposite_port(scene, port) for port in (0, 3, 4, 7, 8, 15)] == [11, 8, 15, 12, 3, 4]
    rng = np.random.default_rng(0)
    drawn = {any_port(scene, 5, rng) for _ in range(200)}
    assert drawn == {0, 2, 4, 6, 8, 10, 12, 14}


def test_ports_of_one_colour(env):
    scene, start, _ = asked_cable(task_of(3, 4))  # one colour: any port but the start
    rng = np.random.default_rng(1)
    assert {port_of_colour(scene, start, rng) for _ in range(600)} == set(range(32)) - {start}


def test_what_does_not_follow_the_cable_is_worth_its_chance():
    """Level 0: eight ends; 200 tasks, four standard deviations of a share of 1/8 are 0.094."""
    hits = {"straight": 0, "any": 0, "colour": 0}
    for seed in range(200):
        scene, start, end = asked_cable(task_of(seed, 0))
        rng = np.random.default_rng(seed)
        hits["straight"] += opposite_port(scene, start) == end
        hits["any"] += any_port(scene, start, rng) == end
        hits["colour"] += port_of_colour(scene, start, rng) == end
    assert abs(hits["straight"] / 200 - 1 / 8) < 0.094
    assert abs(hits["any"] / 200 - 1 / 8) < 0.094
    assert hits["colour"] / 200 > 0.5  # six colours for eight cables: here the colour does tell


def test_chances(env):
    assert [env.chance(difficulty) for difficulty in range(5)] == [1 / 8, 1 / 19, 1 / 23, 1 / 27, 1 / 31]


@pytest.mark.parametrize(
    "policy",
    [
        "tool_free",
        "overview_only",
        "exploit_answer_everything",
        "exploit_parrot_question",
        "exploit_parrot_port",
        "exploit_tag_stuffing",
    ],
)
def test_what_must_fail_fails(env, policy):
    assert score(env, policy, range(8), difficulty=0, split="test").success == 0.0


@pytest.mark.parametrize("start", [None, "3", -1, 16, True])
def test_a_port_that_is_not_there_is_a_task_error(env, start):
    good = task_of(0, 0)
    task = Task("t", "wire_trace", 0, "test", "?", "A", {**good.data, "start": start})
    with pytest.raises(TaskError, match="start must be the index of one of the scene's 16 ports, got"):
        env.open_picture(task)
    with pytest.raises(TaskError, match="WireScene"):
        env.open_picture(Task("t", "wire_trace", 0, "test", "?", "A", {"scene": {}, "start": 0}))
