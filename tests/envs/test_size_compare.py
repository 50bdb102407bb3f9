from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.size_compare.env import SizeCompareEnv, ask_for
from pixelis.envs.pixel.size_compare.players import candidates
from pixelis.envs.verdict import exact_answer


@pytest.fixture(scope="module")
def env():
    return SizeCompareEnv(reader="truth")


def test_the_question_names_every_shape_once(env):
    observation, info = env.reset(seed=0)
    colours = [shape["colour"] for shape in env.task.data["scene"]["shapes"]]
    assert candidates(observation["text"]) == colours
    assert ask_for(["red", "blue", "pink"]).startswith(
        "Which shape shows the largest area: red, blue or pink?"
    )
    assert info["task"]["family"] == "size_compare"


def test_the_id_tells_the_scene_and_not_the_answer():
    env = gym.make("Pixelis/SizeCompare-v0", reader="truth", disable_env_checker=True)
    ids = [env.reset(seed=seed)[1]["task"]["id"] for seed in range(12)]
    assert all(re.fullmatch(r"size_compare-1-train-[0-9a-f]{8}", one) for one in ids), ids
    assert len(set(ids)) == 12


def test_an_episode_forgives_a_full_stop_at_the_end():
    env = gym.make("Pixelis/SizeCompare-v0", reader="truth", disable_env_checker=True)
    for ending, reward in ((".", 1.0), (" .", 1.0), ("..", 0.0), ("!", 0.0)):
        env.reset(seed=0)
        assert env.step(answer(f"{env.unwrapped.task.answer.title()}{ending}"))[1] == reward


def test_only_the_right_colour_is_right(env):
    env.reset(seed=0)
    names = candidates(env.task.question)
    assert [name for name in names if exact_answer(env.task, name, env.workspace).success] == [
        env.task.answer
    ]
    for text in (" ".join(names), f"{env.task.answer} {env.task.answer}", "", None, "0"):
        assert not exact_answer(env.task, text, env.workspace).success
    assert exact_answer(env.task, f" {env.task.answer.upper()} ", env.workspace).reward == 1.0


def test_an_episode_by_hand(env):
    env.reset(seed=0, options={"difficulty": 0})
    areas = {}
    for shape in env.task.data["scene"]["shapes"]:
        x, y = (
            sum(corner[i] for corner in shape["corners"]) / len(shape["corners"]) / 8 / 1536 for i in (0, 1)
        )
        *_, info = env.step(call("ZOOM", center=[x, y], factor=4) + call("SEGMENT", point=[x, y]))
        region = info["tool_calls"][1]["data"]["regions"][0]
        assert region["colour"] == shape["colour"]
        assert info["tool_calls"][1]["scores"]["iou"] > 0.98
        *_, info = env.step(call("GET_PROPERTIES", region=region["region"]))
        areas[shape["colour"]] = info["tool_calls"][0]["data"]["area_share"]
    *_, reward, terminated, _, info = env.step(answer(max(areas, key=areas.get)))
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_segments_of_the_oracle_are_nearly_the_true_masks(env):
    episode = play(env, env.players()["oracle"](env), 1, {"difficulty": 3})
    found = [r["scores"]["iou"] for turn in episode for r in turn[4]["tool_calls"] if r["tool"] == "SEGMENT"]
    assert len(found) == 6
    assert min(found) > 0.97


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(3), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds_on_more_seeds(env, difficulty):
    assert score(env, "oracle", range(3, 12), difficulty=difficulty).success == 1.0


def test_a_guess_is_worth_one_of_n(env):
    """Three shapes, 300 tasks, four standard deviations."""
    tasks = [env.source.sample(np.random.default_rng(seed), 1, "test") for seed in range(300)]
    for policy in ("tool_free", "exploit_first_named"):
        said = [
            env.players()[policy](env).act({"text": task.question}, {"task": {"hash": task.content_hash}})
            for task in tasks
        ]
        right = sum(text == answer(task.answer) for text, task in zip(said, tasks, strict=True))
        assert right / 300 == pytest.approx(1 / 3, abs=4 * (2 / 9 / 300) ** 0.5)
    assert env.chance(1) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "policy", ["nothing", "exploit_list_all", "exploit_parrot_question", "exploit_repeat_segment"]
)
def test_floors(env, policy):
    assert score(env, policy, range(4), difficulty=0).success == 0


def test_one_area_tells_little(env):
    """Of two shapes 30 % apart, where all areas vary by 1.3 to the 4th: at best 0.5 + 1/8."""
    assert score(env, "measure_one", range(100), difficulty=0).success < 0.5 + 1 / 8 + 0.1
