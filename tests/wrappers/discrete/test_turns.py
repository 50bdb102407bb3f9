"""Numbers to turns: what is written is a call that the real parser reads, with arguments by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.actions import ToolCall, parse_action
from pixelis.envs.pixel.tools.toolset import PIXEL_TOOLS
from pixelis.errors import ConfigError
from pixelis.wrappers.discrete.tool_memory import ToolMemory
from pixelis.wrappers.discrete.turns import Choice, ToolPlan, TurnBuilder, check_grid, plan_tools

PLANS = plan_tools([tool.schema for tool in PIXEL_TOOLS])
BUILDER = TurnBuilder(PLANS, 4, (1.0, 2.0, 4.0))
ZOOM, READ, SEGMENT, PROPERTIES, ANSWER = range(5)


def schema(**parameters):
    return {"type": "function", "function": {"name": "T", "description": "", "parameters": parameters}}


def memory(view=(0.0, 0.0, 1.0, 1.0), choices=()):
    book = ToolMemory(choices, frozenset())
    book.note([{"tool": "ZOOM", "ok": True, "data": {"view": list(view)}}])
    return book


def arguments(tool, x=0, y=0, scale=0, **keywords):
    calls = parse_action(BUILDER.write(Choice(tool, x, y, scale, 0), memory(**keywords))).calls
    assert len(calls) == 1 and isinstance(calls[0], ToolCall)
    assert calls[0].name == PLANS[tool].name
    return calls[0].arguments


def test_which_tools_and_how():
    assert [(plan.name, plan.way) for plan in PLANS] == [
        ("ZOOM", "look"),
        ("READ_TEXT", "box"),
        ("SEGMENT", "point"),
        ("GET_PROPERTIES", "region"),
    ]
    assert BUILDER.sizes == (5, 4, 4, 3, 8)


def test_a_frame_is_a_number_and_what_cannot_be_expressed_is_left_out():
    frame = {"index": {"type": "integer", "minimum": 0, "maximum": 31}}
    plans = plan_tools(
        [
            schema(properties=frame, required=["index"]),
            schema(properties={"thought": {"type": "string"}}, required=["thought"]),
            schema(properties={"index": {"type": "integer"}}, required=["index"]),
            schema(),
        ]
    )
    assert plans == (ToolPlan("T", "number", "index", 0, 31),)
    builder = TurnBuilder(plans, 4, (1.0, 2.0))
    turns = [builder.write(Choice(0, x, y, 0, 0), memory()) for x, y in ((0, 0), (3, 3))]
    assert [parse_action(turn).calls[0].arguments for turn in turns] == [{"index": 0}, {"index": 31}]


def test_zoom_points_into_the_scene_whatever_the_view():
    expected = {"center": [0.375, 0.875], "factor": 4.0}
    assert arguments(ZOOM, 1, 3, 2) == expected
    assert arguments(ZOOM, 1, 3, 2, view=(0.5, 0.5, 1.0, 1.0)) == expected


def test_other_tools_point_into_the_view():
    assert arguments(SEGMENT, 1, 3, 1, view=(0.5, 0.0, 1.0, 0.5)) == {"point": [0.6875, 0.4375]}
    assert arguments(READ, 1, 2, 2, view=(0.5, 0.0, 1.0, 0.5)) == {"box": [0.625, 0.25, 0.75, 0.375]}
    assert arguments(READ, 0, 3, 1) == {"box": [0.0, 0.5, 0.5, 1.0]}  # moved inside the view


def test_scale_0_is_no_place():
    assert arguments(SEGMENT, 1, 3, 0) == arguments(READ, 1, 3, 0) == {}
    assert arguments(PROPERTIES, 1, 3, 2) == {"region": 1}


def test_answers():
    book = memory(choices=("red", "blue"))
    assert BUILDER.write(Choice(ANSWER, 3, 3, 2, 1), book) == "<answer>blue</answer>"
    assert BUILDER.write(Choice(ANSWER, 3, 3, 2, 2), book) == "<answer>red</answer>"  # slots go round
    assert BUILDER.write(Choice(ANSWER, 3, 3, 2, 2), memory()) == ""  # nothing was read yet
    counts = TurnBuilder(PLANS, 4, (1.0, 2.0), numbers=True)
    assert counts.write(Choice(ANSWER, 3, 2, 0, 0), memory()) == "<answer>11</answer>"


def test_a_look_snaps_to_the_nearest_region_that_is_known():
    schema = {"name": "ZOOM", "parameters": {"properties": {"center": {}, "factor": {}, "region": {}}}}
    plans = plan_tools([{"function": schema}])
    free, snapping = (TurnBuilder(plans, 4, (1.0, 2.0), snap=snap) for snap in (False, True))
    book, close = memory(), Choice(0, 3, 3, 1, 0)
    assert snapping.write(close, book) == free.write(close, book)  # nothing is known yet
    rows = [{"region": 1, "colour": "red", "area": 0.1, "box": [0.0, 0.0, 0.2, 0.2]}]
    rows += [{"region": 2, "colour": "red", "area": 0.1, "box": [0.7, 0.7, 0.9, 0.9]}]
    book.note([{"tool": "S", "ok": True, "data": {"regions": rows}}])
    assert '"arguments": {"region": 2}' in snapping.write(close, book)
    assert '"arguments": {"region": 1}' in snapping.write(Choice(0, 0, 1, 1, 0), book)
    assert '"center": [0.875, 0.875]' in free.write(close, book)
    assert '"factor": 1.0' in snapping.write(Choice(0, 3, 3, 0, 0), book)  # scale 0 goes back to the whole


def test_one_factor_leaves_no_choice_of_scale():
    """ZOOM has a place, SEGMENT and READ_TEXT take the whole view, so no place of theirs counts."""
    single = TurnBuilder(PLANS, 4, (3.0,))
    assert single.sizes[3] == 1
    assert '"factor": 3.0' in single.write(Choice(0, 3, 3, 0, 0), memory())
    assert '"center": [0.875, 0.875]' in single.write(Choice(0, 3, 3, 0, 0), memory())
    by_way = {plan.way: single.counted()[index, 0].tolist() for index, plan in enumerate(PLANS)}
    assert by_way["look"][:3] == [True, True, True]
    for way in ("point", "box"):
        assert by_way[way][:3] == [True, False, False]


def test_distinct_choices_write_distinct_turns():
    book = memory(choices=list("abcdefgh"))
    book.note([{"tool": "S", "ok": True, "data": {"regions": _region_in_every_cell()}}])
    choices = BUILDER.distinct()
    turns = [BUILDER.write(choice, book) for choice in choices]
    # ZOOM: all, 2 · 16; READ_TEXT and SEGMENT likewise, but a point is the same at every other scale
    assert len(choices) == 3 * 33 + 16 + 8
    assert len(set(turns)) == len(turns) - 16
    counts = TurnBuilder(PLANS, 4, (1.0, 2.0), numbers=True)
    assert len(counts.distinct()) == 3 * 17 + 16 + 16


def _region_in_every_cell():
    places = [((i % 4 + 0.5) / 4, (i // 4 + 0.5) / 4) for i in range(16)]
    return [
        {"region": i + 1, "colour": "red", "area": 0.01, "box": [x - 0.01, y - 0.01, x + 0.01, y + 0.01]}
        for i, (x, y) in enumerate(places)
    ]


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.floats(0, 0.5))
def test_every_argument_is_valid_by_the_tools_schema(tool, x, y, scale, corner):
    view = (corner, corner, corner + 0.5, corner + 0.5)
    given_arguments = arguments(tool, x, y, scale, view=view)
    assert not list(PIXEL_TOOLS[tool].validator.iter_errors(given_arguments))


@pytest.mark.parametrize(
    ("grid", "factors"),
    [(1, (1, 2)), (65, (1, 2)), (True, (1, 2)), (4, (2, 4)), (4, (1,)), (4, (1, 4, 2)), (4, (1, 99)), (4, 3)],
)
def test_bad_grids(grid, factors):
    with pytest.raises(ConfigError, match="is usual"):
        check_grid(grid, factors)
