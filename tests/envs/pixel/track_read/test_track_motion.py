from __future__ import annotations

import math

import numpy as np
import pytest

from pixelis.envs.pixel.track_read.motion import (
    apart,
    boxes_along,
    bridge_box,
    drive,
    prediction_errors,
    stretches,
    tree_box,
    visible_share,
)


def straight(speed, frames=8, x=100, y=500):
    return np.array([(x + speed * i, y) for i in range(frames)])


def test_a_driver_keeps_a_speed_and_tends_to_the_next_one():
    path = drive([10, 10], (100, 470), None, [])
    assert path[:, 0].tolist() == [100 + 10 * i for i in range(16)]
    assert set(path[:, 1]) == {470}
    faster = drive([10, 16], (100, 470), None, [])
    steps = np.diff(faster[:, 0])
    assert steps[:8].tolist() == [10] * 8
    assert steps[8:].tolist() == [10, 11, 13, 13, 15, 16, 16]  # 1.2 more a frame, in whole pixels


def test_speed_and_lane_do_not_change_where_something_hides():
    path = drive([10, 20, 20], (100, 470), (0, 566), [range(0, 10_000)])
    assert np.diff(path[:, 0]).tolist() == [10] * 23
    assert set(path[:, 1]) == {470}


def test_a_change_of_lanes_takes_twelve_frames_and_goes_on_once_begun():
    path = drive([10, 10, 10], (100, 470), (2, 566), [range(140, 10_000)])
    assert path[:3, 1].tolist() == [470, 470, 470]
    assert path[3:14, 1].tolist() == [470 + 8 * i for i in range(1, 12)]
    assert (path[14:, 1] == 566).all()


def test_boxes_and_stretches_by_hand():
    assert boxes_along(np.array([[100, 500]]), (190, 64)).tolist() == [[5, 436, 195, 500]]
    assert tree_box((200, 842)) == (110, 592, 290, 842)
    assert bridge_box((600, 800)) == (600, 320, 800, 1298)
    tree = tree_box((200, 842))
    assert stretches([tree], [758], (190, 64)) == [range(110 - 135, 290 + 135)]
    assert stretches([tree], [470], (190, 64)) == []


def test_apart_looks_at_near_lanes_only():
    assert apart(straight(10), straight(10, x=330), 230)
    assert not apart(straight(10), straight(10, x=329), 230)
    assert apart(straight(10), straight(10, y=590), 230)
    assert not apart(straight(10), straight(10, y=589), 230)
    assert not apart(straight(20, 12), straight(0, 12, x=400), 100)


def test_visible_share_by_hand():
    boxes = np.array([[100, 436, 220, 500]])
    assert visible_share(boxes, [], []).tolist() == [1]
    assert visible_share(boxes, [(100, 0, 160, 1000)], []).tolist() == [0.5]
    assert visible_share(boxes, [(100, 0, 160, 1000), (130, 0, 190, 1000)], []).tolist() == [0.25]
    nearer, farther = np.array([[160, 400, 400, 560]]), np.array([[160, 300, 400, 480]])
    assert visible_share(boxes, [], [nearer]).tolist() == [0.5]
    assert visible_share(boxes, [], [farther]).tolist() == [1]
    assert visible_share(np.array([[-60, 436, 60, 500]]), [], []).tolist() == [0.5]


def test_prediction_errors_by_hand():
    seen = np.ones(12, bool)
    assert prediction_errors(straight(10, 12), seen) == []
    seen[5:8] = False
    assert prediction_errors(straight(10, 12), seen) == [(3, 0.0)]
    path = straight(10, 12)
    path[8:, 0] += 30
    path[8:, 1] += 40
    assert prediction_errors(path, seen) == [(3, pytest.approx(50.0))]
    seen[5:] = False
    assert prediction_errors(path, seen) == [(7, math.inf)]
