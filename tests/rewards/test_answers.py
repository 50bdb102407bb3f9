from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.answers import normalise_text, text_matches


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  KT47\n", "kt47"),
        ("two\t\n words", "two words"),
        ("\uff2b\uff34\uff14\uff17", "kt47"),  # full-width letters
        ("Straße", "strasse"),
        ("", ""),
        (" \u3000 ", ""),
    ],
)
def test_normalised_by_hand(text, normal):
    assert normalise_text(text) == normal


@pytest.mark.parametrize("answer", ["KT47", "kt47", " Kt47 ", "KT47\n"])
def test_letter_case_and_surrounding_space_do_not_count(answer):
    assert text_matches(answer, "KT47")


@pytest.mark.parametrize(
    "answer", ["", "KT4", "KT477", "KT47.", "KT 47", "KT47 AB12", "AB12 KT47", "KT47,KT47"]
)
def test_anything_else_does(answer):
    assert not text_matches(answer, "KT47")


@given(st.text(), st.text())
def test_matching_is_symmetric_and_of_equals(a, b):
    assert text_matches(a, a)
    assert text_matches(a, b) == text_matches(b, a)


@given(st.lists(st.sampled_from(["KT47", "AB12", "NP34"]), min_size=2, max_size=5))
def test_a_list_of_candidates_matches_none_of_them(candidates):
    assert not any(text_matches(" ".join(candidates), one) for one in candidates)
