"""Rows of questions about images: good ones, bad ones, and which split they are in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.ask_image.question_rows import image_split, row_of
from pixelis.errors import DatasetError

GOOD = {"image": "a.png", "question": "What?", "answer": "KT47", "answer_type": "text"}


@pytest.mark.parametrize(
    ("fields", "truth", "right"),
    [
        ({}, "KT47", "kt47"),
        ({"answer": 5, "answer_type": "number"}, "5", "5.0"),
        ({"answer": 1e-7, "answer_type": "number"}, "1e-07", "0.0000001"),
        ({"answer": "$1,204.50", "answer_type": "number", "tolerance": 1}, "$1,204.50", "1205"),
        ({"answer": "b", "answer_type": "choice", "choices": ["b", "c"]}, "b", "B"),
        ({"answer": ["x", "y"], "answer_type": "set"}, '["x", "y"]', "y, x"),
        ({"answer": [0, 0, 0.5, 1], "answer_type": "box"}, "[0, 0, 0.5, 1]", "[0, 0, 0.5, 0.9]"),
        ({"answer": [0.5, 1], "answer_type": "point"}, "[0.5, 1]", "0.5, 0.99"),
    ],
)
def test_a_good_row_of_every_type(fields, truth, right):
    row = row_of({**GOOD, **fields})
    assert row.truth.truth == truth
    assert row.truth.matches(right)
    assert row_of({**GOOD, **fields, **{k: v for k, v in row.to_data().items() if k != "regions"}}) == row


def test_regions_are_boxes_or_objects():
    row = row_of(
        {**GOOD, "regions": [[0, 0, 1, 1], {"box": [0, 0, 0.5, 0.5], "text": "KT47", "look": False}]}
    )
    assert row.regions == ({"box": [0, 0, 1, 1]}, {"box": [0, 0, 0.5, 0.5], "text": "KT47", "look": False})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tolerence": 1}, "Did you mean 'tolerance'"),
        ({"image": 3}, "'image' must be a text"),
        ({"image": " "}, "'image' must be a text"),
        ({"image": "\ud800"}, "'image' holds a null or half of a surrogate pair"),
        ({"question": "x" * 4_001}, "'question' must be a text of 1 to 4,000"),
        ({"answer_type": "txt"}, "Did you mean 'text'"),
        ({"answer_type": ["text"]}, "'answer_type' must be one of"),
        ({"answer": 5}, "'answer' must be a text, got 5"),
        ({"answer": ""}, "1 to 1000 characters"),
        ({"answer_type": "number", "answer": "many"}, "one number"),
        ({"answer_type": "number", "answer": True}, "a number, or a text"),
        ({"answer_type": "number", "answer": 1e400}, "one number"),
        ({"answer_type": "number", "answer": 5, "tolerance": -1}, "absolute tolerance"),
        ({"answer_type": "choice", "answer": "x"}, "two or more"),
        ({"answer_type": "choice", "choices": "KT47"}, "'choices' must be a list"),
        ({"answer_type": "choice", "choices": ["a", "b"]}, "not among the choices"),
        ({"answer_type": "choice", "choices": ["KT47", 3]}, "different texts"),
        ({"answer_type": "box", "answer": [10, 20, 300, 400]}, "all in 0-1"),
        ({"answer_type": "box", "answer": [0, 0, 1]}, "[x0, y0, x1, y1]"),
        ({"answer_type": "box", "answer": "[0, 0, 1, 1]"}, "'answer' must be [x0, y0, x1, y1]"),
        (
            {"answer_type": "box", "answer": [0.5, 0.5, 0.5 + 0.9 / 8192, 0.6]},
            "thinner than a pixel of the largest image that is shown, 1/8192 of its side",
        ),
        ({"answer_type": "point", "answer": [0.5, 0.5], "tolerance": 2}, "greatest distance"),
        ({"answer_type": "set", "answer": "x"}, "a list of texts"),
        ({"regions": {}}, "'regions' must be a list"),
        ({"regions": [[10, 20, 300, 400]]}, "divide pixels"),
        (
            {"regions": [{"box": [0, 0, 1, 1], "test": ""}]},
            "'regions[0].test'. Did you mean 'text'",
        ),
        ({"regions": [{"box": [0, 0, 1, 1], "look": 1}]}, "'regions[0].look' must be True or False, got 1"),
        ({"regions": [[0, 0, 1, 1]] * 65}, "at most 64"),
        ({"split": "dev"}, "'train' or 'test', got 'dev'"),
    ],
)
def test_a_bad_field_is_named(fields, words):
    with pytest.raises(DatasetError) as caught:
        row_of({**GOOD, **fields})
    assert words in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_row_may_have_no_answer():
    row = row_of({key: value for key, value in GOOD.items() if key != "answer"})
    assert row.truth is None
    assert row.form == row_of(GOOD).form
    assert row.digest() == row_of(GOOD).digest()  # it asks the same


@pytest.mark.parametrize("name", [name for name in GOOD if name != "answer"])
def test_a_missing_field_is_named(name):
    with pytest.raises(DatasetError, match=f"field '{name}' is missing"):
        row_of({key: value for key, value in GOOD.items() if key != name})


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=4)
    )
)
def test_no_value_of_a_field_raises_anything_else(value):
    for name in (*GOOD, "choices", "tolerance", "regions", "split"):
        for kind in ("text", "number", "box", "set"):
            try:
                row_of({**GOOD, "answer_type": kind, name: value})
            except DatasetError:
                continue


def test_a_fifth_of_the_images_is_for_testing_whatever_is_asked():
    splits = [image_split(f"photos/{number}.jpg") for number in range(2_000)]
    assert 0.17 < splits.count("test") / len(splits) < 0.23
    assert image_split("photos/7.jpg") == image_split("./photos/7.jpg") == image_split("photos\\7.jpg")


def test_a_row_without_a_split_leaves_it_to_the_file():
    assert row_of(GOOD).split == "" and row_of({**GOOD, "split": "test"}).split == "test"


def test_the_digest_is_of_what_is_asked_and_not_of_the_split():
    one = row_of({**GOOD, "split": "train"})
    assert one.digest() == row_of({**GOOD, "split": "test"}).digest()
    assert one.digest() != row_of({**GOOD, "question": "Who?"}).digest()
    assert one.digest() != row_of({**GOOD, "image": "b.png"}).digest()
