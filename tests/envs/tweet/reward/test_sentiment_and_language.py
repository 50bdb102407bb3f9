"""VADER's compound score, and languages that are told apart only where they can be."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from pixelis.envs.tweet.reading import language as language_module
from pixelis.envs.tweet.reading import sentiment as sentiment_module
from pixelis.envs.tweet.reading.language import UNKNOWN, is_other_language, language, script
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.sentiment import sentiment
from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings
from pixelis.errors import MissingDependencyError

PAIRS = Path(__file__).parents[4] / "benchmarks/data/tweet_pairs.jsonl"
VADER = SentimentIntensityAnalyzer()
SAID = [
    "good",
    "GOOD",
    "not",
    "very",
    "bad!!",
    "(:",
    ":)",
    "<3",
    "at",
    "least",
    "kind",
    "of",
    "table",
    "but",
    "no",
    "'good'",
    "😀",
]


def test_labelled_texts_get_what_vader_gives():
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        reply = json.loads(line)["reply"]
        assert sentiment(reply) == VADER.polarity_scores(reply[:600])["compound"]


@given(
    st.one_of(st.lists(st.sampled_from(SAID)).map(" ".join), st.text(alphabet=st.characters(codec="ascii")))
)
def test_any_text_gets_what_vader_gives(text: str):
    assert sentiment(text) == VADER.polarity_scores(text)["compound"]


def test_long_texts_take_no_longer():
    assert sentiment("good " * 50_000) == sentiment("good " * 120)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to the market and bought some apples", "en"),
        ("Ich war auf dem Markt und habe Äpfel gekauft", "de"),
        ("Fui al mercado y compré unas manzanas", "es"),
        ("Я купил яблоки на рынке вчера", "ru"),
        ("りんごを買いました", "ja"),
        ("Super!", UNKNOWN),
        ("lol", UNKNOWN),
        ("", UNKNOWN),
        ("😀😀 123 !!", UNKNOWN),
    ],
)
def test_language(text: str, expected: str):
    assert language(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", "Latin"),
        ("привет", "Cyrillic"),
        ("日本です", "CJK"),
        ("שלום", "Hebrew"),
        ("ab да", UNKNOWN),
        ("7", UNKNOWN),
    ],
)
def test_script(text: str, expected: str):
    assert script(text) == expected


@pytest.mark.parametrize(
    ("tweet", "reply", "expected"),
    [
        ("The shop on our street is closing.", "Das ist wirklich schade für die Straße.", True),
        ("Der Laden in unserer Straße schließt.", "Das ist wirklich schade für die Straße.", False),
        ("Der Laden in unserer Straße schließt.", "That is a real pity for the street you live in.", True),
        ("The shop on our street is closing.", "そうですか", True),
        ("The shop on our street is closing.", "ngl kinda sad rn", False),
        ("The shop on our street is closing.", "Qué?", False),
        ("😢", "Das ist wirklich schade für die Straße.", False),
    ],
)
def test_other_language(tweet: str, reply: str, expected: bool):
    assert is_other_language(ReadText(tweet), ReadText(reply)) is expected


@pytest.mark.parametrize(
    ("package", "module", "loader", "reply"),
    [
        ("vaderSentiment", sentiment_module, "_analyser", "Nothing was awful there, and nobody was sad."),
        ("py3langid", language_module, "_identifier", "Wo sollen denn jetzt die alten Landkarten hin?"),
    ],
)
def test_a_missing_package_is_an_error_and_no_default(monkeypatch, package, module, loader, reply):
    name = {"vaderSentiment": "vaderSentiment.vaderSentiment", "py3langid": "py3langid.langid"}[package]
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(module, loader, getattr(module, loader).__wrapped__)  # as in a new process
    reward = TweetReward(TweetRewardSettings(encoder="hashed"))
    with pytest.raises(MissingDependencyError, match=rf"{package}: pip install 'pixelis\[text\]'"):
        reward.score("The library closes on Saturday after ninety years.", reply)
