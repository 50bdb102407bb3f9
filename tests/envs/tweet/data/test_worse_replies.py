"""Worse replies are made by the rules that are stated, the same ones every time."""

from __future__ import annotations

from collections import Counter

import pytest

from pixelis.envs.tweet.data.tweet_rows import TweetRow
from pixelis.envs.tweet.data.worse_replies import derive_preferences, worse_sentences

RAIN = TweetRow(
    "The umbrella gave up before the rain did today.",
    "Mine is a skeleton by now as well. Did it turn inside out or lose a spoke?",
    "amy",
    topic="weather",
    emotion="frustration",
)
SNOW = TweetRow("Snow on the tulips.", "Tulips shrug at snow. Mulch them tonight.", topic="weather")
BREAD = TweetRow("My sourdough rose.", "Sourdough that rises is half won. Which flour?", topic="cooking")
MUTE = TweetRow("Nobody answered this tweet.", topic="cooking")
ROWS = [RAIN, SNOW, BREAD, MUTE]


@pytest.fixture(scope="module")
def of_rain():
    """Return kind → the pairs for the first tweet over 40 seeds."""
    found = {}
    for seed in range(40):
        for pair in derive_preferences(ROWS, worse_sentences(), seed):
            if pair.tweet == RAIN.tweet:
                found.setdefault(pair.kind, []).append(pair)
    return found


def test_every_kind_is_made_once_a_tweet(of_rain):
    assert {len(pairs) for pairs in of_rain.values()} == {40}
    rules = "other_topic same_topic copy partial_copy truncated shuffled salad repetition signs hashtags"
    assert set(of_rain) == {*rules.split(), "mentions", "links", "empty", *worse_sentences()}


def test_the_better_side_is_the_good_reply_or_a_sentence_of_it_sometimes_in_lower_case(of_rain):
    whole, first = RAIN.reply, "Mine is a skeleton by now as well."
    second = "Did it turn inside out or lose a spoke?"
    allowed = {whole, first, second} | {one.lower().removesuffix(".") for one in (whole, first, second)}
    seen = Counter(pair.chosen for pairs in of_rain.values() for pair in pairs)
    assert set(seen) == allowed
    assert {pair.chosen for kind in ("truncated", "shuffled") for pair in of_rain[kind]} == {whole}


def test_borrowed_replies_are_of_the_topic_that_they_say(of_rain):
    assert all(
        "ulip" in pair.rejected or "snow" in pair.rejected or "ulch" in pair.rejected
        for pair in of_rain["same_topic"]
    )
    assert all("ourdough" in pair.rejected or "flour" in pair.rejected for pair in of_rain["other_topic"])


def test_rules_do_what_their_names_say(of_rain):
    words = sorted(RAIN.tweet.split())
    for kind, check in {
        "copy": lambda text: text == RAIN.tweet,
        "partial_copy": lambda text: RAIN.tweet.startswith(text) and len(text) < len(RAIN.tweet),
        "truncated": lambda text: RAIN.reply.startswith(text) and len(text) < 0.8 * len(RAIN.reply),
        "shuffled": lambda text: sorted(text.split()) == sorted(RAIN.reply.split()) and text != RAIN.reply,
        "salad": lambda text: sorted(text.split()) == words and text != RAIN.tweet,
        "repetition": lambda text: len(set(text.split())) <= len(text.split()) / 2,
        "hashtags": lambda text: text.count("#") >= 3,
        "mentions": lambda text: text.count("@") >= 3,
        "links": lambda text: text.count("https://") == 2,
        "empty": lambda text: text == "",
        "quote": lambda text: RAIN.tweet in text,
        "template_tokens": lambda text: any(mark in text for mark in "{[<%@X") or "customer" in text,
    }.items():
        assert all(check(pair.rejected) for pair in of_rain[kind]), kind


def test_cheering_is_wrong_under_hard_tweets_only():
    kinds = {(pair.tweet, pair.kind) for pair in derive_preferences(ROWS, worse_sentences())}
    assert (RAIN.tweet, "off_tone") in kinds
    assert (SNOW.tweet, "off_tone") not in kinds


def test_rows_without_a_reply_give_nothing_and_lend_nothing():
    pairs = derive_preferences([RAIN, MUTE], worse_sentences())
    assert {pair.tweet for pair in pairs} == {RAIN.tweet}
    assert "other_topic" not in {pair.kind for pair in pairs}


def test_the_seed_decides():
    assert derive_preferences(ROWS, worse_sentences(), 3) == derive_preferences(ROWS, worse_sentences(), 3)
    assert derive_preferences(ROWS, worse_sentences(), 3) != derive_preferences(ROWS, worse_sentences(), 4)


def test_the_sentences_are_sixteen_different_ones_a_kind_that_can_be_filled():
    for kind, sentences in worse_sentences().items():
        assert len(set(sentences)) == len(sentences) == 16, kind
        for sentence in sentences:
            filled = sentence.format(
                word="tea", Word="Tea", tweet="Tea is hot.", good="Wait a bit.", other="hot"
            )
            assert "{word}" not in filled and "{tweet}" not in filled


@pytest.mark.parametrize("tweet", ["🔥🔥", "a b c", "{curly} braces {0}", "été à la plage"])
def test_odd_tweets_make_pairs_too(tweet):
    row = TweetRow(tweet, "A reply that is good enough for this.", topic="x")
    pairs = derive_preferences([row, BREAD], worse_sentences())
    assert all(pair.chosen != pair.rejected for pair in pairs)
    assert any(tweet in pair.rejected for pair in pairs if pair.kind == "quote")
