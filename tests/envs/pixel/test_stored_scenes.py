"""Whatever is broken in a stored scene, the task is refused and the message names the place."""

from __future__ import annotations

import json
from functools import cache

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.base.splits import asked_index
from pixelis.envs.pixel.chart_read.scene import ChartScene
from pixelis.envs.pixel.count_tiny.scene import CountScene
from pixelis.envs.pixel.drawing.signs import Scene
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene
from pixelis.envs.pixel.size_compare.scene import SizeScene
from pixelis.envs.pixel.track_read.scene import TrackScene
from pixelis.envs.pixel.wire_trace.scene import WireScene
from pixelis.envs.tasks import Task
from pixelis.errors import TaskError

KINDS = {
    "ZoomRead": Scene,
    "SizeCompare": SizeScene,
    "CountTiny": CountScene,
    "ChartRead": ChartScene,
    "WireTrace": WireScene,
    "ReceiptSum": ReceiptScene,
    "TrackRead": TrackScene,
}


@cache
def stored(name):
    env = gym.make(f"Pixelis/{name}-v0", reader="truth").unwrapped
    task = env.task_source().sample(np.random.default_rng(0), 2, "train")
    return json.dumps(task.data["scene"])


def leaves(value, way=()):
    """The places of all numbers, texts and switches in a JSON value."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, inner in items for place in leaves(inner, (*way, key))]
    return [way]


def put(value, way, new):
    for key in way[:-1]:
        value = value[key]
    value[way[-1]] = new


@pytest.mark.parametrize("name", KINDS)
def test_a_scene_comes_back_byte_for_byte(name):
    assert json.dumps(KINDS[name].from_json(json.loads(stored(name))).to_json()) == stored(name)


@pytest.mark.parametrize("name", KINDS)
def test_a_missing_or_unknown_part_is_named(name):
    for part in json.loads(stored(name)):
        data = json.loads(stored(name))
        del data[part]
        with pytest.raises(TaskError, match=f"field '{part}' is missing"):
            KINDS[name].from_json(data)
        with pytest.raises(TaskError, match=rf"unknown field '{part}x'\. Did you mean"):
            KINDS[name].from_json({**json.loads(stored(name)), f"{part}x": 1})


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_value_of_another_kind_is_told_with_its_place(name, data):
    scene = json.loads(stored(name))
    way = data.draw(st.sampled_from(leaves(scene)))
    put(scene, way, data.draw(st.sampled_from([None, {}, b"bytes", float("nan"), "\x00"])))
    with pytest.raises(TaskError, match=rf"{KINDS[name].__name__}.to_json writes it.*{way[0]}"):
        KINDS[name].from_json(scene)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_number_far_out_of_range_is_refused(name, data):
    scene = json.loads(stored(name))
    put(scene, data.draw(st.sampled_from(leaves(scene))), data.draw(st.sampled_from([-(10**9), 2**70])))
    with pytest.raises(TaskError, match=rf"{KINDS[name].__name__}.to_json writes it"):
        KINDS[name].from_json(scene)


@pytest.mark.parametrize("index", [None, -1, 3, True, 1.0, "0", [0]])
def test_what_is_asked_for_must_be_there(index):
    task = Task("a", "toy", 0, "train", "q", "a", {"target": index})
    with pytest.raises(TaskError, match="target must be the index of one of the scene's 3 signs, got"):
        asked_index(task, "target", 3, "signs")
    assert asked_index(Task("a", "toy", 0, "train", "q", "a", {"target": 2}), "target", 3, "signs") == 2
