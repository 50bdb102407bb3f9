from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pixelis.envs.pixel.tools.ocr import Reading, TextLine
from pixelis.envs.pixel.tools.toolset import NO_TEXT, pixel_toolset
from pixelis.envs.pixel.tools.workspace import WHOLE, PixelWorkspace, format_box
from pixelis.envs.tools import CallRefused

TOOLSET = pixel_toolset(lambda task: None)


class FixedReader:
    """Reads "AB 12" in the middle half of whatever box it is given."""

    def read(self, view, box):
        x0, y0, x1, y1 = box
        quarter = (x1 - x0) // 4
        return Reading((TextLine("AB 12", (x0 + quarter, y0, x1 - quarter, y1), 0.9, ()),))


@pytest.fixture
def workspace():
    """Grey, 800 × 800, with a red square at [0.1, 0.1, 0.3, 0.3] and a blue one at [0.6, 0.7, 0.9, 0.9]."""
    image = Image.new("RGB", (800, 800), (128, 128, 128))
    draw = ImageDraw.Draw(image)
    draw.rectangle((80, 80, 239, 239), (208, 32, 38))
    draw.rectangle((480, 560, 719, 719), (30, 60, 200))
    return PixelWorkspace(image, 200, lambda view_box: FixedReader())


def call(workspace, name, **arguments):
    return TOOLSET.call(workspace, name, arguments)


# ---------------------------------------------------------------------- coordinates


def test_view_pixels_to_scene_by_hand(workspace):
    assert workspace.to_scene((0, 0, 200, 200)) == (0.0, 0.0, 1.0, 1.0)
    workspace.look((0.5, 0.25, 0.75, 0.5))
    assert workspace.to_scene((0, 0, 200, 200)) == pytest.approx((0.5, 0.25, 0.75, 0.5))
    assert workspace.to_scene((100, 40, 150, 80)) == pytest.approx((0.625, 0.3, 0.6875, 0.35))


def test_scene_to_view_pixels_by_hand(workspace):
    assert workspace.to_view((0.1, 0.2, 0.3, 0.4)) == (20, 40, 60, 80)
    workspace.look((0.5, 0.25, 0.75, 0.5))
    assert workspace.to_view((0.625, 0.3, 0.6875, 0.35)) == (100, 40, 150, 80)
    assert workspace.to_view((0.0, 0.0, 1.0, 1.0)) == (0, 0, 200, 200)
    assert workspace.to_view((0.4, 0.4, 0.6, 0.6)) == (0, 120, 80, 200)
    assert workspace.to_view(workspace.view_box) == (0, 0, 200, 200)


@pytest.mark.parametrize("box", [(0.0, 0.0, 0.4, 0.4), (0.8, 0.3, 0.9, 0.4), (0.75, 0.25, 0.9, 0.5)])
def test_a_box_outside_the_view_is_refused_with_the_view(workspace, box):
    workspace.look((0.5, 0.25, 0.75, 0.5))
    with pytest.raises(CallRefused, match=r"\[0.50, 0.25, 0.75, 0.50\]; ZOOM there first") as refusal:
        workspace.to_view(box)
    assert refusal.value.error_code == "out_of_view"


def test_points(workspace):
    assert workspace.point_to_view((0.5, 0.25)) == (100, 50)
    assert workspace.point_to_view((1.0, 1.0)) == (199, 199)
    workspace.look((0.5, 0.25, 0.75, 0.5))
    assert workspace.point_to_view((0.5, 0.5)) == (0, 199)
    with pytest.raises(CallRefused, match="outside the current view"):
        workspace.point_to_view((0.49, 0.3))


def test_factor(workspace):
    assert workspace.factor == 1
    workspace.look((0.5, 0.25, 0.75, 0.5))
    assert workspace.factor == 4


def test_format_box():
    assert format_box((0, 0.125, 0.5, 1)) == "[0.00, 0.12, 0.50, 1.00]"
    assert format_box((0, 0.125, 0.5, 1), 4) == "[0.0000, 0.1250, 0.5000, 1.0000]"


def test_the_view_cannot_be_written_to(workspace):
    with pytest.raises(ValueError, match="read-only"):
        workspace.view[0, 0] = 0


# ---------------------------------------------------------------------- ZOOM


def test_zoom_by_center_and_factor(workspace):
    result = call(workspace, "ZOOM", center=[0.5, 0.4], factor=5)
    assert result.text == "View [0.40, 0.30, 0.60, 0.50]."
    assert result.data["view"] == pytest.approx([0.4, 0.3, 0.6, 0.5])
    assert result.data["factor"] == 5


def test_the_usual_factor_is_four_and_views_stay_inside(workspace):
    assert call(workspace, "ZOOM", center=[0.0, 1.0]).text == "View [0.00, 0.75, 0.25, 1.00]."


def test_zoom_to_a_box_is_the_square_around_it(workspace):
    assert call(workspace, "ZOOM", box=[0.2, 0.4, 0.6, 0.5]).text == "View [0.20, 0.25, 0.60, 0.65]."
    assert call(workspace, "ZOOM", box=[0.9, 0.0, 1.0, 0.05]).text == "View [0.90, 0.00, 1.00, 0.10]."


def test_zoom_to_a_region_shows_it_with_a_margin(workspace):
    region = call(workspace, "SEGMENT", point=[0.2, 0.2]).data["regions"][0]
    assert call(workspace, "ZOOM", region=region["region"]).ok
    assert workspace.view_box == pytest.approx((0.05, 0.05, 0.35, 0.35), abs=0.01)  # a quarter of 0.2 around
    assert workspace.view[100, 100].tolist() == [208, 32, 38]
    assert workspace.view[10, 10].tolist() == [128, 128, 128]


def test_zoom_out_again(workspace):
    call(workspace, "ZOOM", center=[0.2, 0.2], factor=50)
    assert call(workspace, "ZOOM", center=[0.5, 0.5], factor=1).ok
    assert workspace.view_box == WHOLE


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({}, "bad_arguments", "give a box, a region, or a center"),
        ({"box": [0, 0, 1, 1], "region": 1}, "bad_arguments", "only one of box, region, center, not box and"),
        ({"box": [0.5, 0.5, 0.51, 0.9]}, "box_too_small", "at least 0.02, got 0.010 and 0.400"),
        ({"box": [0.9, 0.9, 0.1, 0.1]}, "box_too_small", "got -0.800"),
        ({"box": [0, 0, 1]}, "bad_arguments", "box: [0, 0, 1] is too short"),
        ({"box": [0, 0, 1, 1.5]}, "out_of_range", "box.3: 1.5 is greater than the maximum of 1"),
        ({"center": [0.5, -0.1]}, "out_of_range", "center.1"),
        ({"center": [0.5, 0.5], "factor": 0.5}, "out_of_range", "factor: 0.5 is less than the minimum of 1"),
        ({"center": [0.5, 0.5], "factor": 51}, "out_of_range", "maximum of 50"),
        ({"region": 0}, "out_of_range", "region: 0"),
        ({"region": 1}, "unknown_region", "there is no region 1; call SEGMENT first."),
        ({"centre": [0.5, 0.5]}, "bad_arguments", "Arguments: [box], [region], [center], [factor]."),
    ],
)
def test_zooms_that_are_refused_change_nothing(workspace, arguments, code, words):
    result = call(workspace, "ZOOM", **arguments)
    assert (result.ok, result.error_code) == (False, code)
    assert words in result.text
    assert workspace.view_box == WHOLE


# ---------------------------------------------------------------------- SEGMENT, regions, GET_PROPERTIES


def test_segment_without_a_prompt_lists_both_squares(workspace):
    result = call(workspace, "SEGMENT")
    found = {row["colour"]: row["box"] for row in result.data["regions"]}
    assert found["red"] == pytest.approx([0.1, 0.1, 0.3, 0.3], abs=0.011)
    assert found["blue"] == pytest.approx([0.6, 0.7, 0.9, 0.9], abs=0.011)
    assert len(found) == 2
    assert "red [0.10, 0.10, 0.30, 0.30]" in result.text


def test_segment_at_a_point_in_a_zoomed_view_is_in_scene_coordinates(workspace):
    call(workspace, "ZOOM", center=[0.75, 0.8], factor=2)
    row = call(workspace, "SEGMENT", point=[0.7, 0.8]).data["regions"][0]
    assert row["box"] == pytest.approx([0.6, 0.7, 0.9, 0.9], abs=0.006)
    assert row["colour"] == "blue"
    assert row["area"] == pytest.approx(0.3 * 0.2 * 4, abs=0.01)


def test_segment_in_a_box(workspace):
    row = call(workspace, "SEGMENT", box=[0.05, 0.05, 0.35, 0.35]).data["regions"][0]
    assert row["box"] == pytest.approx([0.1, 0.1, 0.3, 0.3], abs=0.02)


def test_ids_of_an_earlier_view_are_stale_and_never_used_again(workspace):
    first = [row["region"] for row in call(workspace, "SEGMENT").data["regions"]]
    assert first == [1, 2]
    call(workspace, "ZOOM", center=[0.2, 0.2], factor=2)
    for name in ("ZOOM", "READ_TEXT", "GET_PROPERTIES"):
        result = call(workspace, name, region=1)
        assert result.error_code == "stale_region"
        assert "belongs to an earlier view; call SEGMENT first." in result.text
    again = call(workspace, "SEGMENT", point=[0.2, 0.2]).data["regions"]
    assert [row["region"] for row in again] == [3]
    assert "regions of this view: 3." in call(workspace, "ZOOM", region=9).text
    assert call(workspace, "ZOOM", region=3).ok


def test_properties_of_a_square(workspace):
    region = call(workspace, "SEGMENT", point=[0.2, 0.2]).data["regions"][0]["region"]
    data = call(workspace, "GET_PROPERTIES", region=region).data
    assert data["colour"] == "red"
    assert data["area_share"] == pytest.approx(0.04, abs=0.002)
    assert data["centroid"] == pytest.approx([0.2, 0.2], abs=0.006)
    assert data["aspect_ratio"] == pytest.approx(1, abs=0.05)
    assert data["position"] == "top left"


def test_properties_need_a_region(workspace):
    result = call(workspace, "GET_PROPERTIES")
    assert "'region' is a required property. Arguments: region." in result.text


# ---------------------------------------------------------------------- READ_TEXT, THINK


def test_what_is_read_has_its_place_in_the_scene(workspace):
    call(workspace, "ZOOM", center=[0.25, 0.25], factor=2)
    result = call(workspace, "READ_TEXT", box=[0.1, 0.2, 0.3, 0.3])
    assert result.text == "AB 12 [0.15, 0.20, 0.25, 0.30]"
    assert result.data["text"] == "AB 12"
    assert result.data["lines"][0]["box"] == [0.15, 0.2, 0.25, 0.3]


def test_without_a_box_the_whole_view_is_read(workspace):
    call(workspace, "ZOOM", center=[0.75, 0.25], factor=2)
    assert call(workspace, "READ_TEXT").text == "AB 12 [0.62, 0.00, 0.88, 0.50]"


def test_an_empty_view_says_so(workspace):
    workspace._reader_of = lambda view_box: type("Blind", (), {"read": lambda self, view, box: Reading()})()
    result = call(workspace, "READ_TEXT")
    assert (result.text, result.ok, result.error_code) == (NO_TEXT, False, "no_text")
    workspace.image = Image.new("RGB", (800, 800), (128, 128, 128))
    workspace.look(WHOLE)
    assert call(workspace, "SEGMENT").text == "No region stands out here."


def test_segment_lists_a_colour_alone(workspace):
    every = call(workspace, "SEGMENT").data["regions"]
    assert sorted(row["colour"] for row in every) == ["blue", "red"]
    result = call(workspace, "SEGMENT", colour="red")
    assert result.text == "3: red [0.10, 0.10, 0.30, 0.30]"  # 1 and 2 are those of the first call
    assert call(workspace, "GET_PROPERTIES", region=3).data["colour"] == "red"
    assert call(workspace, "SEGMENT", colour="green").text == "No region stands out here."
    refused = call(workspace, "SEGMENT", colour="reddish")
    assert (refused.ok, refused.error_code) == (False, "bad_arguments")
    assert "sky blue" in refused.text
    assert call(workspace, "SEGMENT", colour="red", point=[0.5, 0.5]).error_code == "bad_arguments"


def test_read_outside_the_view_is_refused(workspace):
    call(workspace, "ZOOM", center=[0.25, 0.25], factor=2)
    assert call(workspace, "READ_TEXT", box=[0.6, 0.6, 0.8, 0.8]).error_code == "out_of_view"


def test_thinking_changes_nothing(workspace):
    before = workspace.view.copy()
    assert call(workspace, "THINK", thought="hm").text == "Noted."
    assert call(workspace, "THINK").ok
    assert np.array_equal(workspace.view, before)
    assert call(workspace, "THINK", thought="x" * 4001).error_code == "bad_arguments"
