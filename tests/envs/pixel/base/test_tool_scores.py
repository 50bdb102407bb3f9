"""Tool scores worked out by hand, and that no agent sees them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from pixelis.envs.check.playing import play, same
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.base.tool_scores import (
    best_iou,
    box_iou,
    character_errors,
    edit_distance,
    track_iou,
)
from pixelis.envs.pixel.base.video import Placement
from pixelis.envs.pixel.tools.labels import Silhouette, label_view
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv

VIEW = (0, 0, 100, 100)


def text_at(text, left, top, width=40, height=10):
    corners = ((left, top), (left + width, top), (left + width, top + height), (left, top + height))
    return TextItem(text, corners, height)


# ---------------------------------------------------------------------- edit distance


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("kitten", "sitting", 3),  # the example of the textbooks
        ("flaw", "lawn", 2),
        ("KT47", "KT47", 0),
        ("KT47", "KI47", 1),
        ("ab", "ba", 2),
        ("a" * 80, "a" * 79 + "b", 1),  # longer than a machine word
    ],
)
def test_distances_by_hand(a, b, distance):
    assert edit_distance(a, b) == edit_distance(b, a) == distance


def by_table(a, b):
    """The distance by the recurrence of Wagner and Fischer (1974), the definition."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@given(st.text("ab c", max_size=12), st.text("ab c", max_size=12))
def test_bits_count_what_the_table_counts(a, b):
    assert edit_distance(a, b) == by_table(a, b)


# ---------------------------------------------------------------------- readings


@pytest.mark.parametrize(
    ("lines", "rate"),
    [
        ([("KT47", (10, 10, 50, 20)), ("RX9A", (10, 50, 50, 60))], 0.0),
        ([("RX9A", (10, 50, 50, 60)), ("KT47", (10, 10, 50, 20))], 0.0),  # the order does not matter
        ([("KI47", (10, 10, 50, 20)), ("RX9A", (10, 50, 50, 60))], 1 / 8),
        ([("KT47", (10, 10, 50, 20))], 4 / 8),  # a line that was not seen
        ([], 1.0),
        ([("KT", (10, 10, 30, 20)), ("47", (31, 10, 50, 20)), ("RX9A", (10, 50, 50, 60))], 1 / 8),  # a space
        ([("KT47", (10, 10, 50, 20)), ("RX9A", (10, 50, 50, 60)), ("ghost", (70, 70, 90, 80))], 5 / 8),
    ],
)
def test_character_error_rates_by_hand(lines, rate):
    items = [text_at("KT47", 10, 10), text_at("RX9A", 10, 50)]
    assert character_errors(lines, items, VIEW) == rate


def test_only_what_is_in_the_box_counts():
    items = [text_at("KT47", 10, 10), text_at("RX9A", 10, 50)]
    assert character_errors([("KT47", (10, 10, 50, 20))], items, (0, 0, 100, 30)) == 0
    assert character_errors([("KT", (10, 10, 30, 20))], items, (0, 0, 30, 30)) == 0  # 10 pixels a character


def test_where_nothing_is_written():
    assert character_errors([], [], VIEW) == 0
    assert character_errors([], [text_at("KT47", 200, 10)], VIEW) == 0
    assert character_errors([("ghost", (0, 0, 9, 9))], [], VIEW) == 1


def test_other_forms_of_a_character_are_the_same():
    assert character_errors([("№ 4", (10, 10, 50, 20))], [text_at("No  4", 10, 10)], VIEW) == 0


# ---------------------------------------------------------------------- segments


def test_iou_by_hand():
    labels = np.zeros((10, 10), np.uint16)
    labels[0:4, 0:5] = 1  # 20 pixels
    labels[6:10, 0:10] = 2  # 40 pixels
    areas = np.bincount(labels.ravel())
    mask = np.zeros((10, 10), bool)
    mask[2:8, 0:5] = True  # 30 pixels: 10 of the first, 10 of nothing, 10 of the second
    assert best_iou(mask, labels, areas, (0, 2, 5, 8)) == 10 / 40
    mask[8:10, 0:5] = True
    assert best_iou(mask, labels, areas, (0, 2, 5, 10)) == 20 / 60
    assert best_iou(labels == 2, labels, areas, (0, 6, 10, 10)) == 1
    nothing = np.zeros((10, 10), bool)
    nothing[4:6] = True
    assert best_iou(nothing, labels, areas, (0, 4, 10, 6)) == 0


# ---------------------------------------------------------------------- in an environment


class TwoSquares(ZoomReadEnv):
    """A red square of [0.1, 0.3] and a word; the labels say that a second object hides its right half."""

    known = True

    def open_picture(self, task):
        image = Image.new("RGB", (800, 800), (128, 128, 128))
        ImageDraw.Draw(image).rectangle((80, 80, 239, 239), fill=(208, 32, 38))
        square, half = np.ones((160, 160), bool), np.ones((160, 80), bool)
        labels = partial(label_view, [Silhouette(80, 80, square), Silhouette(160, 80, half)], 800)
        return Picture(image, words, labels) if self.known else Picture(image)


def words(view_box, view_size):
    return (
        [text_at("KT47", 0.5 * view_size, 0.5 * view_size, 0.2 * view_size, 12)] if view_box[0] == 0 else []
    )


def scores(env, *calls):
    return [record.get("scores") for record in env.step("".join(calls))[4]["tool_calls"]]


@pytest.fixture
def env():
    env = TwoSquares(reader="truth")
    env.reset(seed=0)
    return env


def test_calls_are_scored_in_the_view_they_were_made_in(env):
    found = scores(
        env, call("SEGMENT", point=[0.15, 0.2]), call("READ_TEXT"), call("ZOOM", center=[0.9, 0.9])
    )
    assert found[0]["iou"] == pytest.approx(0.5, abs=0.02)  # half of what was found is the other object
    assert found[1] == {"cer": 0.0}
    assert found[2] is None
    assert scores(env, call("READ_TEXT"), call("SEGMENT")) == [{"cer": 0.0}, None]


def test_what_was_refused_or_looks_at_nothing_has_no_score(env):
    calls = [call("SEGMENT", point=[2, 2]), call("READ_TEXT", region=7), call("THINK"), call("NOPE")]
    assert scores(env, *calls) == [None] * 4


def test_a_picture_without_ground_truth_has_no_scores(env):
    bare = TwoSquares(reader="truth")
    bare.known = False
    bare.reset(seed=0)
    assert scores(bare, call("SEGMENT"), call("READ_TEXT")) == [None, None]


def test_an_agent_is_shown_the_same_with_and_without_ground_truth():
    shown = []
    for known in (True, False):
        env = TwoSquares()
        env.known = known
        env.reset(seed=0)
        shown.append([env.step(call("SEGMENT"))[0], env.step(call("READ_TEXT"))[0]])
    assert same(*shown)


@pytest.mark.parametrize("reader", ["truth", "ocr"])
def test_the_oracle_of_zoom_read_reads_without_an_error(reader):
    env = ZoomReadEnv(reader=reader)
    episode = play(env, env.players()["oracle"](env), 0)
    records = [
        record for turn in episode for record in turn[4]["tool_calls"] if record["tool"] == "READ_TEXT"
    ]
    assert [record["scores"] for record in records] == [{"cer": 0.0}]


# ---------------------------------------------------------------------- TRACK


def places(frame):
    """Two objects; the first moves by 0.1 a frame and is hidden in frame 2, the second stands still."""
    first = Placement((0.1 * frame, 0.0, 0.1 * frame + 0.2, 0.2), 0.0 if frame == 2 else 1.0)
    return [first, Placement((0.6, 0.6, 0.8, 0.8), 1.0) if frame < 3 else Placement(None, 0.0)]


def rows(*boxes):
    return [{"frame": frame, "box": box} for frame, box in enumerate(boxes)]


MOVING = [(0.1 * frame, 0.0, 0.1 * frame + 0.2, 0.2) for frame in range(4)]


@pytest.mark.parametrize(
    ("start", "reported", "expected"),
    [
        (MOVING[0], rows(*MOVING), 1.0),
        (MOVING[0], rows(MOVING[0], MOVING[1], None, MOVING[3]), 1.0),  # hidden, and not reported
        (MOVING[0], rows(MOVING[0], MOVING[1], None, None), 0.5),  # in sight, and not reported
        (MOVING[0], rows(MOVING[0], MOVING[0]), 1 / 3),
        (MOVING[0], rows(MOVING[0], (0.6, 0.6, 0.8, 0.8)), 0.0),
        ((0.61, 0.6, 0.81, 0.8), rows(None, (0.6, 0.6, 0.8, 0.8)), 1.0),
        ((0.6, 0.6, 0.8, 0.8), rows(None, (0.6, 0.6, 0.8, 0.8), None, (0.6, 0.6, 0.8, 0.8)), 1 / 3),
        ((0.3, 0.8, 0.4, 0.9), rows(None, (0.3, 0.8, 0.4, 0.9)), 0.0),  # nothing is there
    ],
)
def test_a_track_is_scored_by_hand(start, reported, expected):
    assert track_iou(places, (0, start), reported) == pytest.approx(expected)


def test_a_track_of_no_frame_in_sight_has_no_score():
    assert (
        track_iou(places, (0, MOVING[0]), [{"frame": 0, "box": MOVING[0]}, {"frame": 2, "box": None}]) is None
    )


def test_box_iou_by_hand():
    assert box_iou((0, 0, 2, 2), (1, 1, 3, 3)) == pytest.approx(1 / 7)
    assert box_iou((0, 0, 1, 1), (1, 0, 2, 1)) == 0
