"""What is kept of tool results, with numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pixelis.wrappers.discrete.tool_memory import LAST_RESULT, SLOTS, ToolMemory


def record(ok=True, **data):
    return {"tool": "ANY", "ok": ok, "data": data}


def region(number, colour, area, box):
    return {"region": number, "colour": colour, "area": area, "box": box}


def line(text, box=(0.2, 0.4, 0.4, 0.6), confidence=0.9):
    return {"text": text, "box": list(box), "confidence": confidence}


TWO = [region(1, "red", 0.04, [0.0, 0.0, 0.2, 0.4]), region(2, "blue", 0.02, [0.5, 0.5, 0.7, 0.9])]


def test_nothing_is_known_at_first():
    vector = ToolMemory((), frozenset()).to_vector()
    assert vector.shape == (LAST_RESULT,) == (32,) and vector.dtype == np.float32
    assert vector[:4].tolist() == [0] * 4 and vector[4:8].tolist() == [-1] * 4
    assert vector[8:].tolist() == [0, -1, -1] * SLOTS


def test_readings_are_candidates_newest_first_and_once():
    memory = ToolMemory((), frozenset())
    memory.note([record(lines=[line("A"), line("B", (0.0, 0.0, 0.2, 0.2), 0.5)])])
    memory.note([record(lines=[line("C"), line("A", (0.6, 0.6, 0.8, 0.8), 0.7)])])
    assert [candidate.text for candidate in memory.candidates] == ["C", "A", "B"]
    assert memory.to_vector()[8:17].tolist() == pytest.approx([0.9, 0.3, 0.5, 0.7, 0.7, 0.7, 0.5, 0.1, 0.1])


def test_the_oldest_reading_gives_way():
    memory = ToolMemory((), frozenset())
    for index in range(SLOTS + 2):
        memory.note([record(lines=[line(str(index))])])
    assert [candidate.text for candidate in memory.candidates] == list("98765432")


def test_the_numbers_in_a_line_are_candidates_too():
    """A line of one word is one candidate; of several words the line is, and each that has a digit."""
    row = line("Milk 2.40", (0.0, 0.0, 1.0, 0.2), 0.8)
    row["words"] = [line("Milk", (0.0, 0.0, 0.4, 0.2), 0.8), line("2.40", (0.6, 0.0, 1.0, 0.2), 0.7)]
    memory = ToolMemory((), frozenset())
    memory.note([record(lines=[row, {**line("K7PX"), "words": [line("K7PX")]}])])
    assert [candidate.text for candidate in memory.candidates] == ["Milk 2.40", "2.40", "K7PX"]
    assert memory.to_vector()[11:14].tolist() == pytest.approx([0.7, 0.8, 0.1])


def test_choices_stay_and_are_measured():
    memory = ToolMemory(("blue", "red", "pink"), frozenset({"blue", "red", "pink"}))
    memory.note([record(regions=TWO), record(lines=[line("red herring")])])
    assert [candidate.text for candidate in memory.candidates] == ["blue", "red", "pink"]
    values = memory.to_vector()[8:17]
    assert values[[1, 2, 4, 5]].tolist() == pytest.approx([0.6, 0.7, 0.1, 0.2])
    assert values[6:].tolist() == [0, -1, -1]
    assert (values[0], values[3]) == (-1, 1)  # 4 · log(2) / 2 = 1.39, clipped


def test_the_value_of_a_choice_is_its_log_area_from_the_mean_whatever_the_view():
    memory = ToolMemory(("blue", "red"), frozenset())
    memory.note([record(regions=[region(1, "blue", 0.02, [0.5, 0.5, 0.7, 0.9])])])
    assert memory.to_vector()[8] == 0  # one alone is its own mean
    memory.note([record(view=[0.0, 0.0, 0.5, 0.5])])
    memory.note([record(colour="red", area_share=0.1, box=[0.0, 0.0, 0.2, 0.4])])  # 0.025 of the scene
    lead = 4 * math.log(0.025 / 0.02) / 2
    assert memory.to_vector()[[8, 11]].tolist() == pytest.approx([-lead, lead])


def test_of_a_report_the_largest_region_of_a_colour_counts():
    memory = ToolMemory(("red",), frozenset())
    boxes = ([0.0, 0.0, 0.2, 0.2], [0.5, 0.5, 0.9, 0.9], [0.0, 0.8, 0.1, 0.9])
    areas = (0.01, 0.09, 0.001)
    rows = [region(i, "red", area, box) for i, (area, box) in enumerate(zip(areas, boxes, strict=True), 1)]
    memory.note([record(regions=rows)])
    assert memory.candidates[0].value == pytest.approx(0.09)
    assert memory.candidates[0].place == pytest.approx((0.7, 0.7))


def test_where_the_thing_asked_for_was_is_kept_when_the_view_changes():
    memory = ToolMemory((), frozenset({"blue"}))
    memory.note([record(regions=TWO)])
    assert memory.to_vector()[:4].tolist() == pytest.approx([1, 0, 2 / 48, 1 / 48])
    memory.note([record(view=[0.5, 0.5, 1.0, 1.0])])
    assert memory.view == (0.5, 0.5, 1.0, 1.0) and memory.regions == []
    assert memory.to_vector()[4:8].tolist() == pytest.approx([0.6, 0.7, 0.2, 0.4])


def test_a_refusal_is_seen():
    memory = ToolMemory((), frozenset())
    memory.note([record(ok=False)])
    assert memory.to_vector()[:2].tolist() == [0, 1]


def test_the_nearest_region_and_none():
    memory = ToolMemory((), frozenset())
    assert memory.region_at((0.5, 0.5)) == 1
    memory.note([record(regions=TWO)])
    assert memory.region_at((0.9, 0.9)) == 2
    assert memory.region_at((0.0, 0.3)) == 1


def test_the_scores_made_with_the_truth_are_not_looked_at():
    plain, scored = ToolMemory((), frozenset({"red"})), ToolMemory((), frozenset({"red"}))
    plain.note([record(regions=TWO)])
    scored.note([{**record(regions=TWO), "scores": {"iou": 0.3}}])
    assert plain.to_vector().tolist() == scored.to_vector().tolist()
