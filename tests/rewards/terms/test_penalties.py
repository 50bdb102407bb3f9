"""Penalties by hand: each reason by itself, and the term step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixel_traits import penalty_term

from pixelis.errors import ConfigError
from pixelis.rewards.terms.penalties import CallTally, PenaltyTerm, charges, penalty
from pixelis.rewards.terms.term import Transition

PIXEL = penalty_term().settings
SEGMENT, ZOOM = {"tool": "SEGMENT", "ok": True}, {"tool": "ZOOM", "ok": True}
PROPERTIES, TRACK = {"tool": "GET_PROPERTIES", "ok": True}, {"tool": "TRACK", "ok": True}


def outside(**arguments):
    return {"tool": "READ_TEXT", "ok": False, "arguments": arguments}


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([], 0.0),
        ([SEGMENT, PROPERTIES, SEGMENT, PROPERTIES], 0.0),  # measuring a second object is right
        ([PROPERTIES], -0.1),
        ([{**SEGMENT, "ok": False}, PROPERTIES], -0.1),
        ([TRACK], -0.1),
        ([{**TRACK, "ok": False, "error_code": "unknown_tool"}], -0.3),  # no SEGMENT, one picture
        ([SEGMENT, {**TRACK, "ok": False, "error_code": "still_image"}], -0.2),
        ([SEGMENT, TRACK], 0.0),
        ([outside(box=[0.1, 0.1, 1.2, 0.5])], -0.05),
        ([outside(point=[-0.1, 1.5])], -0.05),  # once a call
        ([outside(center=[0.0, 1.0], factor=50)], 0.0),
        ([outside(box="everywhere")], 0.0),
        ([outside(box=[True, None, "x", {}])], 0.0),
        ([{"tool": "ZOOM", "ok": False, "error_code": "out_of_view"}], -0.05),
        ([{"tool": "ZOOM", "ok": False, "error_code": "out_of_range"}], -0.05),
        ([ZOOM] * 3, 0.0),
        ([ZOOM] * 5, -0.2),
        ([{**ZOOM, "ok": False}] * 4, -0.1),  # refused calls count towards the limit
        ([SEGMENT, *[TRACK] * 6], -0.1),
        ([SEGMENT] * 11, -0.1),
        ([SEGMENT, *[PROPERTIES] * 11], -0.1),
        ([{"tool": "READ_TEXT"}] * 17, -0.2),
        ([{"tool": "THINK"}] * 99, 0.0),
        ([{}], 0.0),
    ],
)
def test_calls_by_hand(calls, value):
    assert penalty(calls, answered=True, settings=PIXEL) == pytest.approx(value)
    assert penalty(calls, answered=False, settings=PIXEL) == pytest.approx(value - 0.1)


def test_a_call_may_have_several_reasons():
    tally = CallTally()
    for _ in range(5):
        tally.add(TRACK)
    bad = {"tool": "TRACK", "ok": False, "error_code": "unknown_tool", "arguments": {"box": [2, 0, 1, 1]}}
    assert charges(bad, tally, PIXEL) == {
        "missing_prerequisite": 0.1,
        "out_of_bounds": 0.05,
        "still_image": 0.2,
        "over_limit": 0.1,
    }


def test_the_environment_may_say_how_many_pictures_it_has():
    assert penalty([SEGMENT, TRACK], answered=True, settings=replace(PIXEL, still=True)) == -0.2
    refused = {**TRACK, "error_code": "still_image"}
    assert penalty([SEGMENT, refused], answered=True, settings=replace(PIXEL, still=False)) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from(["ZOOM", "TRACK", "GET_PROPERTIES", ""]), st.booleans())),
    st.booleans(),
)
def test_never_positive_and_never_less_for_more_calls(made, answered):
    calls = [{"tool": tool, "ok": ok} for tool, ok in made]
    value = penalty(calls, answered=answered, settings=PIXEL)
    assert value <= 0.0
    assert penalty([*calls, {"tool": "ZOOM"}], answered=answered, settings=PIXEL) <= value


def test_the_term_charges_each_step_its_own_calls():
    term = penalty_term()
    memory = term.begin()
    steps = [
        Transition({}, "", {}, (ZOOM, ZOOM)),
        Transition({}, "", {}, (ZOOM, ZOOM, PROPERTIES)),
        Transition({}, "", {}, (), truncated=True),
    ]
    assert [term.score([(memory, step)]) for step in steps] == [[0.0], [pytest.approx(-0.2)], [-0.1]]
    answered = Transition({}, "", {}, (), terminated=True, truncated=True)
    assert term.score([(term.begin(), answered), (term.begin(), steps[1])]) == [0.0, pytest.approx(-0.1)]


def test_limits_are_settings():
    term = PenaltyTerm(limits={"THINK": 1}, over_limit=0.5)
    thinks = Transition({}, "", {}, ({"tool": "THINK"},) * 3 + (ZOOM,) * 9)
    assert term.score([(term.begin(), thinks)]) == [-1.0]


def test_without_an_environment_that_declares_its_tools_none_has_a_limit():
    made = [ZOOM] * 99 + [PROPERTIES, {**TRACK, "error_code": "still_image"}]
    assert penalty(made, answered=True) == 0.0
    given = penalty_term(limits={"ZOOM": 4}, frame_tools=[]).settings
    assert given.limits == {**PIXEL.limits, "ZOOM": 4} and given.frame_tools == frozenset()


@pytest.mark.parametrize(
    "settings",
    [
        {"base": -0.1},
        {"no_answer": float("nan")},
        {"limits": {"ZOOM": -1}},
        {"limit": {}},
        {"frame_tools": "TRACK"},
        {"prerequisites": ["ZOOM"]},
        {"prerequisites": None},
        {"prerequisites": {"ZOOM": 1}},
        {"coordinates": "box"},
        {"bounds_codes": "out_of_range"},
        {"bounds_codes": 5},
        {"still": "no"},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ConfigError, match="penalty"):
        PenaltyTerm(**settings)
