"""Near-duplicates: by hand, against comparing all pairs, and the groups they make."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.tweet.data.near_duplicates import NEAR, BandKeys, DisjointSets, join_near_duplicates
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles

HERON = "Mist on the river this morning, one heron, and nobody else awake."


def groups_of(texts, near=NEAR):
    sets = DisjointSets(len(texts))
    pairs = join_near_duplicates(sets, texts, texts.__getitem__, near)
    return sets.groups(), pairs


def test_disjoint_sets_by_hand():
    sets = DisjointSets(6)
    for first, second in ((4, 2), (5, 4), (1, 1)):
        sets.join(first, second)
    assert sets.groups() == [[0], [1], [2, 4, 5], [3]]
    assert sets.find(5) == 2


@pytest.mark.parametrize(
    "copy",
    [
        HERON,
        HERON.upper() + "!!!",
        f"RT @amy: {HERON} https://t.co/abc",
        HERON.replace("nobody", "noboddy"),
        HERON + " 🌅 #morning",
        HERON.replace("this morning", "today"),
    ],
)
def test_copies_with_small_changes_are_found(copy):
    other = "The bakery sold out of cardamom buns before ten today."
    assert groups_of([HERON, other, copy]) == ([[0, 2], [1]], 1)


def test_the_same_subject_is_no_duplicate():
    texts = [HERON, "A heron on the river at noon, and everybody awake.", "One morning, one river, no mist."]
    assert groups_of(texts) == ([[0], [1], [2]], 0)


def test_near_duplicates_chain_into_one_group():
    first = "aaaa bbbb cccc dddd eeee ffff gggg hhhh"
    second, third = first.replace("aaaa", "zzzz"), first.replace("aaaa", "zzzz").replace("hhhh", "yyyy")
    assert groups_of([first, second, third]) == ([[0, 1, 2]], 2)


def test_texts_without_words_are_compared_by_their_signs():
    assert groups_of(["🔥🔥", "🎉", "🔥🔥"])[0] == [[0, 2], [1]]


WORDS = ("rain", "snow", "heron", "river", "again", "morning", "bakery", "closed")
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=12
)


@settings(max_examples=40)
@given(TEXTS)
def test_the_groups_are_those_of_all_pairs_compared(texts):
    expected = DisjointSets(len(texts))
    for first, second in itertools.combinations(range(len(texts)), 2):
        if jaccard(shingles(texts[first]), shingles(texts[second])) >= 0.6:
            expected.join(first, second)
    # At 0.6 a pair is missed with a probability below 10^-6; below it none may be joined.
    assert groups_of(texts, near=0.6)[0] == expected.groups()


def test_the_keys_of_equal_sets_are_equal_and_agree_as_minhash_promises():
    maker = BandKeys()
    first, second = shingles(HERON), shingles(HERON.replace("river", "canal"))
    assert (maker.of(first) == BandKeys().of(frozenset(sorted(first)))).all()
    similarity = jaccard(first, second)
    agreeing = np.mean(maker.of(first) == maker.of(second))
    assert agreeing == pytest.approx(similarity**3, abs=0.2)  # 64 bands of 3 rows: s.e. about 0.06
    assert not (maker.of(first) == maker.of(shingles("The bakery is closed."))).any()
