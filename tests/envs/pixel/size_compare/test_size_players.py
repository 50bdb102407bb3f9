"""SizeCompare's lesser players, given what tools could have told them."""

from __future__ import annotations

import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.size_compare.env import SizeCompareEnv
from pixelis.envs.pixel.size_compare.players import candidates

QUESTION = {"text": "Which shape shows the largest area: red, blue or pink?\nred, green"}
BEGIN = {"tool_calls": []}


@pytest.fixture
def players():
    env = SizeCompareEnv(reader="truth")
    return {name: make(env) for name, make in env.players().items()}


def listed(*regions):
    rows = [{"region": n, "colour": colour, "box": box} for n, (colour, box) in enumerate(regions, 1)]
    return {"tool_calls": [{"tool": "SEGMENT", "ok": True, "data": {"regions": rows}}]}


def measured(*areas):
    return {
        "tool_calls": [
            {
                "tool": "GET_PROPERTIES",
                "ok": share is not None,
                "data": {"colour": colour, "area_share": share},
            }
            for colour, share in areas
        ]
    }


def test_only_the_first_line_of_a_question_names_shapes():
    assert candidates(QUESTION["text"]) == ["red", "blue", "pink"]
    assert candidates("red\nblue") == ["red"]


def test_boxes_are_compared_by_area_not_by_side(players):
    player = players["boxes_only"]
    assert player.act(QUESTION, BEGIN) == call("SEGMENT")
    info = listed(
        ("red", [0.0, 0.0, 0.9, 0.1]), ("blue", [0.2, 0.2, 0.6, 0.5]), ("pink", [0.5, 0.5, 0.6, 0.9])
    )
    assert player.act(QUESTION, info) == answer("blue")  # 0.09, 0.12, 0.04
    assert player.act(QUESTION, listed()) == ""


def test_listed_regions_are_measured_and_others_than_those_named_left_out(players):
    player = players["listed"]
    assert player.act(QUESTION, BEGIN) == call("SEGMENT")
    regions = [("red", [0, 0, 1, 1]), ("green", [0, 0, 1, 1]), ("blue", [0, 0, 1, 1])]
    expected = "".join(call("GET_PROPERTIES", region=number) for number in (1, 2, 3))
    assert player.act(QUESTION, listed(*regions)) == expected
    assert player.act(QUESTION, measured(("red", 0.1), ("green", 0.9), ("blue", 0.2))) == answer("blue")


def test_nothing_measured_is_no_answer(players):
    player = players["listed"]
    player.act(QUESTION, BEGIN)
    assert player.act(QUESTION, listed()) == ""
    assert player.act(QUESTION, measured(("green", 0.9), (None, None))) == ""


def test_a_guess_is_one_of_the_shapes_and_the_same_for_the_same_task(players):
    said = {players["tool_free"].act(QUESTION, {"task": {"hash": f"{number:x}"}}) for number in range(40)}
    assert said == {answer(colour) for colour in ("red", "blue", "pink")}
    again = [players["tool_free"].act(QUESTION, {"task": {"hash": "7"}}) for _ in range(3)]
    assert len(set(again)) == 1


def test_what_is_listed_in_the_overview_is_enough_where_shapes_are_few_and_apart():
    env = SizeCompareEnv(reader="truth")
    for seed in range(2):
        turns = play(env, env.players()["listed"](env), seed, {"difficulty": 0})
        assert len(turns) == 4 and turns[-1][4]["success"]
