from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.drawing.signs import BLACK_INK, WHITE_INK, Scene, Sign, ink_for, relative_luminance
from pixelis.envs.pixel.zoom_read.scene import sample_scene
from pixelis.errors import TaskError


def make_sign(**changes):
    values = dict(
        kind="sign",
        colour="red",
        rgb=(208, 32, 38),
        ink=WHITE_INK,
        code="ACEF",
        center=(500, 300),
        size=(120, 40),
        angle_degrees=0.0,
        text_height=16,
        font=FONTS[0],
    )
    return Sign(**(values | changes))


def test_box_of_an_upright_sign():
    assert make_sign().box(1000) == (0.44, 0.28, 0.56, 0.32)


def test_box_of_a_sign_turned_by_a_quarter_swaps_its_sides():
    assert make_sign(angle_degrees=90.0).box(1000) == (0.48, 0.24, 0.52, 0.36)


def test_box_of_a_tilted_sign():
    cos, sin = math.cos(math.radians(30)), 0.5
    width, height = 120 * cos + 40 * sin, 120 * sin + 40 * cos
    x0, y0, x1, y1 = make_sign(angle_degrees=-30.0).box(1000)
    assert (x1 - x0, y1 - y0) == pytest.approx((width / 1000, height / 1000), abs=2e-6)


def test_box_ends_at_the_edge_of_the_scene():
    assert make_sign(center=(10, 995)).box(1000) == (0.0, 0.975, 0.07, 1.0)


def test_luminance_of_the_ends_of_the_scale():
    assert relative_luminance((0, 0, 0)) == 0.0
    assert relative_luminance((255, 255, 255)) == pytest.approx(1.0)


def test_ink_contrasts_with_the_board():
    assert ink_for((24, 40, 100)) == WHITE_INK
    assert ink_for((250, 214, 40)) == BLACK_INK


@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.sampled_from(["train", "test"]))
def test_json_round_trip_is_exact(seed, difficulty, split):
    scene = sample_scene(np.random.default_rng(seed), difficulty, split)
    again = Scene.from_json(json.loads(json.dumps(scene.to_json())))
    assert again == scene
    assert hash(again) == hash(scene)


WRONG_SIGNS = [
    ("kind", "poster"),
    ("colour", "grey"),
    ("colour", ["red"]),
    ("rgb", [1, 2]),
    ("rgb", [1, 2, 256]),
    ("rgb", [1, 2, "3"]),
    ("ink", None),
    ("code", ""),
    ("code", 7),
    ("code", "A\n"),
    ("center", [-1, 5]),
    ("center", [5.5, 5]),
    ("size", [0, 40]),
    ("size", [10**9, 40]),
    ("angle_degrees", float("nan")),
    ("angle_degrees", "5"),
    ("text_height", 10**6),
    ("text_height", True),
    ("font", "../../secret.ttf"),
]


@pytest.mark.parametrize(("field", "value"), WRONG_SIGNS)
def test_a_sign_that_cannot_be_drawn_is_refused(field, value):
    data = sample_scene(np.random.default_rng(0), 0, "train").to_json()
    data["signs"][1][field] = value
    with pytest.raises(TaskError, match=r"expected a scene as Scene.to_json writes it"):
        Scene.from_json(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("size", "big"), ("size", 1536.5), ("signs", 3), ("signs", [3]), ("backdrop_seed", -1), ("noise", 65)],
)
def test_a_scene_of_wrong_parts_is_refused(field, value):
    data = sample_scene(np.random.default_rng(0), 0, "train").to_json() | {field: value}
    with pytest.raises(TaskError):
        Scene.from_json(data)


@pytest.mark.parametrize("field", ["size", "signs", "backdrop_seed", "noise"])
def test_a_missing_part_is_named(field):
    data = sample_scene(np.random.default_rng(0), 0, "train").to_json()
    del data[field]
    with pytest.raises(TaskError, match=field):
        Scene.from_json(data)


def test_a_sign_with_a_field_too_many_is_refused():
    data = sample_scene(np.random.default_rng(0), 0, "train").to_json()
    data["signs"][0]["price"] = 3
    with pytest.raises(TaskError, match="price"):
        Scene.from_json(data)


PARTS = st.sampled_from(["size", "signs", "backdrop_seed", "noise"])


@given(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text()
    | st.lists(st.integers())
    | st.dictionaries(PARTS, st.none() | st.text() | st.floats())
)
def test_any_other_json_is_refused(data):
    with pytest.raises(TaskError):
        Scene.from_json(data)
