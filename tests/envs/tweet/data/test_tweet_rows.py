"""Rows of tweets: every field, and every way to get one wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.tweet.data.tweet_rows import MAX_TWEET_LENGTH, FollowUp, tweet_row, tweet_split
from pixelis.envs.tweet.data.tweet_text import jaccard, normalised_text, shingles
from pixelis.errors import DatasetError


def test_all_fields_are_read_and_written_back():
    value = {
        "tweet": "Rain again.",
        "reply": "Again!",
        "author": "amy",
        "topic": "weather",
        "emotion": "frustration",
        "engagement": 12.0,
        "thread": [{"tweet": "And hail.", "reply": "Ouch."}, {"tweet": "Gone."}],
        "split": "test",
    }
    row = tweet_row(value)
    assert row.thread == (FollowUp("And hail.", "Ouch."), FollowUp("Gone."))
    assert row.to_json() == value


def test_what_is_left_out_empty_or_null_is_empty():
    row = tweet_row({"tweet": " hi ", "reply": "", "author": None, "engagement": "", "thread": None})
    assert row.to_json() == {"tweet": "hi", "split": row.split}
    assert (row.engagement, row.thread) == (None, ())


def test_authors_may_be_numbers_or_have_an_at_sign():
    assert tweet_row({"tweet": "hi", "author": "@amy"}).author == "amy"
    assert tweet_row({"tweet": "hi", "author": 12345}).author == "12345"
    assert tweet_row({"tweet": "hi", "thread": ["And?"]}).thread == (FollowUp("And?"),)


@pytest.mark.parametrize(
    "tweet", ["🔥🔥", "7", "سلام", "日本", "a\u200db", "n\nl\tt", "ñ", "∑", "x" * MAX_TWEET_LENGTH]
)
def test_tweets_of_any_script_pass(tweet):
    assert tweet_row({"tweet": tweet}).tweet == tweet


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "field 'tweet' is missing"),
        ({"tweet": ""}, "'tweet' must hold a word, a number or an emoji, got ''"),
        ({"tweet": None}, "'tweet' must be a text of at most 1,500 characters, got None"),
        ({"text": "hi"}, "unknown field 'text'. Did you mean 'tweet'"),
        ({"full_text": "hi"}, "Did you mean 'tweet'"),
        ({"tweet": "hi", "replys": "x"}, "Did you mean 'reply'"),
        ({"tweet": 3}, "text of at most 1,500 characters, got 3"),
        ({"tweet": "x" * 1_501}, "got 1,501 characters"),
        ({"tweet": " \n "}, "must hold a word, a number or an emoji"),
        ({"tweet": "\u200b\u2060"}, "must hold a word"),
        ({"tweet": "?!..."}, "must hold a word"),
        ({"tweet": "a\0b"}, "control characters"),
        ({"tweet": "a\x1b[2J"}, "control characters"),
        ({"tweet": "\ud800"}, "half of a surrogate pair"),
        ({"tweet": "hi", "reply": ["a"]}, "field 'reply' must be a text"),
        ({"tweet": "hi", "reply": "..."}, "field 'reply' must hold a word"),
        ({"tweet": "hi", "author": "a\nb"}, "field 'author' must be one line"),
        ({"tweet": "hi", "author": True}, "field 'author'"),
        ({"tweet": "hi", "topic": "x" * 101}, "at most 100 characters"),
        ({"tweet": "hi", "engagement": -1}, "number of at least 0, got -1"),
        ({"tweet": "hi", "engagement": "many"}, "got 'many'"),
        ({"tweet": "hi", "engagement": True}, "number of at least 0"),
        ({"tweet": "hi", "engagement": "nan"}, "number of at least 0"),
        ({"tweet": "hi", "engagement": 10**400}, "number of at least 0"),
        ({"tweet": "hi", "thread": "x"}, "must be a list"),
        ({"tweet": "hi", "thread": ["a"] * 5}, "at most 4"),
        ({"tweet": "hi", "thread": [{"reply": "x"}]}, r"'thread\[0\].tweet' is missing"),
        ({"tweet": "hi", "thread": [{"tweet": "a", "by": "x"}]}, r"unknown field 'thread\[0\].by'"),
        ({"tweet": "hi", "thread": ["..."]}, "must hold a word"),
        ({"tweet": "hi", "split": "dev"}, "'train' or 'test', got 'dev'"),
    ],
)
def test_bad_rows_say_what_is_wrong(value, words):
    with pytest.raises(DatasetError, match=words):
        tweet_row(value)


def test_the_author_decides_the_split_or_else_the_words():
    assert len({tweet_split(f"tweet {n}", "Amy") for n in range(50)}) == 1
    assert tweet_split("x", "Amy") == tweet_split("y", "amy")
    assert tweet_split("Rain, again!", "") == tweet_split("rain again", "")
    share = sum(tweet_split("x", f"author {n}") == "test" for n in range(1_000)) / 1_000
    assert 0.15 < share < 0.25


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Rain, AGAIN!! ", "rain again"),
        ("RT @amy: Rain again https://t.co/x1", "rain again"),
        ("@amy @bob rain\u200b again 🌧", "rain again"),
        ("ﬁne ①", "fine 1"),
        ("🔥  🔥", "🔥 🔥"),
        ("tell @amy it rains", "tell amy it rains"),
        ("half \ud800", "half"),
    ],
)
def test_normalised_text_by_hand(text, expected):
    assert normalised_text(text) == expected


WORD = st.text(st.sampled_from("abcdéж漢7"), min_size=1, max_size=6)


@given(
    st.lists(
        st.tuples(WORD, st.sampled_from([" ", ", ", " … ", "\u200b ", "\n", "!!"])), min_size=1, max_size=6
    )
)
def test_only_words_count(pieces):
    plain = " ".join(word for word, _ in pieces)
    loud = "".join(word.upper() + mark for word, mark in pieces)
    assert normalised_text(loud) == normalised_text(plain) == plain


def test_jaccard_by_hand():
    assert shingles("abcdefg") == {"abcde", "bcdef", "cdefg"}
    assert shingles("Hi!") == {"hi"}
    assert jaccard(shingles("abcdefg"), shingles("abcdefh")) == 2 / 4
    assert jaccard(frozenset(), frozenset()) == 1.0
