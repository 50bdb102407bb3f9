"""The Vendi score and embedding diversity: by hand, at their bounds, and what leaves them as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pixelis.errors import RewardError
from pixelis.rewards.text.diversity import embedding_diversity, vendi_score

VECTORS = st.tuples(st.integers(2, 7), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-9, 9).map(lambda value: value or 10))
)


def test_the_vendi_score_by_hand():
    assert vendi_score(np.eye(4)) == pytest.approx(4)
    assert vendi_score(np.ones((5, 3))) == pytest.approx(1)
    # Cosine 1/2: eigenvalues 3/4 and 1/4 of K / 2.
    pair = np.array([[1, 0], [0.5, 0.75**0.5]])
    assert vendi_score(pair) == pytest.approx(0.75**-0.75 * 0.25**-0.25)
    assert vendi_score(np.array([[3.0, 4.0]])) == 1.0
    # Two of one kind, one of another: shares 2/3 and 1/3.
    assert vendi_score(np.array([[1, 0], [1, 0], [0, 1]])) == pytest.approx(
        (2 / 3) ** (-2 / 3) * 3 ** (1 / 3)
    )


@given(VECTORS, st.floats(0.01, 100))
def test_the_vendi_score_lies_between_1_and_m(vectors, scale):
    score = vendi_score(vectors)
    assert 1 <= score <= len(vectors)
    assert vendi_score(vectors[::-1] * scale) == pytest.approx(score)


@given(VECTORS)
def test_a_copy_of_every_vector_adds_no_vendi(vectors):
    assert vendi_score(np.concatenate([vectors, vectors])) == pytest.approx(vendi_score(vectors), rel=1e-6)


def test_embedding_diversity_by_hand():
    assert embedding_diversity(np.eye(3)) == pytest.approx(1)
    assert embedding_diversity(np.ones((4, 2))) == pytest.approx(0)
    assert embedding_diversity(np.array([[1.0], [-2.0]])) == pytest.approx(2)
    # Cosines 1, 0 and 0 of the three pairs.
    assert embedding_diversity(np.array([[2, 0], [5, 0], [0, 1]])) == pytest.approx(2 / 3)


@given(VECTORS)
def test_embedding_diversity_is_one_less_the_mean_cosine(vectors):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = [units[i] @ units[j] for i in range(len(units)) for j in range(len(units)) if i != j]
    assert embedding_diversity(vectors) == pytest.approx(1 - np.mean(cosines), abs=1e-9)


def test_tiny_and_huge_vectors_count_like_others():
    assert vendi_score(np.diag([1e-200, 1e200])) == pytest.approx(2)


@pytest.mark.parametrize("measure", [vendi_score, embedding_diversity])
@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.zeros((0, 3)), "of at least"),
        (np.ones(3), r"shape \(3,\)"),
        (np.array([[1.0, np.nan], [1, 1]]), "NaN"),
        (np.array([[1.0, 1.0], [0, 0]]), "text 1 has the zero vector"),
    ],
)
def test_what_cannot_be_measured_is_an_error(measure, vectors, words):
    with pytest.raises(RewardError, match=words):
        measure(vectors)


def test_one_text_has_no_mean_distance():
    with pytest.raises(RewardError, match="at least 2 texts"):
        embedding_diversity(np.ones((1, 2)))
