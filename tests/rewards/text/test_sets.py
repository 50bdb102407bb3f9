"""Diversity over pairs, and what a member adds to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pixelis.errors import RewardError
from pixelis.rewards.text.diversity import (
    cosine_distances,
    distinct_n,
    embedding_diversity,
    marginal_diversity,
    mean_distance,
    ngram_distances,
)


def test_ngram_distances_by_hand():
    # {a, b, ab}, {a, c, ac}, {A, B} folded = the first, {} : 1 shared of 3 + 3, none with the empty text
    found = ngram_distances(["a b", "a c", "A  B", ""])
    third = 1 - 2 / 6
    assert found == pytest.approx(
        np.array([[0, third, 0, 1], [third, 0, third, 1], [0, third, 0, 1], [1, 1, 1, 0]])
    )
    assert ngram_distances(["", " "]).tolist() == [[0, 0], [0, 0]]


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True), st.data())
def test_a_pair_is_as_far_apart_as_its_ngrams_are_distinct(words, data):
    other = data.draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True))
    pair = [" ".join(words), " ".join(other)]
    assert ngram_distances(pair, 1)[0, 1] == pytest.approx(2 * distinct_n(pair, 1) - 1)


def test_cosine_distances_by_hand():
    vectors = np.array([[1.0, 0], [0, 1], [-1, 0], [0, 0], [0, 0]])
    found = cosine_distances(vectors, ["a", "b", "c", "", ""])
    assert found.tolist() == [
        [0, 1, 2, 1, 1],
        [1, 0, 1, 1, 1],
        [2, 1, 0, 1, 1],
        [1, 1, 1, 0, 0],  # nothing is seen in either, but they are the same text
        [1, 1, 1, 0, 0],
    ]


@given(arrays(np.float64, (5, 3), elements=st.floats(-1, 1)))
def test_the_mean_of_cosine_distances_is_the_embedding_diversity(vectors):
    vectors = vectors + np.eye(5, 3) * 4
    vectors[3:] += 3
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = mean_distance(cosine_distances(units, list("abcde")))
    assert found == pytest.approx(embedding_diversity(vectors), abs=1e-9)


def random_distances(draw):
    upper = np.triu(draw, 1)
    return upper + upper.T


def test_marginal_diversity_by_hand():
    # two the same and one at 1 from both: D = 2/3; without the third 0, without another 1
    distances = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0.0]])
    assert marginal_diversity(distances).tolist() == pytest.approx([2 / 3 - 1, 2 / 3 - 1, 2 / 3])
    assert marginal_diversity(np.array([[0, 0.5], [0.5, 0]])).tolist() == [0.5, 0.5]
    assert marginal_diversity(np.zeros((1, 1))).tolist() == [0]
    assert marginal_diversity(np.zeros((0, 0))).tolist() == []


@given(
    st.integers(3, 7).flatmap(lambda m: arrays(np.float64, (m, m), elements=st.floats(0, 2))),
)
def test_it_is_what_leaving_one_out_changes(draw):
    distances = random_distances(draw)
    found = marginal_diversity(distances)
    for member in range(len(distances)):
        others = np.delete(np.delete(distances, member, 0), member, 1)
        assert found[member] == pytest.approx(mean_distance(distances) - mean_distance(others), abs=1e-9)
    assert found.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "bad", [np.ones((2, 3)), np.array([[0, np.nan], [np.nan, 0]]), -np.ones((2, 2)), np.ones((2, 2)),
            np.array([[0, 1.0], [0, 0]])],
)  # fmt: skip
def test_what_are_no_distances(bad):
    for function in (mean_distance, marginal_diversity):
        with pytest.raises(RewardError, match="expected"):
            function(bad)


def test_wrong_arguments():
    with pytest.raises(RewardError, match="at least 1 word, got 0"):
        ngram_distances(["a"], 0)
    with pytest.raises(RewardError, match="each of 1 texts, got \\(2, 2\\)"):
        cosine_distances(np.eye(2), ["a"])
