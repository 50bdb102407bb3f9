from __future__ import annotations

import numpy as np
from PIL import Image

from pixelis.envs.pixel.tools.labels import Silhouette, label_map_view, label_view, silhouette
from pixelis.envs.pixel.tools.view import square_box
from pixelis.envs.pixel.zoom_read.paint import sign_labels
from pixelis.envs.pixel.zoom_read.scene import sample_scene

SQUARE = Silhouette(2, 4, np.ones((2, 4), bool))  # columns 2-5, rows 4-5 of a scene of 8 x 8


def test_a_view_of_the_whole_scene_by_hand():
    labels = label_view([SQUARE], 8, (0.0, 0.0, 1.0, 1.0), 4)  # centres at 1, 3, 5, 7
    assert labels.tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_a_closer_view_by_hand():
    labels = label_view([SQUARE], 8, (0.5, 0.5, 1.0, 1.0), 8)  # columns and rows 4-7, two view pixels each
    assert labels[:4, :4].tolist() == [[1] * 4] * 4
    assert labels.sum() == 16


def test_the_later_one_hides_the_earlier():
    hidden = Silhouette(0, 0, np.ones((8, 8), bool))
    labels = label_view([hidden, SQUARE], 8, (0.0, 0.0, 1.0, 1.0), 8)
    assert (labels == 2).sum() == 8
    assert (labels == 1).sum() == 56


def test_a_map_of_the_whole_scene_shows_what_silhouettes_do():
    label_map = np.zeros((8, 8), np.uint8)
    label_map[4:6, 2:6] = 1
    for box, size in (((0.0, 0.0, 1.0, 1.0), 4), ((0.5, 0.5, 1.0, 1.0), 8), ((0.1, 0.3, 0.7, 0.9), 5)):
        labels = label_map_view(label_map, box, size)
        assert labels.dtype == np.uint16
        assert np.array_equal(labels, label_view([SQUARE], 8, box, size))


def test_parts_outside_the_scene_and_the_view_are_left_out():
    outside = Silhouette(-3, 6, np.ones((5, 5), bool))
    labels = label_view([outside], 8, (0.0, 0.0, 1.0, 1.0), 8)
    assert labels.sum() == 2 * 2
    assert label_view([outside], 8, (0.5, 0.0, 1.0, 0.5), 8).sum() == 0
    assert label_view([], 8, (0.0, 0.0, 1.0, 1.0), 8).sum() == 0


def test_half_covered_pixels_belong_to_the_object():
    found = silhouette(Image.fromarray(np.array([[0, 127, 128, 255]], np.uint8)), 3, 5)
    assert (found.left, found.top, found.mask.tolist()) == (3, 5, [[False, False, True, True]])


def test_the_labels_of_a_street_are_its_signs():
    scene = sample_scene(np.random.default_rng(0), 1, "train")
    for number, sign in enumerate(scene.signs, 1):
        center = [value / scene.size for value in sign.center]
        view = square_box(center, 8)
        labels = sign_labels(scene, view, 384)
        x, y = ((value - origin) * 8 * 384 for value, origin in zip(center, view[:2], strict=True))
        assert labels[int(y), int(x)] == number
        scale = 8 * 384 / scene.size  # a sign of w x h native pixels, its rounded corners left out
        area = sign.size[0] * sign.size[1] * scale**2
        assert 0.97 * area < (labels == number).sum() <= 1.01 * area
