"""A workspace with frames, and the tools for them: what they do, and what they refuse."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from PIL import Image

from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.video import Film, VideoWorkspace, film_of
from pixelis.envs.pixel.base.video_tools import VIDEO_TOOLS, reported_frames
from pixelis.envs.pixel.tools.ocr_truth import TruthReader
from pixelis.envs.pixel.tools.toolset import NEED_FRAMES
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.tools import Toolset

RED = (208, 32, 38)


def no_reader(picture: Picture, view_box: Box) -> TruthReader:
    return TruthReader()


def square_frames(count=20, stop=None):
    """A red square of 40 pixels that moves to the right by 6 a frame; gone after ``stop`` frames."""
    images = []
    for frame in range(count):
        image = Image.new("RGB", (256, 256), (120, 122, 124))
        if stop is None or frame < stop:
            image.paste(RED, (20 + 6 * frame, 100, 60 + 6 * frame, 140))
        images.append(image)
    return images


def open_film(images):
    workspace = VideoWorkspace(film_of(images), 128, no_reader)
    return workspace, partial(Toolset(VIDEO_TOOLS, lambda task: workspace).call, workspace)


def square_box(frame):
    return [(20 + 6 * frame) / 256, 100 / 256, (60 + 6 * frame) / 256, 140 / 256]


def test_a_frame_is_opened_at_the_same_view():
    workspace, call = open_film(square_frames())
    call("ZOOM", {"box": [0.25, 0.25, 0.75, 0.75]})
    before = workspace.view
    result = call("SELECT_FRAME", {"frame": 19})
    assert result.text == "Frame 19 of 0 to 19, view [0.25, 0.25, 0.75, 0.75]."
    assert result.data == {"frame": 19, "frames": 20, "view": [0.25, 0.25, 0.75, 0.75]}
    assert workspace.frame == 19 and not np.array_equal(workspace.view, before)
    assert call("SELECT_FRAME", {"frame": 0}).ok and np.array_equal(workspace.view, before)


@pytest.mark.parametrize("frame", [20, 63, 64, -1, 10**9])
def test_a_frame_out_of_range_is_refused_with_the_range(frame):
    workspace, call = open_film(square_frames())
    result = call("SELECT_FRAME", {"frame": frame})
    assert (result.ok, result.error_code) == (False, "out_of_range")
    assert "0 to 19" in result.text or "63" in result.text or "minimum of 0" in result.text
    assert workspace.frame == 0


def test_regions_belong_to_their_frame():
    _, call = open_film(square_frames())
    (row,) = call("SEGMENT", {"point": [0.15, 0.47]}).data["regions"]
    assert row["box"] == pytest.approx(square_box(0), abs=0.01)
    assert call("SELECT_FRAME", {"frame": 1}).ok
    for tool in ("TRACK", "ZOOM", "READ_TEXT", "GET_PROPERTIES"):
        assert call(tool, {"region": row["region"]}).error_code == "stale_region"
    assert call("TRACK", {"region": 99}).error_code == "unknown_region"


@pytest.mark.parametrize("given", ["box", "region"])
def test_track_says_where_the_object_is(given):
    workspace, call = open_film(square_frames())
    region = call("SEGMENT", {"point": [0.15, 0.47]}).data["regions"][0]["region"]
    result = call("TRACK", {"box": square_box(0)} if given == "box" else {"region": region})
    assert result.ok and not result.data["lost"] and result.data["last_seen"] == 19
    assert result.data["method"] == "mean_shift"
    rows = result.data["track"]
    assert [row["frame"] for row in rows] == [*range(0, 19, 2), 19]
    for row in rows:
        assert row["box"] == pytest.approx(square_box(row["frame"]), abs=0.02)
    assert result.text.splitlines()[-1].startswith("19: [0.52, 0.39, 0.68, 0.55] 1.00")
    assert workspace.frame == 0


def test_track_goes_to_the_frame_it_is_told_and_backwards():
    _, call = open_film(square_frames())
    assert [row["frame"] for row in call("TRACK", {"box": square_box(0), "to": 3}).data["track"]] == [
        0,
        1,
        2,
        3,
    ]
    call("SELECT_FRAME", {"frame": 3})
    rows = call("TRACK", {"box": square_box(3), "to": 0}).data["track"]
    assert [row["frame"] for row in rows] == [3, 2, 1, 0]
    assert rows[-1]["box"] == pytest.approx(square_box(0), abs=0.02)


def test_a_lost_object_has_no_box_and_is_said_to_be_lost():
    _, call = open_film(square_frames(stop=10))
    result = call("TRACK", {"box": square_box(0)})
    assert result.ok and result.data["lost"] and result.data["last_seen"] == 9
    assert result.text.splitlines()[-1] == "Lost: not seen again after frame 9."
    assert [row["box"] for row in result.data["track"] if row["frame"] > 9] == [None] * 6
    assert "12: not seen" in result.text.splitlines()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({}, "bad_arguments", "give at least one argument"),
        ({"box": [0.1, 0.1, 0.1, 0.1]}, "box_too_small", "at least 0.02"),
        ({"box": [0.5, 0.1, 0.2, 0.4]}, "box_too_small", "got -0.300"),
        ({"box": [0.1, 0.1, 1.4, 0.4]}, "out_of_range", "maximum of 1"),
        ({"box": [0.8, 0.8, 0.9, 0.9]}, "out_of_view", "ZOOM there first"),
        ({"box": [0.1, 0.1, 0.2, 0.2], "region": 1}, "bad_arguments", "only one of"),
        ({"box": [0.1, 0.1, 0.2, 0.2], "to": 20}, "out_of_range", "frames are 0 to 19"),
        ({"box": [0.1, 0.1, 0.2, 0.2], "to": 0}, "bad_arguments", "the one that is open"),
        ({"box": [0.1, 0.1, 0.2, 0.2], "to": -1}, "out_of_range", "minimum of 0"),
        ({"point": [0.1, 0.1]}, "bad_arguments", "Arguments: [box], [region], [to]"),
    ],
)
def test_bad_calls_of_track_are_refused_with_what_would_be_right(arguments, code, words):
    workspace, call = open_film(square_frames())
    call("ZOOM", {"box": [0.0, 0.0, 0.5, 0.5]})
    result = call("TRACK", arguments)
    assert (result.ok, result.error_code) == (False, code)
    assert words in result.text
    assert workspace.frame == 0


def test_a_video_of_one_frame_is_a_still_image():
    _, call = open_film(square_frames(1))
    result = call("TRACK", {"box": square_box(0)})
    assert (result.ok, result.error_code) == (False, "still_image")
    assert "ZOOM and SEGMENT" in result.text
    assert set(NEED_FRAMES) <= {tool.name for tool in VIDEO_TOOLS}


def test_reported_frames_by_hand():
    assert reported_frames(0, 63) == [*range(0, 63, 4), 63]
    assert reported_frames(0, 16) == list(range(17))
    assert reported_frames(0, 17) == [*range(0, 17, 2), 17]
    assert reported_frames(5, 4) == [5, 4]
    assert all(len(reported_frames(0, stop)) <= 17 for stop in range(1, 64))


def test_a_film_can_be_pickled():
    film = pickle.loads(pickle.dumps(film_of(square_frames(2))))
    assert isinstance(film, Film) and film.frames == 2 and film.places_of is None
    assert film.part_of(1, (26, 100, 30, 104)).getpixel((0, 0)) == RED
