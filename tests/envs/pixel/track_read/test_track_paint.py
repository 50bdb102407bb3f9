from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.pixel.tools.ocr import RapidReader
from pixelis.envs.pixel.tools.ocr_truth import TruthReader, text_inside
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.tools.view import crop_view, square_around
from pixelis.envs.pixel.track_read.paint import (
    layers,
    paint_part,
    plate_sign,
    plate_texts,
    track_film,
    track_labels,
    vehicle_places,
)
from pixelis.envs.pixel.track_read.sample import sample_track_scene
from pixelis.envs.pixel.track_read.scene import CLEAR, GLARE, SMEAR, TrackScene, Vehicle

WHOLE = (0.0, 0.0, 1.0, 1.0)


def car(x, y, states, code="KT47", colour="red", kind="saloon"):
    path = tuple((x, y) for _ in states)
    return Vehicle(kind, colour, True, path, code, "Roboto-Bold.ttf", states)


def street(*vehicles, trees=(), bridge=(0, 0)):
    return TrackScene(1536, vehicles, trees, bridge, 5)


def draw(seed, difficulty):
    return sample_track_scene(np.random.default_rng(seed), difficulty, "train")


def test_a_part_is_what_the_whole_frame_shows_there():
    scene, _ = draw(2, 4)
    film = track_film(scene)
    for frame in (0, 63):
        whole = film.picture_of(frame).image
        assert whole.size == (1536, 1536)
        for box in ((0, 0, 64, 64), (500, 600, 900, 700), (1400, 900, 1536, 1300)):
            assert np.array_equal(np.asarray(film.part_of(frame, box)), np.asarray(whole.crop(box)))


def test_cars_are_painted_where_they_are_and_nearer_things_hide_them():
    scene = street(
        car(400, 566, (CLEAR,)),
        car(800, 566, (CLEAR,), colour="blue"),
        car(830, 662, (GLARE,), code="", colour="grey", kind="lorry"),
        trees=((1200, 842),),
        bridge=(300, 360),
    )
    pixels = np.asarray(paint_part(scene, 0, (0, 0, 1536, 1536)))
    assert tuple(pixels[530, 440]) == PALETTE["red"]
    assert not (pixels[502:566, 705:895] == PALETTE["blue"]).all(-1).any()
    red, blue, lorry = vehicle_places(scene, 0)
    assert red.box == pytest.approx((305 / 1536, 502 / 1536, 495 / 1536, 566 / 1536))
    assert (red.visible, blue.visible, lorry.visible) == pytest.approx((0.7, 0.0, 1.0), abs=0.08)
    labels = track_labels(scene, 0, WHOLE, 1536)
    assert labels[530, 440] == 1 and labels[530, 330] == len(layers(scene, 0)) and labels[10, 10] == 0
    assert (labels == 2).sum() == 0


def test_a_car_outside_the_scene_has_no_place():
    outside, half = vehicle_places(street(car(-200, 566, (CLEAR,)), car(0, 758, (CLEAR,))), 0)
    assert (outside.box, outside.visible) == (None, 0.0)
    assert half.box == pytest.approx((0.0, 694 / 1536, 95 / 1536, 758 / 1536))
    assert half.visible == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_a_clear_plate_is_read_and_a_spoilt_one_is_not(seed):
    scene, index = draw(seed, seed + 1)
    vehicle, film = scene.vehicles[index], track_film(scene)
    by_state = {
        state: vehicle.states.index(state) for state in (CLEAR, GLARE, SMEAR) if state in vehicle.states
    }
    for state, frame in by_state.items():
        box = vehicle.box(frame)
        view_box = square_around([value / scene.size for value in box], 0.1)
        view = crop_view(film.picture_of(frame).image, view_box, 384)
        sign = plate_sign(vehicle, box)
        scale = 384 / ((view_box[2] - view_box[0]) * scene.size)
        x, y = ((c - v * scene.size) * scale for c, v in zip(sign.center, view_box[:2], strict=True))
        around = round(x - 80), round(y - 34), round(x + 80), round(y + 34)
        read = RapidReader().read(view, around).text.replace(" ", "")
        assert (read == vehicle.code) == (state == CLEAR)
        texts = [item for item in plate_texts(scene, frame, view_box, 384) if text_inside(item, around)]
        assert [item.text for item in texts] == ([vehicle.code] if state == CLEAR else [])


@pytest.mark.parametrize("difficulty", range(5))
def test_no_plate_can_be_read_in_an_overview(difficulty):
    scene, index = draw(7, difficulty)
    frame = scene.vehicles[index].states.index(CLEAR)
    picture = track_film(scene).picture_of(frame)
    assert picture.texts is not None
    items = picture.texts(WHOLE, 384)
    assert all(item.height == pytest.approx(3.5) for item in items) and items
    view = crop_view(picture.image, WHOLE, 384)
    assert TruthReader(items).read(view, (0, 0, 384, 384)).lines == ()
    codes = {vehicle.code for vehicle in scene.vehicles}
    assert (
        not {line.text.replace(" ", "") for line in RapidReader().read(view, (0, 0, 384, 384)).lines} & codes
    )
