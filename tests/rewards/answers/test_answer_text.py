from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.answers import Date, normalise_text, parse_date, phrase_matches, text_matches
from pixelis.rewards.answers.text import MAX_TEXT_LENGTH, normalise_phrase


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


@pytest.mark.parametrize("answer", ["KT47", "kt47", " Kt47 ", "KT47\n", "KT47.", "kt47 .\n"])
def test_letter_case_surrounding_space_and_one_full_stop_do_not_count(answer):
    assert text_matches(answer, "KT47")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "KT4",
        "KT477",
        "KT47..",
        "KT47…",
        ".KT47",
        "KT.47",
        "KT47,",
        "KT 47",
        "KT47 AB12",
        "AB12 KT47",
        "KT47,KT47",
    ],
)
def test_anything_else_does(answer):
    assert not text_matches(answer, "KT47")


@given(st.text(), st.text())
def test_matching_is_symmetric_and_of_equals(a, b):
    assert text_matches(a, a)
    assert text_matches(a, b) == text_matches(b, a)
    assert phrase_matches(a, b) == phrase_matches(b, a)
    assert phrase_matches(a, a) == bool(normalise_phrase(a))
    assert not text_matches(a, b) or phrase_matches(a, b) or not normalise_phrase(a)


@given(
    st.lists(st.sampled_from(["KT47", "AB12", "NP34"]), min_size=2, max_size=5), st.sampled_from(" ,;|/\n")
)
def test_a_list_of_candidates_matches_none_of_them(candidates, separator):
    for listed in (separator.join(candidates), f'"{separator.join(candidates)}".'):
        assert not any(text_matches(listed, one) or phrase_matches(listed, one) for one in candidates)


def test_a_full_stop_alone_is_a_text():
    assert text_matches(".", " . ") and not text_matches(".", "") and not text_matches("..", ".")


# ---------------------------------------------------------------------- phrases


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("Main Street.", "main street"),
        ('"Main Street"', "Main Street"),
        ("“Main Street.”", "Main Street"),
        ("It’s open", "It's open"),
        ("9–5", "9-5"),
        ("St.", "st"),
        ("...", "..."),
        ("October 21st", "Oct 21"),
        ("the 21st of October", "Oct. 21"),
        ("21 OCT 2021", "October 21, 2021"),
        ("2021-10-21", "Oct 21st, 2021"),
        ("Sept 2020", "September, 2020"),
    ],
)
def test_phrases_that_say_the_same(answer, truth):
    assert phrase_matches(answer, truth)
    assert phrase_matches(truth, answer)


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("", ""),
        (" \t", ""),
        ("7", "007"),  # a code is no number
        ("1,204.50", "1204.5"),
        ("main  street 5", "main street"),
        ("October 22nd", "Oct 21"),
        ("Oct 21", "Oct 21, 2021"),
        ("Oct 21 Oct 22", "Oct 21"),
        ("Oct 21, Oct 21", "Oct 21"),
        ("Oct 99", "October 99th"),
        ("10/11/2021", "11/10/2021"),
        ('"Main Street', "Main Street"),
        ("A" * (MAX_TEXT_LENGTH + 1), "A" * (MAX_TEXT_LENGTH + 1)),
    ],
)
def test_phrases_that_do_not(answer, truth):
    assert not phrase_matches(answer, truth)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Oct 21", Date(None, 10, 21)),
        ("2021-02-03", Date(2021, 2, 3)),
        ("May 2021", Date(2021, 5, None)),
        ("1st of May, 1999", Date(1999, 5, 1)),
        ("May", None),
        ("2021", None),
        ("Oct 32", None),
        ("2021-13-01", None),
        ("21 2021 Oct", None),
        ("Oct 21 22", None),
        ("Oct Nov 21", None),
        ("Oct ²", None),
        ("Oct 21" + " " * 50, None),
        ("", None),
    ],
)
def test_dates_by_hand(text, date):
    assert parse_date(text) == date
