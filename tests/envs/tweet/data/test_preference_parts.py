"""The four parts share no tweet, near-duplicate, author or sentence."""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations

import pytest

from pixelis.envs.tweet.data.preference_parts import deal_in_four, derive_parts, split_preferences
from pixelis.envs.tweet.data.preferences import Preference
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_text import normalised_text
from pixelis.envs.tweet.data.worse_replies import worse_sentences
from pixelis.errors import DatasetError


@pytest.fixture(scope="module")
def parts():
    rows = [row for _, row in TweetFile.open(SEED_TWEETS).rows() if row.split == "train"]
    return derive_parts(rows, worse_sentences())


def test_the_seed_parts_share_no_tweet_and_no_author(parts):
    for first, second in combinations(vars(parts).values(), 2):
        assert not {one.tweet for one in first} & {one.tweet for one in second}
        assert not {one.author for one in first} & {one.author for one in second}
        assert not {one.chosen for one in first} & {one.chosen for one in second}


def test_borrowed_replies_stay_in_their_part(parts):
    for first, second in combinations(vars(parts).values(), 2):
        borrowed = {one.rejected for one in first if one.kind in ("other_topic", "same_topic")}
        assert not borrowed & {one.chosen for one in second}


def test_a_stock_phrase_is_in_one_part_only(parts):
    fixed = ("generic_praise", "stock_question", "rude", "off_tone")
    for first, second in combinations(vars(parts).values(), 2):
        for kind in fixed:
            both = [{one.rejected for one in part if one.kind == kind} for part in (first, second)]
            assert not both[0] & both[1]


def test_the_sizes_are_as_told(parts):
    sizes = [len({one.tweet for one in part}) for part in vars(parts).values()]
    assert sum(sizes) == 293
    assert abs(sum(sizes[:2]) - sum(sizes[2:])) <= 6
    assert sizes[1] / sum(sizes[:2]) == pytest.approx(0.2, abs=0.03)


def test_tweets_of_the_test_split_are_in_no_part(parts):
    test = {
        normalised_text(row.tweet) for _, row in TweetFile.open(SEED_TWEETS).rows() if row.split == "test"
    }
    assert not test & {normalised_text(one.tweet) for part in vars(parts).values() for one in part}


def test_items_of_one_author_or_of_nearly_one_text_stay_together():
    texts = [f"tweet number {word} about something else" for word in "abcdefgh"]
    texts = [f"{text} {'xyz' * place}" for place, text in enumerate(texts)]
    texts += ["the same words in both of these", "The same words, in both of these!", "rain", "snow"]
    authors = ["", "", "", "", "", "", "", "", "", "", "Amy", "amy"]
    for seed in range(5):
        dealt = deal_in_four(texts, authors, [""] * 12, seed)
        assert sorted(item for part in dealt for item in part) == list(range(12))
        part_of = {item: number for number, part in enumerate(dealt) for item in part}
        assert part_of[8] == part_of[9] and part_of[10] == part_of[11]


def test_all_pairs_of_a_tweet_stay_together():
    pairs = [
        Preference(sha256(bytes([tweet])).hexdigest(), f"good {n}", f"bad {n}")
        for tweet in range(30)
        for n in range(10)
    ]
    parts = vars(split_preferences(pairs, seed=1)).values()
    assert sum(map(len, parts)) == 300
    for first, second in combinations(parts, 2):
        assert not {one.tweet for one in first} & {one.tweet for one in second}


def test_too_few_authors_are_told():
    pairs = [Preference(f"tweet {n}", "good", "bad", "amy") for n in range(500)]
    with pytest.raises(DatasetError, match="at least 20 preferences in each of four parts"):
        split_preferences(pairs)
