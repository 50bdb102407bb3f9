from __future__ import annotations

import pytest

from pixelis.envs.data.splits import hashed_split
from pixelis.envs.pixel.ask_image.question_rows import image_split
from pixelis.envs.tweet.data.tweet_rows import tweet_row, tweet_split
from pixelis.errors import DatasetError


@pytest.mark.parametrize(
    ("key", "split"),
    # first byte of `printf KEY | sha256sum`: 0x5f = 95 is a multiple of 5; 0xe3 = 227 and 0xca = 202 are not
    [("0", "test"), ("", "train"), ("a", "train")],
)
def test_a_hash_decides_by_hand(key, split):
    assert hashed_split(key) == split


def test_a_fifth_is_for_testing():
    """2000 keys, four standard deviations of 0.009."""
    share = sum(hashed_split(f"key {number}") == "test" for number in range(2000)) / 2000
    assert share == pytest.approx(0.2, abs=0.036)


def test_one_image_or_author_has_one_split_however_it_is_written():
    assert len({image_split(path) for path in ("a/b.png", "a//b.png", "a\\b.png", "./a/c/../b.png")}) == 1
    assert len({tweet_split(text, author) for text in "xyz" for author in ("Ann", "ANN", "ann")}) == 1
    assert tweet_split("Hello", "") == hashed_split("hello") == tweet_split(" HELLO ", "")


@pytest.mark.parametrize("split", ["val", 1, ["train"], "Train"])
def test_what_a_row_says_wins_if_it_is_a_split(split):
    assert {tweet_row({"tweet": f"hi {n}", "split": "test"}).split for n in range(20)} == {"test"}
    with pytest.raises(DatasetError, match="'split' must be 'train' or 'test', got"):
        tweet_row({"tweet": "hi", "split": split})
