from __future__ import annotations

import cv2
import numpy as np
import pytest

from pixelis.envs.pixel.tools.labels import label_map_view
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.wire_trace.grid import BENDS_LEFT, LEVEL_OVER, UPRIGHT_OVER
from pixelis.envs.pixel.wire_trace.paint import paint_wires, wire_labels
from pixelis.envs.pixel.wire_trace.scene import LEVELS, WireScene, sample_wire_scene

LINES = (190, 575, 960, 1346)


def board(middle):
    """3 x 3 plain tiles: the middle one crosses, all others bend."""
    tiles = [BENDS_LEFT] * 4 + [middle] + [BENDS_LEFT] * 4
    return WireScene(
        side=1536,
        grid=3,
        tiles=tuple(tiles),
        corners=tuple((x, y) for y in LINES for x in LINES),
        gates=(50,) * 24,
        colours=("red", "orange", "green", "blue", "purple", "pink"),
        codes=tuple(f"A{number}" for number in range(12)),
        font="Roboto-Bold.ttf",
        text_height=15,
        seed=5,
        noise=0,
    )


def at_crossing(scene):
    """The picture and the labels in a window of 60 pixels around the middle of the scene."""
    image, label_map = paint_wires(scene)
    window = slice(738, 798), slice(738, 798)
    return np.asarray(image)[window].astype(int), label_map[window]


@pytest.mark.parametrize("kind", [UPRIGHT_OVER, LEVEL_OVER])
def test_the_upper_cable_runs_on_and_the_lower_one_has_a_gap(kind):
    pixels, labels = at_crossing(board(kind))
    if kind == LEVEL_OVER:
        pixels, labels = pixels.transpose(1, 0, 2), labels.T
    column, row = labels[:, 30], labels[30]
    assert len(set(column)) == 1 and column[0] > 0
    assert set(row[:15]) != {0} and set(row[45:]) != {0} and row[0] != row[-1]
    assert row[30] == column[0]
    gaps = np.flatnonzero(row[15:45] == 0) + 15
    assert 6 <= len(gaps) <= 16
    # grey board shows through
    assert (np.ptp(pixels[30, [gaps[1], gaps[-2]]], axis=-1) < 20).all()


def test_pixels_of_a_cable_have_its_colour():
    image, label_map = paint_wires(board(UPRIGHT_OVER))
    pixels = np.asarray(image)
    names = {}
    for number in range(1, 8):
        medians = np.median(pixels[label_map == number], axis=0)
        names[number] = [name for name, rgb in PALETTE.items() if np.abs(medians - rgb).max() <= 3]
    found = [name for name, *rest in names.values()]
    assert set(found) == {"red", "orange", "green", "blue", "purple", "pink"}
    assert len(found) == 7  # six cables, of which one is in two pieces


@pytest.mark.parametrize("difficulty", [1, 4])
def test_every_piece_is_connected_and_apart_from_the_others(difficulty):
    scene, *_ = sample_wire_scene(np.random.default_rng(difficulty), difficulty, "test")
    label_map = paint_wires(scene)[1]
    cable_pieces = 2 * scene.grid + LEVELS[difficulty].crossings
    assert label_map.max() == cable_pieces + 4 * scene.grid
    for number in range(1, cable_pieces + 1):
        count, _ = cv2.connectedComponents((label_map == number).astype(np.uint8), connectivity=8)
        assert count == 2, number  # the piece and the rest
    pieces = ((label_map > 0) & (label_map <= cable_pieces)).astype(np.uint8)
    assert cv2.connectedComponents(pieces, connectivity=8)[0] == cable_pieces + 1


def test_labels_of_a_view_are_the_maps():
    scene = board(UPRIGHT_OVER)
    box = (0.25, 0.5, 0.5, 0.75)
    assert np.array_equal(wire_labels(scene, box, 96), label_map_view(paint_wires(scene)[1], box, 96))
    assert not paint_wires(scene)[1].flags.writeable


def test_the_same_scene_paints_the_same_bytes():
    scene, *_ = sample_wire_scene(np.random.default_rng(7), 3, "train")
    first, second = (paint_wires.__wrapped__(scene) for _ in range(2))
    assert first[0].tobytes() == second[0].tobytes()
    assert np.array_equal(first[1], second[1])


def test_noise_changes_pixels_by_its_amplitude_at_most():
    import dataclasses

    plain = board(LEVEL_OVER)
    noisy = dataclasses.replace(plain, noise=3)
    difference = np.abs(np.asarray(paint_wires(plain)[0], int) - np.asarray(paint_wires(noisy)[0], int))
    assert 1 <= difference.max() <= 6
