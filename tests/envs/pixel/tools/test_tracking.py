"""Following things through frames: what is reported, and above all what is not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pixelis.envs.pixel.base.tool_scores import box_iou
from pixelis.envs.pixel.base.video import film_of
from pixelis.envs.pixel.tools.locators import HueLocator, TemplateLocator, choose_method, texture
from pixelis.envs.pixel.tools.tracking import Sighting, follow

SIZE, SIDE = (240, 160), 32
GREY = (128, 128, 128)


def gravel(seed=0):
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(40, 216, (8, 8, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1))


def flat(rgb=(208, 32, 38)):
    return Image.new("RGB", (SIDE, SIDE), rgb)


def film(things, wall=None):
    """Frames from ``[(picture, [(x, y), …]), …]``; ``wall`` is a box in front of everything."""
    images = []
    for frame in range(len(things[0][1])):
        image = Image.new("RGB", SIZE, GREY)
        for picture, path in things:
            image.paste(picture, path[frame])
        if wall:
            image.paste((70, 70, 66), wall)
        images.append(image)
    return film_of(images)


def line(x, y, dx, frames=30, dy=0):
    return [(x + dx * i, y + dy * i) for i in range(frames)]


def box_at(place):
    return float(place[0]), float(place[1]), float(place[0] + SIDE), float(place[1] + SIDE)


def track(video, path, start=0, stop=None, method=None):
    stop = len(path) - 1 if stop is None else stop
    return follow(video.part_of, SIZE, Sighting(start, box_at(path[start]), 1.0), stop, method)


def ious(trail, path):
    return {one.frame: box_iou(one.box, box_at(path[one.frame])) for one in trail.sightings}


@pytest.mark.parametrize(("picture", "method"), [(gravel(), "template"), (flat(), "mean_shift")])
def test_the_method_fits_the_texture_and_follows(picture, method):
    path = line(10, 60, 5, dy=1)
    trail = track(film([(picture, path)]), path)
    assert trail.method == choose_method(np.asarray(picture)) == method
    assert trail.lost_after is None and len(trail.sightings) == 30
    assert min(ious(trail, path).values()) > 0.85


def test_texture_by_hand():
    assert texture(np.full((32, 32, 3), 90, np.uint8)) == 0
    stripes = np.tile(np.repeat(np.array([0, 100], np.uint8), 1), 16)
    pixels = np.repeat(np.tile(stripes, (32, 1))[..., None], 3, 2)
    assert texture(pixels) == 100
    assert texture(np.zeros((1, 1, 3), np.uint8)) == 0
    assert choose_method(np.full((32, 32, 3), 90, np.uint8)) == "template"  # flat, but of no colour


@pytest.mark.parametrize("picture", [gravel(), flat()])
def test_backwards_is_as_good_as_forwards(picture):
    path = line(10, 60, 5)
    trail = track(film([(picture, path)]), path, start=29, stop=0)
    assert [one.frame for one in trail.sightings] == list(range(29, -1, -1))
    assert min(ious(trail, path).values()) > 0.85


@pytest.mark.parametrize("picture", [gravel(), flat()])
def test_what_is_hidden_has_no_box_and_is_found_again(picture):
    path = line(10, 60, 6)
    trail = track(film([(picture, path)], wall=(90, 0, 140, 160)), path)
    hidden = {i for i, (x, _) in enumerate(path) if x >= 90 and x + SIDE <= 140}
    assert hidden and not hidden & {one.frame for one in trail.sightings}
    assert trail.lost_after is None
    assert {one.frame for one in trail.sightings} >= {0, 10, 25, 29}
    assert ious(trail, path)[29] > 0.85


def test_of_two_that_look_the_same_the_one_that_was_pointed_at_is_followed():
    mine, other = line(10, 40, 6), line(10, 90, 6)
    passing = [(200 - 6 * i, 80) for i in range(30)]
    for picture in (gravel(), flat()):
        trail = track(film([(picture, mine), (picture, other), (picture, passing)]), mine)
        assert min(ious(trail, mine).values()) > 0.8


@pytest.mark.parametrize("picture", [gravel(), flat()])
def test_what_is_taken_away_is_lost_and_no_box_is_made_up(picture):
    path = line(10, 60, 3)
    images = [film([(picture, path)]).picture_of(i).image for i in range(15)]
    images += [Image.new("RGB", SIZE, GREY)] * 15
    trail = track(film_of(images), path)
    assert trail.lost_after == 14
    assert [one.frame for one in trail.sightings] == list(range(15))


@pytest.mark.parametrize("picture", [gravel(), flat()])
def test_what_leaves_the_picture_is_lost(picture):
    path = line(120, 60, 8)
    trail = track(film([(picture, path)]), path)
    left = max(i for i, (x, _) in enumerate(path) if x + SIDE / 2 <= SIZE[0])
    assert trail.lost_after is not None and left - 3 <= trail.lost_after <= left
    assert all(0 <= one.box[0] < one.box[2] <= SIZE[0] for one in trail.sightings)


def test_a_template_of_nothing_is_found_nowhere():
    """Correlation is undefined on a plain surface: no confidence may come out of it."""
    plain = np.full((32, 32, 3), 128, np.uint8)
    wall = np.full((64, 64, 3), 128, np.uint8)
    assert TemplateLocator(plain).locate(wall, (32, 32), 10) is None
    assert HueLocator(plain, wall, (16, 16, 48, 48)).locate(wall, (32, 32), 10) is None


def test_a_locator_looks_no_farther_than_it_may():
    sample = np.asarray(gravel())
    scene = np.asarray(film([(gravel(), [(100, 60)])]).picture_of(0).image)
    near = TemplateLocator(sample).locate(scene, (110.0, 76.0), 12)
    assert near is not None and (near.x, near.y) == pytest.approx((116, 76), abs=0.2)
    assert near.confidence == pytest.approx(1.0, abs=1e-3)
    assert TemplateLocator(sample).locate(scene, (80.0, 76.0), 12) is None


def test_colours_tell_what_is_alike_in_grey():
    """Stripes of red and of a green that is as bright: their grey levels are those of the sample."""
    sample, other = (np.full((32, 32, 3), 40, np.uint8) for _ in range(2))
    sample[:, ::4], other[:, ::4] = (200, 0, 0), (0, 102, 0)
    greys = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in (sample[0, 0], other[0, 0])]
    assert greys[0] == pytest.approx(greys[1], abs=0.2)
    wall = np.full((64, 64, 3), 40, np.uint8)
    wall[16:48, 16:48] = other
    assert TemplateLocator(sample).locate(wall, (32, 32), 3) is None
    wall[16:48, 16:48] = sample
    found = TemplateLocator(sample).locate(wall, (32, 32), 3)
    assert found is not None and found.confidence == pytest.approx(1.0, abs=1e-3)
    assert (found.x, found.y) == pytest.approx((32, 32), abs=0.1)


def test_the_benchmark_measures_what_it_says():
    path = Path(__file__).parents[4] / "benchmarks" / "quality" / "track_quality.py"
    spec = importlib.util.spec_from_file_location("track_quality", path)
    assert spec is not None and spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules["track_quality"] = benchmark
    spec.loader.exec_module(benchmark)
    scores = {}
    for kind in benchmark.TOYS:
        for method in benchmark.METHODS:
            outcomes = [benchmark.run(video, method) for video in benchmark.toy_videos(kind, 4)]
            scores[kind, method] = float(np.median([one.in_sight for one in outcomes]))
            assert all(one.invented == 0 for one in outcomes)
    assert scores["gravel", None] == scores["gravel", "template"] == 1.0
    assert scores["gravel", "mean_shift"] < 0.9
    turning = "flat ellipse, turning"
    assert scores[turning, None] == scores[turning, "mean_shift"] > 0.8 > 0.5 > scores[turning, "template"]
