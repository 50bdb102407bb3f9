from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.receipt_sum.question import KINDS, ReceiptQuestion, decimal_text
from pixelis.errors import TaskError


@pytest.mark.parametrize(
    ("ask", "rows", "cents"),
    [
        (ReceiptQuestion("named", ("Mild Tea", "Green Tea")), [0, 2], 805),
        (ReceiptQuestion("named", ("Green Tea", "Brown Bread")), [0, 1], 490),
        (ReceiptQuestion("group", ("Tea",)), [0, 2], 805),
        (ReceiptQuestion("lowest", ("Tea",)), [0, 2], 315),
        (ReceiptQuestion("highest", ("Tea",)), [0, 2], 490),
        (ReceiptQuestion("total"), [0, 1, 2], 805),
        (ReceiptQuestion("due"), [0, 1, 2], 861),
    ],
)
def test_answers_by_hand(ask, rows, cents, small_receipt):
    """Struck: Brown Bread. 7 % of 8.05 is 0.5635."""
    assert (ask.rows(small_receipt), ask.answer(small_receipt)) == (rows, cents)


def test_a_word_is_a_whole_word(small_receipt):
    assert ReceiptQuestion("group", ("Te",)).rows(small_receipt) == []
    assert (
        ReceiptQuestion("lowest", ("Te",)).answer(small_receipt)
        == ReceiptQuestion("highest", ("Te",)).answer(small_receipt)
        == 0
    )


def test_questions(small_receipt):
    two = ReceiptQuestion("named", ("Mild Tea", "Green Tea")).text(small_receipt)
    assert two == (
        "What do these receipt lines come to together: Mild Tea and Green Tea? "
        "Lines struck out with a pen do not count. Answer with an amount to the cent."
    )
    clean = replace(small_receipt, lines=small_receipt.lines[:1], tax=0, form="invoice")
    assert ReceiptQuestion("total").text(clean) == (
        "What do all invoice lines come to together? Answer with an amount to the cent."
    )
    assert "together, before tax?" in ReceiptQuestion("total").text(small_receipt)
    assert "with the tax at the printed rate?" in ReceiptQuestion("due").text(small_receipt)
    assert "lowest amount among the receipt lines with Tea?" in ReceiptQuestion("lowest", ("Tea",)).text(
        small_receipt
    )
    assert ": A x, B y and C z?" in ReceiptQuestion("named", ("A x", "B y", "C z")).text(small_receipt)


@given(st.lists(st.integers(1, 10**6), min_size=1), st.integers(0, 50))
def test_amounts_combine_as_the_question_says(amounts, tax):
    found = {kind: ReceiptQuestion(kind).combine(amounts, tax) for kind in KINDS}
    assert found["lowest"] <= found["highest"] <= found["total"] == found["group"] == found["named"]
    assert {found["lowest"], found["highest"]} <= set(amounts)
    assert abs(100 * found["due"] - found["total"] * (100 + tax)) <= 50


def test_a_question_survives_json():
    for ask in (ReceiptQuestion("due"), ReceiptQuestion("named", ("Green Tea", "Mild Tea"))):
        assert ReceiptQuestion.from_json(json.loads(json.dumps(ask.to_json()))) == ask


def test_a_question_nobody_wrote_is_a_task_error():
    for words, data in {
        "field 'kind' is missing": {"names": []},
        "'kind' must be one of .*, got 'mean'": {"kind": "mean", "names": []},
        "no names where group needs one": {"kind": "group", "names": []},
        "printable text": {"kind": "group", "names": [3]},
        "as ReceiptQuestion.to_json writes it": 7,
    }.items():
        with pytest.raises(TaskError, match=words):
            ReceiptQuestion.from_json(data)


def test_amounts_as_answers_are_written():
    assert [decimal_text(cents) for cents in (0, 7, 1205, 123456)] == ["0.00", "0.07", "12.05", "1234.56"]
