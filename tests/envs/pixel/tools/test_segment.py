"""Segmentation against known truth; the scenes come from the benchmark that prints the full tables."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.tools.salient import salient_regions
from pixelis.envs.pixel.tools.segment import segment_box, segment_point
from pixelis.envs.pixel.tools.view import crop_view, square_box
from pixelis.envs.pixel.zoom_read.paint import paint
from pixelis.envs.pixel.zoom_read.scene import sample_scene
from pixelis.errors import ImageSizeError

WHOLE = (0.0, 0.0, 1.0, 1.0)


def load_benchmark():
    path = Path(__file__).parents[4] / "benchmarks" / "quality" / "segment_quality.py"
    spec = importlib.util.spec_from_file_location("segment_quality", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


quality = load_benchmark()


@pytest.mark.parametrize("kind", quality.KINDS)
def test_point_prompt_finds_shapes_on_every_background(kind):
    scenes = [quality.prompted_scene(kind, seed) for seed in range(8)]
    ious = [quality.mask_iou(segment_point(s.view, *s.point), s.truth) for s in scenes]
    assert np.mean(ious) >= 0.95


@pytest.mark.parametrize("kind", quality.KINDS)
def test_box_prompt_finds_shapes_on_every_background(kind):
    scenes = [quality.prompted_scene(kind, seed) for seed in range(6)]
    ious = [quality.mask_iou(segment_box(s.view, s.box), s.truth) for s in scenes]
    assert np.mean(ious) >= 0.93


def sign_view():
    """A grey view with a red board of 60 x 30 pixels and white bars for letters."""
    view = np.full((120, 160, 3), 150, np.uint8)
    view[40:70, 50:110] = PALETTE["red"]
    for x in (65, 77, 89):
        view[48:62, x : x + 4] = 250
        view[48:51, x : x + 9] = 250
    return view


@pytest.mark.parametrize("point", [(55, 45), (67, 58), (91, 49)], ids=["board", "stem", "bar"])
def test_the_text_belongs_to_the_sign(point):
    mask = segment_point(sign_view(), *point)
    truth = np.zeros((120, 160), bool)
    truth[40:70, 50:110] = True
    assert quality.mask_iou(mask, truth) > 0.95


@pytest.mark.parametrize(("difficulty", "factor"), [(0, 1), (2, 3), (4, 4), (2, 8)])
def test_a_point_anywhere_on_a_sign_selects_the_sign(difficulty, factor):
    scene = sample_scene(np.random.default_rng([0, difficulty, 3]), difficulty, "train")
    rng, hits, tries = np.random.default_rng(0), 0, 0
    for sign in scene.signs[:3]:
        view_box = square_box([value / scene.size for value in sign.center], factor)
        view = crop_view(paint(scene), view_box, 384)
        box = quality.sign_box(sign, scene.size, 384, view_box)
        for share_x, share_y in rng.uniform(0.2, 0.8, (4, 2)):
            x, y = box[0] + share_x * (box[2] - box[0]), box[1] + share_y * (box[3] - box[1])
            mask = segment_point(view, int(x), int(y))
            rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
            found = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
            hits, tries = hits + (quality.box_iou(found, box) >= 0.4), tries + 1
    assert hits >= tries - 1


def test_a_point_on_the_backdrop_gives_the_backdrop():
    mask = segment_point(sign_view(), 5, 5)
    assert mask[5, 5] and mask[110, 150] and mask.mean() > 0.8


def test_a_thin_line_across_the_view_is_not_swallowed_by_what_it_lies_on():
    view = np.full((100, 100, 3), 200, np.uint8)
    view[48:53] = (20, 20, 200)
    mask = segment_point(view, 50, 50)
    assert mask[50].all() and mask.sum() < 1000


def test_the_point_is_always_in_the_mask():
    view = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for x, y in ((0, 0), (63, 63), (10, 40)):
        assert segment_point(view, x, y)[y, x]


@pytest.mark.parametrize("point", [(-1, 0), (0, -1), (160, 0), (0, 120)])
def test_a_point_outside_names_the_view(point):
    with pytest.raises(ImageSizeError, match="160 x 120"):
        segment_point(sign_view(), *point)


def test_box_prompt_is_deterministic_and_stays_inside():
    view, box = sign_view(), (44, 35, 116, 76)
    first = segment_box(view, box)
    noise = np.random.default_rng(1).integers(0, 256, (80, 80, 3), dtype=np.uint8)
    assert segment_box(noise, (9, 9, 60, 60)).any()  # and draws other numbers in between
    assert np.array_equal(first, segment_box(view, box))
    assert not first[:, :44].any() and not first[:35].any() and not first[76:].any()
    assert first[40:70, 50:110].mean() > 0.95


@pytest.mark.parametrize("box", [(0, 0, 160, 120), (5, 5, 7, 7), (-50, -50, 10, 10), (30, 30, 31, 90)])
def test_a_box_with_nothing_to_cut_out_still_gives_a_mask(box):
    mask = segment_box(sign_view(), box)
    assert mask.shape == (120, 160) and mask.any()


@pytest.mark.parametrize("box", [(10, 10, 10, 20), (200, 10, 220, 20), (30, 30, 20, 20)])
def test_a_box_without_pixels_is_one_clear_error(box):
    with pytest.raises(ImageSizeError, match="box must cover"):
        segment_box(sign_view(), box)


@pytest.mark.parametrize(("difficulty", "recall"), [(0, 1.0), (1, 0.99), (2, 0.99), (3, 0.97), (4, 0.97)])
def test_signs_stand_out_in_the_overview(difficulty, recall):
    signs = found = false = 0
    for seed in range(8):
        scene = sample_scene(np.random.default_rng([seed, difficulty, 1]), difficulty, "train")
        score = quality.score_signs(scene.signs, scene.size, crop_view(paint(scene), WHOLE, 384), WHOLE)
        signs, found, false = signs + score.signs, found + score.found, false + score.false
    assert found / signs >= recall
    assert false / signs <= 0.03


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_signs_stand_out_in_a_zoomed_view(factor):
    signs = found = false = 0
    views = 32
    for seed in range(views):
        scene = sample_scene(np.random.default_rng([seed, 4, 2]), 4, "train")
        sign = scene.signs[seed]
        box = square_box([value / scene.size for value in sign.center], factor)
        score = quality.score_signs(scene.signs, scene.size, crop_view(paint(scene), box, 384), box)
        signs, found, false = signs + score.signs, found + score.found, false + score.false
    assert found / signs >= 0.97
    assert false / views <= 0.2  # slivers of street things cut by the view's edge, mostly


def test_regions_hold_what_their_attributes_say():
    (region,) = salient_regions(sign_view())
    assert (region.colour, region.rgb) == ("red", PALETTE["red"])
    assert region.mask.shape == (120, 160) and region.mask.sum() == region.area
    assert region.area_share == region.area / (120 * 160)
    assert quality.box_iou(region.box, (50, 40, 110, 70)) > 0.9
    x0, y0, x1, y1 = region.box
    assert np.array_equal(region.mask[y0:y1, x0:x1], region.patch)


def coloured_boards():
    view = np.full((240, 240, 3), 160, np.uint8)
    places = {"blue": (20, 20), "red": (20, 140), "green": (100, 80), "yellow": (180, 20)}
    for i, (name, (y, x)) in enumerate(places.items()):
        view[y : y + 20 + i, x : x + 50] = PALETTE[name]
    return view


def test_regions_come_in_reading_order():
    assert [r.colour for r in salient_regions(coloured_boards())] == ["blue", "red", "green", "yellow"]


def test_the_limit_keeps_the_largest():
    assert [r.colour for r in salient_regions(coloured_boards(), 2)] == ["green", "yellow"]


def test_a_sign_on_a_coloured_wall_is_listed_beside_the_wall():
    view = np.full((200, 200, 3), PALETTE["beige"], np.uint8)
    view[80:120, 60:140] = PALETTE["blue"]
    assert sorted(r.colour for r in salient_regions(view)) == ["beige", "blue"]


@pytest.mark.parametrize("rgb", [(0, 0, 0), (255, 255, 255), (130, 130, 134)])
def test_nothing_stands_out_of_a_plain_grey_view(rgb):
    assert salient_regions(np.full((384, 384, 3), rgb, np.uint8)) == []


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.integers(1, 90), st.integers(1, 16))
def test_any_pixels_give_valid_disjoint_regions(seed, height, width, block):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (-(-height // block), -(-width // block), 3), dtype=np.uint8)
    view = np.kron(coarse, np.ones((block, block, 1), np.uint8))[:height, :width]
    regions = salient_regions(view, 10)
    assert len(regions) <= 10
    for region in regions:
        x0, y0, x1, y1 = region.box
        assert 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height
        assert region.patch.shape == (y1 - y0, x1 - x0)
    again = salient_regions(view, 10)
    assert [(r.box, r.colour) for r in again] == [(r.box, r.colour) for r in regions]
