from __future__ import annotations

import json
from dataclasses import replace

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from pixelis.envs.pixel.receipt_sum.scene import (
    Item,
    ReceiptScene,
    amount_end,
    label_start,
    name_start,
    percent_of,
    writings,
)
from pixelis.errors import TaskError


def test_totals_by_hand_count_struck_lines_too(small_receipt):
    assert [item.amount for item in small_receipt.lines] == [490, 310, 315]
    assert small_receipt.totals == [("SUBTOTAL", 1115), ("TAX 7%", 78), ("TOTAL", 1193)]
    assert replace(small_receipt, tax=0).totals == [("TOTAL", 1115)]


def test_percents_round_halves_up():
    assert [percent_of(*pair) for pair in ((1115, 7), (50, 1), (49, 1), (250, 10), (0, 25))] == [
        *(78, 1, 0, 25, 0)
    ]


def test_money_is_written_with_the_pages_mark(small_receipt):
    assert [small_receipt.money(cents) for cents in (5, 100, 123456)] == ["0,05", "1,00", "1234,56"]
    assert replace(small_receipt, point=".").money(2499) == "24.99"


def test_where_things_are_by_hand(small_receipt):
    assert small_receipt.size == (372, 96 + 12 + 26 + 6 * 30)
    assert [small_receipt.row(i) for i in (0, 2, 3)] == [20 + 96 + 15, 20 + 96 + 75, 20 + 96 + 12 + 105]
    assert (name_start(small_receipt), label_start(small_receipt), amount_end(small_receipt)) == (64, 64, 388)


def test_what_is_written_by_hand(small_receipt):
    told = {(w.text, w.anchor, w.y) for w in writings(small_receipt)}
    for text, anchor, y in (
        ("Corner Market", "m", 58),
        ("Green Tea", "l", 131),
        ("2 x 2,45", "r", 131),
        ("4,90", "r", 131),
        ("3,10", "r", 161),
        ("TAX 7%", "l", 263),
        ("11,93", "r", 293),
    ):
        assert (text, anchor, y) in told
    assert len(told) == 1 + 3 + 3 * 3 + 3 * 2


def test_an_invoice_numbers_its_lines_and_always_says_how_many(small_receipt):
    invoice = replace(small_receipt, form="invoice", side=1024, quantities=False)
    words = [w.text for w in writings(invoice) if w.y == invoice.row(2)]
    assert words == ["3", "3", "1,05", "Mild Tea", "3,15"]
    plain = [
        w.text for w in writings(replace(small_receipt, quantities=False)) if w.y == small_receipt.row(2)
    ]
    assert plain == ["Mild Tea", "3,15"]


ITEMS = st.builds(
    Item,
    st.text("abc XYZ", min_size=1, max_size=24),
    st.integers(1, 99),
    st.integers(1, 99_999),
    st.sampled_from(["", "struck", "underlined"]),
)


@given(lines=st.lists(ITEMS, min_size=1, max_size=8), tax=st.integers(0, 50), point=st.sampled_from(".,"))
def test_a_scene_survives_json(lines, tax, point, small_receipt):
    scene = replace(small_receipt, lines=tuple(lines), tax=tax, point=point)
    assert ReceiptScene.from_json(json.loads(json.dumps(scene.to_json()))) == scene


def test_a_scene_nobody_wrote_is_a_task_error(small_receipt):
    good = small_receipt.to_json()
    line = ["Green Tea", 2, 245, ""]
    last = r"\[3\]" if Version(pydantic.VERSION) >= Version("2.14") else r"\.mark"
    broken = {
        "field 'pen' is missing": {key: value for key, value in good.items() if key != "pen"},
        "'form' must be 'receipt' or 'invoice', got 'scroll'": {**good, "form": "scroll"},
        "at most 80, got 81": {**good, "lines": [line] * 81},
        "at least 1, got 0": {**good, "lines": []},
        "'quantities' must be True or False, got 1": {**good, "quantities": 1},
        "from 1 to 99, got 0": {**good, "lines": [["Green Tea", 0, 245, ""]]},
        "from 1 to 99999": {**good, "lines": [["Green Tea", 1, 2.45, ""]]},
        "got 'torn'": {**good, "lines": [["Green Tea", 1, 245, "torn"]]},
        "printable text": {**good, "lines": [["Green\nTea", 1, 245, ""]]},
        "1 to 24 characters": {**good, "shop": "x" * 25},
        "a page of 372 x 314 that does not fit": {**good, "left": 200},
        "an integer from 0 to 50, got True": {**good, "tax": True},
        rf"'lines\[0\]{last}' is missing": {**good, "lines": [line[:3]]},
        "as ReceiptScene.to_json writes it": None,
    }
    for words, data in broken.items():
        with pytest.raises(TaskError, match=words):
            ReceiptScene.from_json(data)
