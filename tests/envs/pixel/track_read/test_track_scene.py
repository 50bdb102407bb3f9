from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.drawing.codes import code_split
from pixelis.envs.pixel.track_read.motion import (
    bridge_box,
    prediction_errors,
    tree_box,
    vehicle_boxes,
    visible_share,
)
from pixelis.envs.pixel.track_read.sample import LEVELS, sample_track_scene
from pixelis.envs.pixel.track_read.scene import CLEAR, LENGTHS, MAX_FRAMES, TrackScene, Vehicle
from pixelis.errors import SplitError, TaskError


def draw(seed, difficulty, split="train"):
    return sample_track_scene(np.random.default_rng(seed), difficulty, split)


def shares_of(scene, index):
    """How much of a vehicle can be seen in each frame."""
    lorries = [vehicle_boxes(v) for i, v in enumerate(scene.vehicles) if v.kind == "lorry" and i != index]
    bridge = [bridge_box(scene.bridge)] if scene.bridge[0] < scene.bridge[1] else []
    standing = [*map(tree_box, scene.trees), *bridge]
    return visible_share(vehicle_boxes(scene.vehicles[index]), standing, lorries)


SMALL = TrackScene(
    512,
    (
        Vehicle("saloon", "red", True, ((120, 300), (140, 300)), "KT47", "Roboto-Bold.ttf", (1, 0)),
        Vehicle("lorry", "grey", False, ((400, 360), (380, 360)), "", "Roboto-Bold.ttf", (1, 1)),
    ),
    ((60, 400),),
    (200, 300),
    7,
)


def test_boxes_by_hand():
    assert SMALL.vehicles[0].box(1) == (45, 236, 235, 300)
    assert SMALL.vehicles[1].box(0) == (235, 200, 565, 360)
    assert SMALL.frames == 2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.sampled_from(["train", "test"]))
def test_every_scene_is_as_its_level_says_and_its_car_can_be_followed(seed, difficulty, split):
    scene, index = draw(seed, difficulty, split)
    level, car = LEVELS[difficulty], scene.vehicles[index]
    cars = [v for v in scene.vehicles if v.kind != "lorry"]
    assert (scene.frames, len(cars), len(scene.trees)) == (level.frames, level.cars, level.trees)
    assert len(scene.vehicles) - len(cars) == level.lorries
    assert sum((v.kind, v.colour) == (car.kind, car.colour) for v in cars) == 1 + level.look_alikes
    assert sum(v.colour == car.colour for v in cars) == 1 + level.look_alikes
    assert len({v.code for v in cars}) == level.cars
    assert {code_split(v.code) for v in cars} == {split}
    shares, path = shares_of(scene, index), np.array(car.path)
    assert (shares[:4] == 1).all()
    assert path[:, 0].min() >= LENGTHS[car.kind][0] // 2
    assert all(gap <= 20 and off <= 20 for gap, off in prediction_errors(path, shares >= 0.5))
    clear = [frame for frame, state in enumerate(car.states) if state == CLEAR]
    assert len(clear) in (2, 3) and clear == list(range(clear[0], clear[0] + len(clear)))
    assert clear[0] >= level.frames // 3 and (shares[clear] == 1).all()
    assert (shares[: clear[0]] < 0.5).sum() >= level.hidden


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_no_two_vehicles_touch_and_other_plates_are_clear_in_three_frames_at_most(seed, difficulty):
    scene, _ = draw(seed, difficulty)
    boxes = [vehicle_boxes(v) for v in scene.vehicles]
    grounds = [np.array(v.path)[:, 1] for v in scene.vehicles]
    for i, vehicle in enumerate(scene.vehicles):
        clear = [frame for frame, state in enumerate(vehicle.states) if state == CLEAR]
        assert len(clear) in (0, 2, 3)
        assert vehicle.code or not clear
        assert (shares_of(scene, i)[clear] == 1).all()
        for j in range(i):
            beside = np.abs(grounds[i] - grounds[j]) < 90
            overlap = (boxes[i][:, 0] < boxes[j][:, 2]) & (boxes[j][:, 0] < boxes[i][:, 2])
            assert not (beside & overlap).any()


def test_a_scene_is_a_function_of_the_generator_and_the_splits_share_no_code():
    assert draw(3, 2) == draw(3, 2) != draw(4, 2)
    with pytest.raises(SplitError):
        draw(0, 0, "validation")


@pytest.mark.parametrize("difficulty", range(5))
def test_json_gives_an_equal_scene_back(difficulty):
    scene, _ = draw(1, difficulty)
    assert TrackScene.from_json(json.loads(json.dumps(scene.to_json()))) == scene
    assert scene.frames <= MAX_FRAMES and scene.frames % 8 == 0


def changed(**fields):
    return {**SMALL.to_json(), **fields}


def with_vehicle(**fields):
    first, *rest = SMALL.to_json()["vehicles"]
    return changed(vehicles=[{**first, **fields}, *rest])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "expected a scene"),
        ({}, "field 'size' is missing"),
        (changed(size=0), "'size' must be an integer from 256 to 4096, got 0"),
        (changed(seed=-1), "'seed' must be .*, got -1"),
        (changed(seed=True), "'seed' must be .*, got True"),
        (changed(vehicles=[]), "at least 1, got 0"),
        (changed(vehicles=[3]), r"'vehicles\[0\]' must be an object, got 3"),
        (changed(bridge=[300, 200]), "ends before it begins"),
        (changed(bridge=[1]), r"'bridge\[1\]' is missing"),
        (changed(trees=[[1, 2]] * 65), "at most 64, got 65"),
        (with_vehicle(kind="tram"), r"'vehicles\[0\].kind' must be one of .*, got 'tram'"),
        (with_vehicle(kind="lorry"), "a lorry in the colour 'red'"),
        (with_vehicle(colour="mud"), "a saloon in the colour 'mud'"),
        (with_vehicle(right=1), r"'vehicles\[0\].right' must be True or False, got 1"),
        (with_vehicle(font="../x"), "font"),
        (with_vehicle(code="A\n"), "code' must be a printable text of 0 to 8 characters"),
        (with_vehicle(code=4), "code' must be a printable text"),
        (with_vehicle(states=[0]), "1 plates of a vehicle where 2 belong"),
        (with_vehicle(states=[0, 3]), r"states\[1\]' must be an integer from 0 to 2, got 3"),
        (with_vehicle(path=[[1, 2], [3]]), "shorter"),
        (with_vehicle(path=[[1], [3]], states=[0]), "2 frames of a vehicle where 1 belong"),
        (
            with_vehicle(path=[[1.5, 2], [3, 4]]),
            "must be an integer from -9999 to 9999, got 1.5",
        ),
    ],
)
def test_foreign_data_is_a_task_error(data, words):
    with pytest.raises(TaskError, match=words):
        TrackScene.from_json(data)
