"""What the two models see: shapes, what rises with what, and any text at all."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.tweet.learned.features import BUCKETS, SentenceFeatures, SurfaceFeatures
from pixelis.rewards.text.encoders import CachedEncoder

TWEET = "The umbrella gave up before the rain did."
ODD = ["", "\u200b", "x" * 100_000, "\ud800 half", "\0\1", "שלום עולם", "🔥" * 50, "été"]


def two_numbers(texts):
    """Return (1, 0) for a text about rain and (0.6, 0.8) for any other: a cosine of 0.6."""
    return np.array([[1.0, 0.0] if "rain" in text else [0.6, 0.8] for text in texts])


@pytest.fixture(scope="module")
def sentence():
    return SentenceFeatures(CachedEncoder(two_numbers))


def test_sentence_features_begin_with_both_vectors_their_distance_and_their_product(sentence):
    (row,) = sentence([(TWEET, "Which brand was it?")])
    assert row.shape == (4 * 2 + 13,)
    np.testing.assert_allclose(row[:8], [1, 0, 0.6, 0.8, 0.4, 0.8, 0.6, 0], atol=1e-12)
    assert row[8] == pytest.approx(0.6)  # the cosine
    assert row[9] == pytest.approx(0.6)  # of the reply's own words: the same text here
    assert row[10] == 0  # how far the cosine is above 0.65
    assert row[11] == 4 / 20  # words
    assert row[19] == 1  # a question


def test_the_replys_own_words_are_seen_apart(sentence):
    named, bare = sentence([(TWEET, "Which brand, in that rain?"), (TWEET, "The rain!")])
    assert named[8:10] == pytest.approx([1, 0.6])  # without "rain" it is like any other text
    assert bare[8:10] == pytest.approx([1, 0])  # only "the" is left


def test_a_pair_has_the_same_features_in_any_batch(sentence):
    pairs = [(TWEET, "Which brand was it?"), (TWEET, ""), ("Snow.", "It will rain.")]
    for features in (sentence, SurfaceFeatures()):
        for pair, row in zip(pairs, features(pairs), strict=True):
            np.testing.assert_array_equal(features([pair])[0], row)


def step(reply, share):
    """Return which of ten steps a share of the reply takes."""
    (row,) = SurfaceFeatures()([(TWEET, reply)])
    steps = row[2 * BUCKETS :].reshape(6, 10)
    assert (steps.sum(1) == 1).all()
    return int(steps[share].argmax())


def test_surface_steps_rise_with_what_they_name():
    assert step("Quite another thing.", 0) < step("The umbrella gave in.", 0) < step(TWEET, 0) == 9
    assert step("Quite another thing.", 1) < step("An umbrella?", 1)
    assert step("no no no no no", 2) < step("all words are different", 2)
    assert step("!!! ??? 123 a", 3) < step("letters alone", 3)
    assert step("quiet", 4) < step("LOUD", 4)
    assert step("short", 5) < step("long " * 40, 5)


def test_the_runs_of_a_reply_have_length_one_and_do_not_see_case():
    low, high = SurfaceFeatures()([(TWEET, "which brand"), (TWEET, "Which Brand")])
    assert np.linalg.norm(low[:BUCKETS]) == pytest.approx(1)
    np.testing.assert_array_equal(low[:BUCKETS], high[:BUCKETS])


@pytest.mark.parametrize("text", ODD)
def test_any_reply_has_finite_features(sentence, text):
    for features in (sentence, SurfaceFeatures()):
        assert np.isfinite(features([(TWEET, text)])).all()


def test_patterns_keep_grammar_and_blank_what_a_reply_is_about():
    pairs = [
        ("The umbrella broke.", "Did the violin bend?"),
        ("The umbrella broke.", "Did the kettle bend?"),
        ("The umbrella broke.", "Did the umbrella bend?"),
    ]
    other, another, same = SurfaceFeatures()(pairs)[:, BUCKETS : 2 * BUCKETS]
    np.testing.assert_array_equal(other, another)
    assert not np.array_equal(other, same)
