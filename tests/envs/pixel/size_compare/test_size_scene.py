from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from pixelis.envs.pixel.base.splits import seed_split
from pixelis.envs.pixel.drawing.shapes import SUBPIXELS
from pixelis.envs.pixel.size_compare.paint import paint_sizes, size_labels
from pixelis.envs.pixel.size_compare.scene import LEVELS, RANGE, SCENE_SIZE, SizeScene, sample_size_scene
from pixelis.errors import SplitError, TaskError

WHOLE = (0.0, 0.0, 1.0, 1.0)
BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "quality" / "area_error.py"


def draw(seed, difficulty, split="train"):
    return sample_size_scene(np.random.default_rng(seed), difficulty, split)


def visible_areas(scene):
    labels = size_labels(scene, WHOLE, scene.size)
    return np.bincount(labels.ravel(), minlength=len(scene.shapes) + 1)[1 : len(scene.shapes) + 1]


@pytest.mark.parametrize("difficulty", range(5))
def test_the_painted_areas_are_a_margin_apart(difficulty):
    for seed in range(3):
        scene, winner = draw(seed, difficulty)
        areas = visible_areas(scene)
        second, first = np.sort(areas)[-2:]
        assert areas.argmax() == winner
        assert first / second - 1 == pytest.approx(LEVELS[difficulty].margin, abs=0.005)
        level = LEVELS[difficulty]
        assert level.area / (1 + level.margin) ** RANGE * 0.996 < first < level.area * 1.004


def test_areas_differ_from_scene_to_scene_by_more_than_the_margin():
    """Log-uniform over four margins: of 24 scenes the largest and smallest are nearly always three apart."""
    areas = [visible_areas(draw(seed, 0)[0]).max() for seed in range(24)]
    assert max(areas) / min(areas) > (1 + LEVELS[0].margin) ** 3


def test_the_margin_is_above_the_tools_own_error():
    """On the hardest level, where all errors of 4 x 8 shapes together span less than the margin."""
    spec = importlib.util.spec_from_file_location("area_error_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    rng = np.random.default_rng(0)
    errors = [error for seed in range(4) for error in benchmark.area_errors(draw(seed, 4)[0], 5, rng)]
    assert np.ptp(errors) < LEVELS[4].margin
    assert np.abs(errors).max() < 0.015
    exact = [error for seed in range(4) for error in benchmark.area_errors(draw(seed, 4)[0], 4, None)]
    assert np.abs(exact).max() < 0.002


def test_levels_get_harder():
    assert [len(draw(1, difficulty)[0].shapes) for difficulty in range(5)] == [2, 3, 4, 6, 8]
    margins = [level.margin for level in LEVELS]
    assert margins == sorted(margins, reverse=True)
    cards = [sum(bool(shape.card) for shape in draw(1, difficulty)[0].shapes) for difficulty in range(5)]
    assert cards == [0, 0, 1, 2, 4]


def test_neither_the_place_in_the_question_nor_the_largest_box_tells_the_answer():
    """200 scenes of two shapes: each is right in half of them, within four standard deviations."""
    first = boxes = 0
    for seed in range(200):
        scene, winner = draw(seed, 0)
        sides = [np.ptp(np.array(shape.corners), 0).prod() for shape in scene.shapes]
        first += winner == 0
        boxes += winner == int(np.argmax(sides))
    assert abs(first - 100) < 4 * 50**0.5
    assert abs(boxes - 100) < 4 * 50**0.5


@pytest.mark.parametrize("difficulty", [0, 4])
def test_shapes_lie_apart_and_inside(difficulty):
    scene, _ = draw(3, difficulty)
    outlines = [np.array(shape.corners + shape.card) / SUBPIXELS for shape in scene.shapes]
    for index, outline in enumerate(outlines):
        assert outline.min() >= 60 and outline.max() <= SCENE_SIZE - 60
        for other in outlines[:index]:
            gaps = np.maximum(outline.min(0) - other.max(0), other.min(0) - outline.max(0))
            assert gaps.max() >= 39


def test_a_scene_survives_json_and_paints_the_same_bytes():
    scene, _ = draw(2, 4)
    again = SizeScene.from_json(json.loads(json.dumps(scene.to_json())))
    assert again == scene
    assert paint_sizes.__wrapped__(again)[0].tobytes() == paint_sizes.__wrapped__(scene)[0].tobytes()


def test_colours_differ_and_seeds_belong_to_the_split():
    for seed in range(12):
        for split in ("train", "test"):
            scene, _ = draw(seed, 1, split)
            assert seed_split(scene.seed) == split
            assert len({shape.colour for shape in scene.shapes}) == len(scene.shapes)
    with pytest.raises(SplitError):
        draw(0, 0, "dev")


def _broken():
    good = draw(0, 2)[0].to_json()
    shape = good["shapes"][0]
    yield "field 'size' is missing", {"shapes": []}
    yield "'seed' must be an integer from 0", {**good, "seed": -1}
    yield "'size' must be an integer from 64 to 4096, got 1000000", {**good, "size": 10**6}
    yield r"'shapes\[0\].fill' is missing", {**good, "shapes": [{"colour": "red"}]}
    yield "got 'mauve'", {**good, "shapes": [{**shape, "colour": "mauve"}]}
    yield "at least 3, got 1", {**good, "shapes": [{**shape, "corners": [[1, 1]]}]}
    yield "at most 256, got 300", {**good, "shapes": [{**shape, "corners": [[1, 1]] * 300}]}
    far = {**shape, "card": [[1, 1], [2, 2], [10**9, 3]]}
    yield "in the corners of a shape where numbers from 0 to", {**good, "shapes": [far]}
    yield "a card of fewer than three corners", {**good, "shapes": [{**shape, "card": [[1, 1]]}]}
    yield "expected a scene", "table"


def test_a_scene_nobody_wrote_is_a_task_error():
    for words, data in _broken():
        with pytest.raises(TaskError, match=words):
            SizeScene.from_json(data)
