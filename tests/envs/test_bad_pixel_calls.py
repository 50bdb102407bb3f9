"""Calls with bad input are typed errors that say what would be right, in every pixel environment."""

from __future__ import annotations

import importlib

import pytest

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.base.video_env import VideoEnv
from pixelis.envs.pixel.count_tiny.env import CountTinyEnv
from pixelis.envs.pixel.tools.toolset import NO_TEXT
from pixelis.envs.registration import ENVIRONMENTS
from pixelis.errors import TaskError
from pixelis.rewards.terms.penalties import CallTally, PenaltySettings, charges

CASES = {
    "a zero-area box": (call("SEGMENT", box=[0.2, 0.2, 0.2, 0.2]), "box_too_small", "at least 0.02"),
    "a box without width": (call("READ_TEXT", box=[0.3, 0.1, 0.3, 0.9]), "box_too_small", "got 0.000 and"),
    "a box the wrong way round": (call("ZOOM", box=[0.9, 0.9, 0.1, 0.1]), "box_too_small", "got -0.800"),
    "a point outside the scene": (call("SEGMENT", point=[1.2, 0.5]), "out_of_range", "maximum of 1"),
    "a point outside the view": (call("SEGMENT", point=[0.9, 0.9]), "out_of_view", "ZOOM there first"),
    "a box outside the view": (call("READ_TEXT", box=[0.8, 0.8, 0.9, 0.9]), "out_of_view", "ZOOM there"),
    "properties of nothing": (call("GET_PROPERTIES"), "bad_arguments", "Arguments: region"),
    "properties of no region": (call("GET_PROPERTIES", region=99), "unknown_region", "call SEGMENT first"),
    "an earlier view's region": (call("GET_PROPERTIES", region=1), "stale_region", "call SEGMENT first"),
    "reading an earlier view's region": (call("READ_TEXT", region=1), "stale_region", "earlier view"),
}


def pixel_envs():
    """The classes of all registered pixel environments."""
    for entry in ENVIRONMENTS:
        module, _, name = entry.entry_point.partition(":")
        found = getattr(importlib.import_module(module), name)
        if issubclass(found, PixelEnv):
            yield found


@pytest.fixture(scope="module", params=pixel_envs(), ids=lambda env_class: env_class.__name__)
def env(request):
    return request.param(reader="truth", max_turns=100)


@pytest.mark.parametrize("name", CASES)
def test_the_call_is_refused_with_what_would_be_right(env, name):
    action, code, words = CASES[name]
    env.reset(seed=0)
    env.step(call("SEGMENT", point=[0.5, 0.5]) + call("ZOOM", center=[0.2, 0.2], factor=4))
    before = env.workspace.view_box
    *_, reward, terminated, _, info = env.step(action)
    (record,) = info["tool_calls"]
    assert (record["ok"], record["error_code"]) == (False, code)
    assert words in record["text"]
    assert "scores" not in record
    assert (reward, terminated, env.workspace.view_box) == (0.0, False, before)


def test_a_task_without_a_picture_is_refused_and_the_episode_goes_on(env):
    env.reset(seed=0)
    before = env.task
    with pytest.raises(TaskError, match=r"expected a scene as \w*Scene.to_json writes it|no question about"):
        env.reset(options={"task": {"question": "?", "answer": "3"}})
    assert env.task is before
    *_, info = env.step(call("ZOOM", center=[0.5, 0.5], factor=2))
    assert info["tool_calls"][0]["ok"]


@pytest.mark.parametrize("reader", ["ocr", "truth"])
def test_reading_a_blank_says_that_there_is_nothing(reader):
    env = CountTinyEnv(reader=reader)
    env.reset(seed=0)
    *_, info = env.step(call("ZOOM", center=[0.0, 0.0], factor=45) + call("READ_TEXT"))
    record = info["tool_calls"][1]
    assert (record["text"], record["data"]) == (NO_TEXT, {"text": "", "lines": []})
    assert (record["ok"], record["error_code"]) == (False, "no_text")
    assert record["scores"] == {"cer": 0.0}


@pytest.mark.parametrize("make", [one for one in pixel_envs() if not issubclass(one, VideoEnv)])
@pytest.mark.parametrize("tool", ["TRACK", "SELECT_FRAME"])
def test_tools_for_a_video_are_refused_on_a_still_image_and_track_is_charged(make, tool):
    env = make(reader="truth")
    env.reset(seed=0)
    *_, info = env.step(call(tool, box=[0.1, 0.1, 0.3, 0.3]))
    (record,) = info["tool_calls"]
    assert (record["ok"], record["error_code"], record["tool"]) == (False, "still_image", tool)
    assert "one picture only" in record["text"] and "ZOOM and SEGMENT" in record["text"]
    charged = charges(record, CallTally(), PenaltySettings(frame_tools=env.reward_traits.frame_tools))
    assert charged.get("still_image", 0.0) == (0.2 if tool == "TRACK" else 0.0)
