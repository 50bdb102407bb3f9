"""Messages between processes: everything arrives as it was, and nothing that could run."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.distributed.episode_messages import episodes_message, read_episodes
from pixelis.agents.distributed.wire import pack, unpack
from pixelis.agents.episodes.episode import Episode, Exchange, Segment
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import TrainingError

LEAVES = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_values_arrive_as_they_were(value):
    assert unpack(pack(value)) == (value, {})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_arrive_as_they_were(dtype):
    sent = {"a": torch.arange(6).reshape(2, 3).T.to(dtype), "empty": torch.zeros(0, 4, dtype=dtype)}
    _, found = unpack(pack({}, sent))
    assert found.keys() == sent.keys()
    for name, tensor in sent.items():
        assert found[name].dtype == dtype and torch.equal(found[name], tensor)


def test_arrays_of_any_size_arrive_and_one_that_comes_twice_is_sent_once():
    big = np.random.default_rng(0).random((64, 64, 8))
    once, twice = pack({"a": big}), pack({"a": big, "b": big})
    assert len(twice) - len(once) < 300
    found = unpack(twice)[0]
    for name in ("a", "b"):
        assert found[name].dtype == big.dtype and np.array_equal(found[name], big)
    assert math.isnan(unpack(pack([math.nan]))[0][0])


def test_of_an_object_only_the_name_of_its_class_arrives():
    assert unpack(pack({"a": [object(), {1}]}))[0] == {"a": ["builtins.object", "builtins.set"]}


class Trap:
    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


@pytest.mark.parametrize("data", [b"", b"\x00" * 9, pickle.dumps(Trap()), pack({"a": 1})[:-1], b"\xff" * 40])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(TrainingError, match=f"sent {len(data)} bytes that are no message"):
        unpack(data)


def same(one, two) -> bool:
    """Whether two values agree to the bit, arrays and tensors inside them too."""
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and one.dtype == two.dtype and np.array_equal(one, two)
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and torch.equal(one, two)
    if isinstance(one, (Segment, Exchange)):
        names = [each.name for each in fields(one)]
        return all(same(getattr(one, name), getattr(two, name)) for name in names)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return (
            type(one) is type(two)
            and len(one) == len(two)
            and all(same(*pair) for pair in zip(one, two, strict=True))
        )
    return type(one) is type(two) and (one == two or one != one)


def arrived(episodes: list[Episode]) -> list[Episode]:
    value, tensors = episodes_message(episodes)
    return read_episodes(*unpack(pack(value, tensors)))


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    """Episodes of a model that sees, in an environment with tools and pictures."""
    from pixelis.agents.episodes.task_env import TaskEnv
    from pixelis.agents.models.policy import Policy

    env = TaskEnv.open("Pixelis/ZoomRead-v0", {"reader": "truth"}, {"difficulty": 1})
    requests = [
        EpisodeRequest(seed, seed, member, {"difficulty": 1}, True) for seed in (0, 1) for member in (0, 1)
    ]
    with Collector(env.make) as collector:
        settings = SamplingSettings(max_new_tokens=64)
        return collector.collect(Policy.load("pixelis-tiny", device="cpu"), requests, settings, 5)


def test_real_episodes_arrive_as_they_were(played):
    assert any(each.tool_calls for each in played) and all(each.images for each in played)
    for sent, found in zip(played, arrived(played), strict=True):
        for item in fields(Episode):
            assert same(getattr(sent, item.name), getattr(found, item.name)), item.name


def test_the_prompt_of_a_group_is_sent_once(played):
    found = arrived(played)
    assert found[0].segments[0] is found[1].segments[0] is not found[2].segments[0]
    one = len(pack(*episodes_message(played[:1])))
    prompt = sum(each.nbytes for each in played[0].segments[0].images.values())
    assert len(pack(*episodes_message(played[:2]))) < 2 * one - prompt / 2


def test_an_episode_that_failed_arrives_with_its_reason(played):
    failed = replace(
        played[0],
        valid_for_training=False,
        failure_reason="the env raised",
        failure_trace="Traceback …",
        success=None,
        visual_tools=None,
        info={"why": ValueError("x"), "box": (1, 2), "raw": b"\x00\xff"},
    )
    (found,) = arrived([failed])
    assert found.failure_reason == "the env raised" and found.visual_tools is None
    assert found.info == {"why": "builtins.ValueError", "box": (1, 2), "raw": b"\x00\xff"}
    assert arrived([]) == []
