"""Weighted characters, counted by hand from the platform's published rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.tweet.reading.weighted_length import weighted_length


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello", 5),
        ("a b\nc", 5),
        ("é", 1),
        ("e\u0301", 1),  # NFC makes one code point of the two
        ("Привет", 6),
        ("שלום", 4),
        ("日本", 4),
        ("한국", 4),
        ("😀", 2),
        ("👍🏽", 2),
        ("👩‍👩‍👧‍👦", 2),
        ("🇩🇪", 2),
        ("1️⃣", 2),
        ("❤️", 2),
        ("©", 1),
        ("“ok”", 4),
        ("…", 2),  # U+2026 lies outside the ranges that count 1
        ("\u200b", 1),
        ("\ud800", 2),
        ("https://example.com/a/very/long/path/that/goes/on/and/on?with=a&query=too", 23),
        ("see https://a.io now", 4 + 23 + 4),
        ("example.com", 23),
        ("example.com/path and b.org.", 23 + 5 + 23 + 1),
        ("e.g. this", 9),
        ("a.b", 3),
        ("me@example.com", 14),
        ("26.2 miles", 10),
    ],
)
def test_by_hand(text: str, expected: int):
    assert weighted_length(text) == expected


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters=".:"), max_size=300))
def test_ascii_without_links_counts_its_characters(text: str):
    assert weighted_length(text) == len(text)


@given(st.text(max_size=60))
def test_more_text_never_counts_less_after_a_space(text: str):
    assert weighted_length(text + " x") >= weighted_length(text)


def test_the_limit_is_where_the_platform_has_it():
    assert weighted_length("字" * 140) == 280
    assert weighted_length("字" * 140 + "a") == 281
