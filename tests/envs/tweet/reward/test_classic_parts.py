"""The prior work's formulas: values worked out from their definitions."""

from __future__ import annotations

import pytest

from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reward import classic
from pixelis.envs.tweet.reward.gates import ReplyPair
from pixelis.envs.tweet.reward.presets import PRESETS, WEIGHTS


def pair(reply: str, tweet: str = "A table.", cosine: float = 0.0) -> ReplyPair:
    return ReplyPair(ReadText(tweet), ReadText(reply), cosine)


@pytest.mark.parametrize(("cosine", "expected"), [(-1, 0), (0, 0.5), (0.4, 0.7), (1, 1)])
def test_relevance(cosine: float, expected: float):
    assert classic.relevance(pair("x", cosine=cosine)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, 0.3), (19, 0.3), (20, 0.6), (49, 0.6), (50, 1), (150, 1), (151, 0.8), (280, 0.8), (281, 0.4)],
)
def test_length(count: int, expected: float):
    assert classic.length(pair("x" * count)) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", 0),
        ("one two three four", 1),
        ("a a b c", 0.75),
        ("a a b b", 0.5),
        ("a a a a a", 0.2 * 0.7),
        ("A a", 0.5),
    ],
)
def test_diversity(reply: str, expected: float):
    assert classic.diversity(pair(reply)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [(0, 0.7), (1, 0.8), (2, 1), (8, 1), (9, 0.8), (15, 0.8), (16, 0.3)],  # of 100 characters
)
def test_punctuation(marks: int, expected: float):
    # 1 in 100 is neither under 0.01 nor from 0.02 on: the gap in the definition gives 0.8.
    assert classic.punctuation(pair("," * marks + "x" * (100 - marks))) == expected
    assert classic.punctuation(pair("")) == 0


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Nice!", 0.5),
        ("I know a thistle", 0.5),  # "no" and "this" are found inside words
        ("Nice?", 0.5 * 1.1),
        ("Nice. Yes. Why?", 0.5 * 1.1 * 1.05),
        ("Great, and it goes on after thirty characters", 1),
        ("SHOUTING LOUDER", 0.6),
        ("Why would that be so?", 1),
    ],
)
def test_engagement(reply: str, expected: float):
    assert classic.engagement(pair(reply)) == pytest.approx(expected)


def test_sentiment_is_highest_for_the_tweets_own():
    # Neutral to neutral is 1; VADER's "great" alone is 0.6249.
    assert classic.sentiment_match(pair("A chair.")) == 1
    assert classic.sentiment_match(pair("great")) == pytest.approx(1 - 0.6249 / 2)


@pytest.mark.parametrize(
    ("reply", "expected"), [("", 0), (" ab ", 0), ("abc", None), ("x" * 500, None), ("x" * 501, 0.3)]
)
def test_guards(reply: str, expected: float | None):
    assert classic.guard(reply) == expected


def test_total_is_the_weighted_sum():
    one = pair("A chair stands there, and nobody sits on it these days.", cosine=0.4)
    preset = PRESETS["classic"]
    parts = {name: part(one) for name, part in preset.parts.items()}
    expected = {
        "relevance": 0.7,
        "length": 1,
        "sentiment": 1,
        "diversity": 1,
        "punctuation": 1,
        "engagement": 1,
    }
    assert parts == pytest.approx(expected)
    # 0.30 · 0.7 + 0.15 + 0.15 + 0.10 + 0.10 + 0.20
    assert preset.total(one, parts, WEIGHTS) == pytest.approx(0.91)
    assert preset.total(pair("x" * 501), parts, WEIGHTS) == 0.3


def test_weights_are_the_prior_works():
    assert WEIGHTS == {
        "relevance": 0.30,
        "length": 0.15,
        "sentiment": 0.15,
        "diversity": 0.10,
        "punctuation": 0.10,
        "engagement": 0.20,
    }
