"""What a group of answers agrees on, by hand and by properties."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import AnswerError
from pixelis.rewards.answers.agreement import AnswerForm, form_from, vote

TEXT, NEAR = AnswerForm(), AnswerForm("number", tolerance=0.1)


def test_a_majority_of_texts_by_hand():
    ballot = vote(["cat", "Cat.", "dog", None], TEXT)
    assert ballot.agrees.tolist() == [True, True, False, False]
    assert ballot.share == 0.5  # of four members
    assert ballot.answered == 3
    assert ballot.entropy == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))
    assert ballot.abstains == ""


@pytest.mark.parametrize(
    ("answers", "reason", "share"),
    [
        ([], "no answer", 0),
        ([None, None, None], "no answer", 0),
        (["", "  ", None], "no answer", 0),
        (["a", "b", "c"], "tie", 1 / 3),
        (["a", "a", "b", "b", "c"], "tie", 2 / 5),
        (["a", None, None], "alone", 1 / 3),
        (["a", "a", "b", "c", "d"], "threshold", 2 / 5),
    ],
)
def test_a_group_abstains(answers, reason, share):
    ballot = vote(answers, TEXT, threshold=0.5)
    assert ballot.abstains == reason
    assert not ballot.agrees.any()
    assert ballot.share == pytest.approx(share)


def test_the_threshold_itself_is_enough():
    assert vote(["a", "a", "b", "c"], TEXT, threshold=0.5).agrees.tolist() == [True, True, False, False]
    assert vote(["a", "a", "a", "b", "c", None], TEXT, [0.1] * 6, threshold=0.5).abstains == ""


def test_numbers_within_a_tolerance_by_hand():
    # supports 2, 3, 2, 1: the two outer ones agree with 1.1 and not with each other
    assert vote(["1.0", "1.1", "$1.2", "3"], NEAR).agrees.tolist() == [True, True, True, False]
    # supports 2, 3, 3, 2: the leaders agree with each other, and each of the others with one of them alone
    chain = vote(["1.0", "1.1", "1.2", "1.3"], NEAR)
    assert chain.agrees.tolist() == [False, True, True, False]
    assert chain.share == 0.5  # what is paid, not the support of a leader
    assert vote(["1.0", "1.1", "1.2", "1.3"], NEAR, threshold=0.6).abstains == "threshold"
    # supports 2, 2, 2, 2 in two parts
    assert vote(["1.0", "1.1", "3.0", "3.1"], NEAR).abstains == "tie"
    # no numbers are no answers
    ballot = vote(["1.0", "1.1", "many", "many", "many"], NEAR)
    assert ballot.agrees.tolist() == [True, True, False, False, False]
    assert ballot.answered == 2


def test_a_relative_tolerance_goes_both_ways():
    form = AnswerForm("number", tolerance={"relative": 0.1})
    assert vote(["100", "91"], form).agrees.all()  # 9 is within a tenth of 100, not of 91
    assert vote(["91", "100"], form).agrees.all()
    assert not vote(["100", "89"], form).agrees.any()


def test_boxes_by_overlap_and_sets_in_any_order():
    # two halves of the left box overlap by a third; the first two by 0.8
    boxes = ["[0, 0, 0.5, 0.5]", "[0, 0, 0.5, 0.4]", "[0.5, 0.5, 1, 1]"]
    assert vote(boxes, AnswerForm("box")).agrees.tolist() == [True, True, False]
    assert vote(boxes, AnswerForm("box", tolerance=0.9)).abstains == "tie"
    assert vote(["red, blue", "blue; red", "red"], AnswerForm("set")).agrees.tolist() == [True, True, False]
    choice = AnswerForm("choice", ("red", "blue"))
    assert vote(["A", "red", "B. blue", "C"], choice).agrees.tolist() == [True, True, False, False]


def test_weights_decide_and_break_ties():
    assert vote(["a", "a", "b", "b"], TEXT, [0.9, 0.8, 0.5, 0.5]).agrees.tolist() == [
        True,
        True,
        False,
        False,
    ]
    ballot = vote(["a", "a", "b"], TEXT, [0.1, 0.1, 0.9])
    assert ballot.abstains == "alone"  # one member is no majority, however sure it is
    assert ballot.share == pytest.approx(0.9 / 1.1)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"kind": "colour"}, "the answer's type must be one of"),
        ({"kind": "text", "tolerance": 1.0}, "takes no tolerance"),
        ({"kind": "box", "tolerance": 2.0}, "least intersection over union"),
        ({"kind": "choice"}, "two or more different texts"),
        ({"kind": "number", "choices": ("1", "2")}, "takes no choices"),
    ],
)
def test_a_form_that_does_not_fit(form, words):
    with pytest.raises(AnswerError, match=words):
        AnswerForm(**form)


@pytest.mark.parametrize("form", [TEXT, NEAR, AnswerForm("choice", ("a", "b")), AnswerForm(tagged=False)])
def test_a_form_comes_back_from_info(form):
    assert form_from(form.to_info()) == form


answers = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=9)


@given(answers, st.randoms())
def test_exact_answers_are_counted_and_order_does_not_matter(given_answers, random):
    ballot = vote(given_answers, TEXT)
    ranked = Counter(answer for answer in given_answers if answer is not None).most_common()
    clear = bool(ranked) and ranked[0][1] > 1 and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
    winner = ranked[0][0] if clear else "nobody"
    assert ballot.agrees.tolist() == [answer == winner for answer in given_answers]
    order = list(range(len(given_answers)))
    random.shuffle(order)
    again = vote([given_answers[place] for place in order], TEXT)
    assert again.agrees.tolist() == ballot.agrees[order].tolist()
    assert (again.share, again.abstains) == (ballot.share, ballot.abstains)
    assert again.entropy == pytest.approx(ballot.entropy)


@given(
    st.lists(st.none() | st.text(max_size=12), max_size=6), st.sampled_from(["text", "number", "set", "box"])
)
def test_whatever_is_said_there_is_a_ballot(said, kind):
    ballot = vote(said, AnswerForm(kind))
    assert ballot.agrees.shape == (len(said),)
    assert 0 <= ballot.share <= 1
    assert 0 <= ballot.entropy <= math.log(max(len(said), 1)) + 1e-9
    assert np.isfinite(ballot.entropy)
    assert bool(ballot.abstains) != ballot.agrees.any()
