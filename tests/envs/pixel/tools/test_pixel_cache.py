"""What was found on pixels is kept; SEGMENT says of kept regions what it says of new ones."""

import threading
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs.pixel.tools import toolset
from pixelis.envs.pixel.tools.pixel_cache import PixelCache
from pixelis.envs.pixel.tools.properties import measure

SEGMENT = '<tool_call>{"name": "SEGMENT", "arguments": {}}</tool_call>'


def test_the_least_recently_used_is_dropped():
    cache, computed = PixelCache(2), []

    def compute(pixels):
        computed.append(int(pixels[0, 0, 0]))
        return object()

    for value in (1, 2, 1, 3, 1, 2):
        cache.get(np.full((4, 4, 3), value, np.uint8), compute)
    assert computed == [1, 2, 3, 2] and len(cache) == 2


def test_the_shape_is_part_of_the_cache_key():
    cache, computed = PixelCache(), []
    for shape in ((4, 8, 3), (8, 4, 3)):
        cache.get(np.zeros(shape, np.uint8), lambda pixels: computed.append(pixels.shape) or object())
    assert computed == [(4, 8, 3), (8, 4, 3)]


def test_what_is_being_computed_is_waited_for():
    cache, started, computed = PixelCache(), threading.Event(), []
    pixels = np.zeros((4, 4, 3), np.uint8)

    def compute(_):
        computed.append(1)
        started.wait(0.2)
        return object()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: cache.get(pixels, compute), range(4)))
    assert len(computed) == 1 and cache.hits == 3
    assert all(each is found[0] for each in found)


@pytest.mark.parametrize("env_id", ["Pixelis/SizeCompare-v0", "Pixelis/ZoomRead-v0", "Pixelis/WireTrace-v0"])
def test_segment_says_the_same_of_kept_regions(env_id, monkeypatch):
    cache = PixelCache(4)
    monkeypatch.setattr(toolset, "_STANDING_OUT", cache)
    heard = []
    for _ in range(2):
        env = gym.make(env_id)
        env.reset(seed=5, options={"difficulty": 1})
        _, _, _, _, info = env.step(SEGMENT)
        (call,) = info["tool_calls"]
        workspace = env.unwrapped.workspace
        for row in call["data"]["regions"]:
            measured = measure(workspace.view, workspace.region(row["region"]).mask)
            assert (row["colour"], row["area"]) == (measured.colour, round(measured.area_share, 5))
        heard.append(call["data"])
        workspace.region(1).mask[:] = False  # an episode's own
    assert heard[0] == heard[1] and len(heard[0]["regions"]) > 2
    assert (len(cache), cache.hits) == (1, 1)
