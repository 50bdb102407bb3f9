from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pytest

from pixelis.envs.pixel.base.splits import seed_split
from pixelis.envs.pixel.drawing.codes import code_split
from pixelis.envs.pixel.wire_trace.curves import all_curves, crossing_points, strand_curve, unclear_tiles
from pixelis.envs.pixel.wire_trace.grid import BENDS_LEFT, cables, follow
from pixelis.envs.pixel.wire_trace.scene import LEVELS, MOST_TILES, WireScene, sample_wire_scene
from pixelis.errors import SplitError, TaskError


def draw(seed, difficulty, split="train"):
    return sample_wire_scene(np.random.default_rng(seed), difficulty, split)


def whole_cables(scene):
    """Every cable as one line, without the point that two strands share."""
    curves = all_curves(scene.mesh)
    return [
        np.concatenate(
            [strand_curve(curves, s)[:-1] for s in strands] + [strand_curve(curves, strands[-1])[-1:]]
        )
        for *_, strands in cables(scene.tiles, scene.grid)
    ]


@pytest.mark.parametrize("difficulty", range(5))
def test_there_are_exactly_as_many_crossings_as_the_level_says(difficulty):
    """All segments of all cables against all, apart from the tiles they were made in."""
    for seed in range(2):
        scene, *_ = draw(seed, difficulty)
        lines = whole_cables(scene)
        between = sum(len(crossing_points(a, b)) for a, b in itertools.combinations(lines, 2))
        within = sum(len(crossing_points(a, a)) for a in lines)  # each is found twice
        assert between + within // 2 == LEVELS[difficulty].crossings


@pytest.mark.parametrize("difficulty", range(5))
def test_a_scene_is_as_its_level_says(difficulty):
    level = LEVELS[difficulty]
    for seed in range(6):
        scene, start, end = draw(seed, difficulty)
        found, strands = follow(scene.tiles, scene.grid, start)
        assert found == end
        assert len(strands) <= MOST_TILES
        assert sum(scene.tiles[s.tile] < BENDS_LEFT for s in strands) >= level.on_way
        assert len(scene.codes) == 4 * level.grid == 2 * len(scene.colours)
        assert len(set(scene.colours)) == level.colours
        assert unclear_tiles(scene.mesh, scene.tiles) == []
        assert len(cables(scene.tiles, scene.grid)) == 2 * level.grid


def test_levels_get_harder():
    assert [level.crossings for level in LEVELS] == [0, 8, 16, 28, 40]
    assert [4 * level.grid for level in LEVELS] == [16, 20, 24, 28, 32]
    assert [level.colours for level in LEVELS] == [6, 4, 3, 2, 1]


def test_every_end_is_as_likely():
    """240 draws of 8 ways from start to end, 30 of each on average; five standard deviations are 26."""
    steps = Counter((end - start) % 16 for _, start, end in (draw(seed, 0) for seed in range(240)))
    assert set(steps) == set(range(1, 16, 2))
    assert max(steps.values()) <= 56 and min(steps.values()) >= 4


def test_labels_lie_inside_and_apart_from_each_other_and_from_the_cables():
    for seed in range(5):
        scene, *_ = draw(seed, 4)
        boxes = np.array([sign.box(scene.side) for sign in scene.labels().signs])
        assert boxes.min() > 0 and boxes.max() < 1
        for a, b in itertools.combinations(boxes, 2):
            assert (a[2:] <= b[:2]).any() or (b[2:] <= a[:2]).any()
        low, high = 190 / 1536, 1 - 190 / 1536
        assert all(x1 < low or y1 < low or x0 > high or y0 > high for x0, y0, x1, y1 in boxes)


def test_labels_say_the_ports_codes_next_to_the_ports():
    scene, start, _ = draw(3, 2)
    sign = scene.labels().signs[start]
    assert sign.code == scene.codes[start]
    assert np.abs(scene.port_places()[start] - sign.center).sum() < 125


def test_a_scene_survives_json_and_the_same_generator_draws_it_again():
    scene, *ports = draw(2, 4)
    assert WireScene.from_json(json.loads(json.dumps(scene.to_json()))) == scene
    again, *same = draw(2, 4)
    assert (again, same) == (scene, ports)


def test_seeds_and_codes_belong_to_the_split():
    for split in ("train", "test"):
        scene, *_ = draw(4, 1, split)
        assert seed_split(scene.seed) == split
        assert {code_split(code) for code in scene.codes} == {split}
    with pytest.raises(SplitError):
        draw(0, 0, "dev")


def test_a_scene_nobody_wrote_is_a_task_error():
    good = draw(1, 0)[0].to_json()
    ring = [2, 3, 2, 3, 3, 2, 3, 2, 2, 3, 2, 3, 3, 2, 3, 2]
    flat = [25] * 4 + [75] * 4 + [25] * 4 + [75] * 4 + [25] * 4 + [25, 75, 25, 75, 25] * 4  # 37 degrees
    broken = {
        "field 'tiles' is missing": {key: value for key, value in good.items() if key != "tiles"},
        "15 tiles where 16 belong": {**good, "tiles": good["tiles"][:15]},
        r"'tiles\[0\]' must be an integer from 0 to 3, got 4": {**good, "tiles": [4, *good["tiles"][1:]]},
        "'seed' must be an integer .*, got '9'": {**good, "seed": "9"},
        "'grid' must be an integer from 3 to 8, got 99": {**good, "grid": 99},
        "from 25 to 75": {**good, "gates": [0, *good["gates"][1:]]},
        "must be one of .*, got 'plaid'": {**good, "colours": ["plaid", *good["colours"][1:]]},
        "must be 1 to 6 letters and digits, got 'A B'": {**good, "codes": ["A B", *good["codes"][1:]]},
        "a code that two ports have": {**good, "codes": [good["codes"][1], *good["codes"][1:]]},
        "cables that run in rings": {**good, "tiles": ring},
        "200 in the (rows|columns) of corners where numbers from 427": {
            **good,
            "corners": [[200, 200]] * 25,
        },
        "cannot be told apart": {**good, "tiles": [0] * 16, "gates": flat},
        "expected a scene as WireScene": None,
    }
    for words, data in broken.items():
        with pytest.raises(TaskError, match=words):
            WireScene.from_json(data)
