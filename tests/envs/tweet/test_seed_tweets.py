"""The tweets that come with the package: what their README says of them is so."""

from __future__ import annotations

from collections import Counter

import pytest

from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.split import PARTS, SplitSettings, split_tweets
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles


@pytest.fixture(scope="module")
def tweets():
    return TweetFile(SEED_TWEETS)


@pytest.fixture(scope="module")
def rows(tweets):
    return [row for _, row in tweets.rows()]


def test_the_numbers_of_the_readme(rows):
    threads = [row.thread for row in rows if row.thread]
    assert (len(rows), len(threads), sum(map(len, threads))) == (360, 43, 54)
    assert len({row.author for row in rows}) == 193
    topics = Counter(row.topic for row in rows)
    assert (len(topics), min(topics.values()), max(topics.values())) == (32, 11, 12)
    assert all(row.engagement is None for row in rows)
    readme = (SEED_TWEETS.parent / "README.md").read_text(encoding="utf-8")
    for number in ("360", "193", "32 topics", "43 of them", "54 follow-ups", "67 held-out", "CC0"):
        assert number in readme


def test_every_message_has_a_good_reply_that_fits_the_platform(rows):
    for row in rows:
        for message, reply in ((row.tweet, row.reply), *((one.tweet, one.reply) for one in row.thread)):
            assert 1 <= len(message) <= 280
            assert 40 <= len(reply) <= 280
            assert jaccard(shingles(message), shingles(reply)) < 0.4  # no copies
            assert row.author
            assert row.emotion


def test_nothing_is_there_twice(rows):
    assert len({row.digest() for row in rows}) == 360
    replies = [row.reply for row in rows] + [one.reply for row in rows for one in row.thread]
    assert len(set(replies)) == len(replies)


def test_lengths_styles_and_emotions_differ(rows):
    lengths = [len(row.tweet) for row in rows]
    assert min(lengths) < 25
    assert max(lengths) > 260
    assert sum(row.tweet.isupper() or row.tweet.islower() for row in rows) >= 15
    assert sum("#" in row.tweet for row in rows) >= 5
    assert sum(any(ord(one) > 0x2000 and one not in "’…" for one in row.tweet) for row in rows) >= 12
    assert sum("?" in row.tweet for row in rows) >= 30
    emotions = Counter(row.emotion for row in rows)
    assert len(emotions) >= 12
    assert max(emotions.values()) < len(rows) / 5


def test_its_split_is_the_split_of_the_script(tweets, rows):
    split = split_tweets(tweets, SplitSettings())
    expected = ["test" if PARTS[part] == "held_out" else "train" for part in split.parts]
    assert [row.split for row in rows] == expected
    assert tweets.count("test") == 67
