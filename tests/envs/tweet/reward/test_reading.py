"""What is read in a text: cleaned, cut into words, links, names, hashtags and emoji."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.tweet.reading.reading import ReadText, stem
from pixelis.rewards.text.plain import READ_CHARACTERS


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("  two   words ", "two words"),
        ("a\u200bb\u2060c", "abc"),
        ("\u202eabc\u202c", "abc"),
        ("ﬁne ｆｉｎｅ", "fine fine"),
        ("a\x00\x07b", "a b"),
        ("line \n\n  line", "line\nline"),
        ("a\ud800b", "a\ufffdb"),
        ("\u3164\u2800 \ufeff", ""),
    ],
)
def test_plain(raw: str, plain: str):
    assert ReadText(raw).plain == plain
    assert ReadText(raw).raw is raw


@pytest.mark.parametrize("raw", ["", "  \n", "\u200b\u200d", "\u3164", "\x00"])
def test_blank(raw: str):
    assert ReadText(raw).is_blank


@pytest.mark.parametrize("raw", ["a", "?", "7", "❤️", "字", "\ud800"])
def test_not_blank(raw: str):
    assert not ReadText(raw).is_blank


def test_pieces():
    text = ReadText("@Ann see https://x.org/1 #BigNews don't 字字 👍🏽👍 #1 a@b.c")
    assert text.mentions == ("ann",)
    assert text.hashtags == ("bignews",)
    assert text.urls == ("https://x.org/1",)
    assert text.emoji == 2
    assert text.words == ("see", "don't", "字", "字", "1", "a", "b.c")


def test_content_words_are_what_is_left():
    text = ReadText("This is such a great insight, the kids loved baking breads")
    assert text.content_words == {"kid", "baking", "bread"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("running", "run"),
        ("trains", "train"),
        ("walked", "walk"),
        ("boxes", "box"),
        ("bus", "bus"),
        ("sing", "sing"),
    ],
)
def test_stem(word: str, expected: str):
    assert stem(word) == expected


def test_text_without_words_reaches_the_encoder_by_the_names_of_its_emoji():
    assert ReadText("🎉").for_encoder == "party popper"
    assert ReadText("yes 🎉").for_encoder == "yes 🎉"
    assert ReadText("...").for_encoder == "..."


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_can_be_read(raw: str):
    text = ReadText(raw)
    text.plain.encode("utf-8")  # no lone surrogate is left
    text.for_encoder.encode("utf-8")
    assert text.emoji >= 0 and text.weighted_length >= 0 and text.sentences >= 0
    assert len(text.words) <= len(text.plain)


def test_long_texts_are_cut_for_reading_and_not_for_counting():
    text = ReadText("word " * 20_000)
    assert len(text.plain) <= READ_CHARACTERS
    assert text.weighted_length == 100_000
