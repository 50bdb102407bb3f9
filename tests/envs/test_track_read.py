from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.base.tool_scores import box_iou
from pixelis.envs.pixel.track_read.env import TrackReadEnv, ask_for
from pixelis.envs.pixel.track_read.players import question_box
from pixelis.envs.pixel.track_read.sample import LEVELS
from pixelis.envs.pixel.track_read.scene import CLEAR, TrackScene
from pixelis.errors import TaskError
from pixelis.rewards.terms.penalties import CallTally, PenaltySettings, charges


@pytest.fixture(scope="module")
def env():
    return TrackReadEnv(reader="truth")


def scene_of(env):
    return TrackScene.from_json(env.task.data["scene"])


def target_of(env):
    return scene_of(env).vehicles[env.task.data["target"]]


def test_the_question_points_at_the_car_in_the_first_frame(env):
    env.reset(seed=0, options={"difficulty": 2})
    scene, car = scene_of(env), target_of(env)
    assert env.task.question == ask_for(scene, car)
    assert f"the {car.colour} car at [" in env.task.question
    assert env.task.question.endswith("in frame 0? Frames are 0 to 47.")
    box = question_box(env.task.question)
    assert box == pytest.approx([value / 1536 for value in car.box(0)], abs=0.0006)
    assert env.task.answer == car.code and car.code not in env.task.question
    *_, info = env.step(call("SEGMENT", box=box))
    (record,) = info["tool_calls"]
    assert record["data"]["regions"][0]["colour"] == car.colour
    assert record["scores"]["iou"] > 0.6


@pytest.mark.parametrize(
    ("text", "success"),
    [("KT47", True), (" kt47 ", True), ("KT4", False), ("KT47 HCET", False), ("", False), (None, False)],
)
def test_verdicts_by_hand(env, text, success):
    env.reset(seed=0)
    task = type(env.task)("t", "track_read", 0, "train", "?", "KT47")
    verdict = env.judge(task, text, env.workspace)
    assert (verdict.success, verdict.reward, dict(verdict.terms)) == (
        success,
        float(success),
        {"task": float(success)},
    )


def test_by_hand_through_the_tools(env):
    """TRACK, SELECT_FRAME, ZOOM and READ_TEXT lead to the code; each has its score."""
    observation, _ = env.reset(seed=3, options={"difficulty": 4, "split": "test"})
    car = target_of(env)
    frame = car.states.index(CLEAR)
    box = question_box(observation["text"])
    observation, *_, info = env.step(call("TRACK", box=box, to=frame))
    (track,) = info["tool_calls"]
    assert info["view_changed"] is False and track["scores"]["iou"] > 0.8
    last = track["data"]["track"][-1]
    truth = [value / 1536 for value in car.box(frame)]
    assert last["frame"] == frame and box_iou(last["box"], truth) > 0.8
    assert f"{frame}: [" in observation["text"]
    look = call("SELECT_FRAME", frame=frame) + call("ZOOM", box=last["box"]) + call("READ_TEXT")
    observation, *_, info = env.step(look)
    assert info["view_changed"] is True
    assert car.code in observation["text"]
    assert info["tool_calls"][2]["scores"] == {"cer": 0.0}
    *_, reward, terminated, _, info = env.step(f"<answer>{car.code}</answer>")
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_the_image_is_the_view_of_the_open_frame(env):
    before, _ = env.reset(seed=1)
    after, *_, info = env.step(call("SELECT_FRAME", frame=20))
    assert info["view_changed"] and not np.array_equal(before["image"], after["image"])
    assert np.array_equal(after["image"], env.workspace.view)
    again, *_ = env.step(call("SELECT_FRAME", frame=0))
    assert np.array_equal(before["image"], again["image"])


def test_what_is_rendered_is_the_open_frame():
    env = TrackReadEnv(reader="truth", render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    env.step(call("SELECT_FRAME", frame=20))
    second = env.render()
    assert first.shape == second.shape and not np.array_equal(first[:600, :600], second[:600, :600])


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(3), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds_on_more_seeds_with_real_reading(difficulty):
    env = TrackReadEnv(reader="ocr")
    assert score(env, "oracle", range(4, 9), difficulty=difficulty).success == 1.0


def test_the_oracle_takes_the_place_from_track_and_the_code_from_reading(env):
    turns = play(env, env.players()["oracle"](env), 2, {"difficulty": 4})
    tools = [call["tool"] for turn in turns for call in turn[4]["tool_calls"]]
    assert tools == ["SEGMENT", "TRACK", "SELECT_FRAME", "ZOOM", "READ_TEXT"]


def test_who_does_not_follow_the_car_is_right_as_often_as_there_are_cars(env):
    """20 seeds, three standard deviations; a look-alike is as good a guess as the level has of them."""
    level = LEVELS[4]
    for policy, chance in (("same_colour", 1 / (1 + level.look_alikes)), ("wrong_car", 1 / level.cars)):
        rate = score(env, policy, range(20), difficulty=4).success
        assert rate <= chance + 3 * (chance * (1 - chance) / 20) ** 0.5


@pytest.mark.parametrize(
    "policy",
    [
        *("nothing", "tool_free", "overview_only", "exploit_answer_everything", "exploit_parrot_question"),
        *("exploit_tag_stuffing", "exploit_repeat_track"),
    ],
)
def test_floors(env, policy):
    assert score(env, policy, range(3), difficulty=4).success == 0


def test_chance_is_that_of_a_code(env):
    assert env.chance(0) == env.chance(4) == pytest.approx(5 / (15 * 14 * 13 * 12))


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (call("SELECT_FRAME", frame=40), "out_of_range"),
        (call("SELECT_FRAME"), "bad_arguments"),
        (call("SELECT_FRAME", frame=1.5), "bad_arguments"),
        (call("TRACK"), "bad_arguments"),
        (call("TRACK", box=[0.2, 0.2, 0.2, 0.2]), "box_too_small"),
        (call("TRACK", box=[0.2, 0.2, 0.4, 1.2]), "out_of_range"),
        (call("TRACK", region=3), "unknown_region"),
    ],
)
def test_bad_calls_are_observations(env, action, code):
    env.reset(seed=0)
    *_, reward, terminated, _, info = env.step(action)
    (record,) = info["tool_calls"]
    assert (record["ok"], record["error_code"], reward, terminated) == (False, code, 0.0, False)


def test_track_where_it_belongs_is_not_charged_as_on_a_still_image(env):
    env.reset(seed=0)
    box = question_box(env.task.question)
    *_, info = env.step(call("SEGMENT", box=box) + call("TRACK", region=1))
    tally = CallTally()
    tally.add(info["tool_calls"][0])
    assert charges(info["tool_calls"][1], tally, PenaltySettings()) == {}


@pytest.mark.parametrize(
    "data",
    [{}, {"scene": {}}, {"scene": None, "target": 0}, {"target": True}, {"target": 99}, {"target": "0"}],
)
def test_a_task_without_its_scene_or_car_is_a_task_error(env, data):
    env.reset(seed=0)
    given = {"scene": dict(env.task.data["scene"]), **data} if "scene" not in data and data else data
    with pytest.raises(TaskError, match=r"expected a scene|target must be"):
        env.reset(options={"task": {"question": "?", "answer": "KT47", "data": given}})
