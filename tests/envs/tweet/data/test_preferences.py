"""Files of preferences and of labelled replies: what is read, and what is refused with its line."""

from __future__ import annotations

import json

import pytest

from pixelis.envs.tweet.data.preferences import (
    LabelledReply,
    Preference,
    labelled_row,
    load_labelled,
    load_preferences,
    preference_row,
)
from pixelis.envs.tweet.data.tweet_rows import MAX_ANY_LENGTH
from pixelis.errors import DatasetError

GOOD = {"tweet": "Rain again.", "chosen": "Take the long coat.", "rejected": "So true!"}


@pytest.fixture
def write(tmp_path):
    def write_lines(*lines):
        path = tmp_path / "pairs.jsonl"
        texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        path.write_bytes(b"\n".join(texts))
        return path

    return write_lines


def test_rows_are_read_in_order_with_or_without_the_optional_fields(write):
    more = {**GOOD, "author": "@amy", "topic": "weather", "kind": "generic_praise"}
    path = write(b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), b"", more)
    plain = Preference("Rain again.", "Take the long coat.", "So true!")
    assert load_preferences(path) == [
        plain,
        Preference(plain.tweet, plain.chosen, plain.rejected, "amy", "weather", "generic_praise"),
    ]


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "\x00\x01", "\ud800", "!" * MAX_ANY_LENGTH])
def test_a_rejected_reply_may_be_any_text(text):
    assert preference_row({**GOOD, "rejected": text}).rejected == text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"chosen": None}, "field 'chosen' is missing"),
        ({"chosen": "..."}, "field 'chosen' must hold a word"),
        ({"chosen": 3}, "field 'chosen' must be a text"),
        ({"tweet": "\u200b"}, "field 'tweet' must hold a word"),
        ({"tweet": "half \ud800"}, "field 'tweet' holds control characters or half of a surrogate pair"),
        ({"rejected": None}, "field 'rejected' is missing"),
        ({"rejected": ["no"]}, "field 'rejected' must be a text"),
        ({"rejected": "x" * (MAX_ANY_LENGTH + 1)}, "got 4,001 characters"),
        ({"rejected": " Take the long coat. "}, "are the same text"),
        ({"choosen": "x"}, "unknown field 'choosen'. Did you mean 'chosen'?"),
        ({"author": "a\nb"}, "field 'author' must be one line"),
    ],
)
def test_a_bad_row_is_refused_with_its_field(change, told):
    with pytest.raises(DatasetError) as caught:
        preference_row({**GOOD, **change})
    assert told in str(caught.value)


def test_bad_rows_are_told_together_by_line(write):
    path = write(GOOD, {"tweet": "x"}, GOOD, b"{", b"[1]", b"\xff", {**GOOD, "tweet": "\x00"}, b"never read")
    with pytest.raises(DatasetError) as caught:
        load_preferences(path)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["line 2", "line 4", "line 5", "line 6", "line 7"]


@pytest.mark.parametrize("read", [load_preferences, load_labelled])
def test_a_missing_or_empty_file_is_told(read, tmp_path):
    with pytest.raises(DatasetError, match="got nothing"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(DatasetError, match="has no rows"):
        read(tmp_path / "empty.jsonl")


def test_labelled_replies_keep_what_policies_write(write):
    path = write({"tweet": "Rain.", "reply": "", "label": "bad", "kind": "empty", "half": "dev"})
    assert load_labelled(path) == [LabelledReply("Rain.", "", False, "empty")]


@pytest.mark.parametrize("change", [{"label": "fine"}, {"label": None}, {"reply": None}, {"tweet": ""}])
def test_a_labelled_reply_needs_tweet_reply_and_label(change):
    with pytest.raises(DatasetError):
        labelled_row({"tweet": "Rain.", "reply": "Coat.", "label": "good", **change})
