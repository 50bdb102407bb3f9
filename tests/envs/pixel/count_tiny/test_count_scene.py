from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from pixelis.envs.pixel.base.splits import seed_split
from pixelis.envs.pixel.count_tiny.paint import count_labels, paint_pieces
from pixelis.envs.pixel.count_tiny.scene import LEVELS, CountScene, sample_count_scene
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.errors import SplitError, TaskError


def draw(seed, difficulty, split="train"):
    return sample_count_scene(np.random.default_rng(seed), difficulty, split)


SMALL = CountScene(
    64, 8, (("red", "bead"), ("blue", "stick")), ((20, 20, 0, 0), (40, 20, 1, 0), (40, 44, 1, 1)), 5, 0
)


def test_pieces_are_painted_where_they_should_be():
    image, silhouettes = paint_pieces(SMALL)
    pixels = np.asarray(image)
    red, blue = ((pixels == PALETTE[name]).all(-1) for name in ("red", "blue"))
    assert blue[18:22, 36:44].all() and blue[40:48, 38:42].all() and blue.sum() == 2 * 4 * 8
    assert red[20, 20] and not red[16, 16] and red[16:24, 16:24].sum() == red.sum()
    assert [shape.mask.shape for shape in silhouettes] == [(8, 8), (4, 8), (8, 4)]
    labels = count_labels(SMALL, (0.0, 0.0, 1.0, 1.0), 64)
    assert np.array_equal(labels == 1, red)
    assert np.array_equal(labels >= 2, blue)


def test_counts_by_hand():
    assert (SMALL.count("red", None), SMALL.count("blue", None)) == (1, 2)
    assert (SMALL.count("blue", "stick"), SMALL.count("red", "stick"), SMALL.count("pink", None)) == (2, 0, 0)


@pytest.mark.parametrize("difficulty", range(5))
def test_a_scene_is_as_its_level_says(difficulty):
    level = LEVELS[difficulty]
    for seed in range(4):
        scene, colour, kind = draw(seed, difficulty)
        assert len(scene.pieces) == level.pieces
        assert scene.count(colour, kind) in level.counts
        assert (kind is not None) == level.by_kind
        assert len({c for c, _ in scene.looks}) == level.colours * (1 + level.look_alikes)


@pytest.mark.parametrize("difficulty", [0, 4])
def test_pieces_lie_apart_and_inside(difficulty):
    scene, *_ = draw(1, difficulty)
    places = np.array([piece[:2] for piece in scene.pieces])
    distances = np.abs(places[:, None] - places).max(-1) + 10**4 * np.eye(len(places), dtype=int)
    assert distances.min() >= scene.size + 8
    assert places.min() >= 40 and places.max() <= scene.side - 40


def test_every_count_is_as_likely():
    """500 draws of 25 counts, 20 of each on average: none is missing, none above 20 + 5 sqrt(20)."""
    counts = Counter(draw(seed, 0)[0].count(*draw(seed, 0)[1:]) for seed in range(500))
    assert set(counts) == set(LEVELS[0].counts)
    assert max(counts.values()) <= 42


def test_levels_get_harder():
    assert [level.pieces for level in LEVELS] == [100, 150, 220, 300, 400]
    assert [level.size for level in LEVELS] == [20, 17, 14, 11, 8]


def test_a_scene_survives_json_and_paints_the_same_bytes():
    scene, *_ = draw(2, 4)
    again = CountScene.from_json(json.loads(json.dumps(scene.to_json())))
    assert again == scene
    assert paint_pieces.__wrapped__(again)[0].tobytes() == paint_pieces.__wrapped__(scene)[0].tobytes()


def test_seeds_belong_to_the_split():
    assert {seed_split(draw(seed, 0, "test")[0].seed) for seed in range(12)} == {"test"}
    assert {seed_split(draw(seed, 0, "train")[0].seed) for seed in range(12)} == {"train"}
    with pytest.raises(SplitError):
        draw(0, 0, "dev")


def test_a_scene_nobody_wrote_is_a_task_error():
    good = SMALL.to_json()
    broken = {
        "field 'pieces' is missing": {key: value for key, value in good.items() if key != "pieces"},
        r"'looks\[0\]\[1\]' must be one of .*, got 'cube'": {**good, "looks": [["red", "cube"]]},
        "at most 1000, got 1001": {**good, "pieces": [[20, 20, 0, 0]] * 1001},
        "from 8 to 56": {**good, "pieces": [[2, 20, 0, 0]]},
        "2 in the looks of pieces where numbers from 0 to 1 belong": {**good, "pieces": [[20, 20, 2, 0]]},
        "from 4 to 32": {**good, "size": 99},
        "expected a scene": None,
    }
    for words, data in broken.items():
        with pytest.raises(TaskError, match=words):
            CountScene.from_json(data)
