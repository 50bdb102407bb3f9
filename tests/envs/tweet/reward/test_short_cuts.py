"""What is skipped for speed would have changed nothing: each short cut against what it stands for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from pixelis.envs.tweet.reading import reading, slurs
from pixelis.envs.tweet.reading.abuse import PATTERNS
from pixelis.envs.tweet.reading.hardship import names_hardship
from pixelis.envs.tweet.reading.lexicon import SYMPATHY
from pixelis.envs.tweet.reading.patterns import INJECTION, PROMPT_LEAK, SPAM_STRONG, SPAM_WEAK, TEMPLATE
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.repetition import COPY_RUN, COPY_SHARE, copied_share, is_copy
from pixelis.envs.tweet.reading.sentiment import may_be_negative, sentiment
from pixelis.envs.tweet.reward import robust
from pixelis.envs.tweet.reward.gates import ReplyPair
from pixelis.rewards.text import plain

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[4] / "benchmarks/data/tweet_pairs.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
PAIRS = [(row["tweet"], row["reply"]) for row in ROWS]
MOODS = """
    not never least but kind of sort almost just enough good great happy love LOVE hate sad very WOW awful
    isn't without doubt yeah right the shit kiss death hardly no nope :( :) ok
"""


@given(st.lists(st.sampled_from(MOODS.split()), max_size=14), st.sampled_from(["", "!", "?!?", "..."]))
@example(["LITTLE", "good"], "")
@example(["yeah", "right", "so", "fine"], "!")
def test_a_text_that_may_not_be_negative_is_not(words: list[str], end: str):
    text = " ".join(words) + end
    assert may_be_negative(text) or sentiment(text) >= 0


def test_most_of_the_good_replies_are_not_looked_up():
    good = [row["reply"] for row in ROWS if row["label"] == "good" and row["reply"].isascii()]
    assert sum(map(may_be_negative, good)) < 0.5 * len(good)
    assert all(sentiment(reply) >= 0 for reply in good if not may_be_negative(reply))


def test_tone_is_its_formula():
    for tweet, reply in PAIRS:
        check_tone(ReplyPair(ReadText(tweet), ReadText(reply), 0.4))


def check_tone(pair: ReplyPair):
    value = robust.tone(pair)
    kind = not SYMPATHY.isdisjoint(pair.reply.word_set)
    if kind and names_hardship(pair.tweet):
        assert value == 1
    elif value:  # else it may be deaf to bad news
        before, after = sentiment(pair.tweet.plain), sentiment(pair.reply.plain)
        assert value == pytest.approx(1 - robust.ramp(-after - max(0, -before), 0.4, 0.9), abs=1e-12)


@given(st.text(st.sampled_from("abÉß _'.-’@#1 漢"), max_size=40))
@example("it's_a v1.2.3 test'")
def test_words_of_ascii_are_the_words_of_any_text(text: str):
    read = ReadText(text)
    assert read.words == tuple(plain.WORD.findall(read.prose.casefold().replace("’", "'")))
    assert read.signs == {*regex.findall(r"[\w']+", read.lower), *read.lower}


@given(st.text(st.characters(), max_size=30))
@example("\u200b\u2060")
@example(" \t !")
@example("a\x00\x1fb  c")
def test_blank_is_without_anything_to_see(text: str):
    read = ReadText(text)
    assert read.is_blank is (reading._SHOWN.search(read.plain) is None)
    assert read.plain == plain._BLANKS.sub(" ", read.plain)


def test_a_copy_is_what_it_is_said_to_be():
    for tweet, reply in PAIRS:
        source, text = ReadText(tweet), ReadText(reply)
        some = len(text.words) >= COPY_RUN and copied_share(source.words, text.words) >= COPY_SHARE
        whole = len(source.words) >= COPY_RUN and copied_share(text.words, source.words) >= COPY_SHARE + 0.1
        same = source.words == text.words
        assert is_copy(source, text) is (len(text.words) >= 2 and (some or whole or same)), reply


@pytest.mark.parametrize("prefiltered", [PROMPT_LEAK, TEMPLATE, INJECTION, SPAM_STRONG, SPAM_WEAK, PATTERNS])
def test_no_pattern_matches_without_one_of_its_words(prefiltered):
    for text in {ReadText(text) for pair in PAIRS for text in pair}:
        matches = {
            match.group() for pattern in prefiltered.patterns for match in pattern.finditer(text.lower)
        }
        assert prefiltered.found(text) == matches
        assert prefiltered.finds(text) is bool(matches)


PREFILTERED = [PROMPT_LEAK, TEMPLATE, INJECTION, SPAM_STRONG, SPAM_WEAK, PATTERNS]
FRAGMENTS = sorted({word for prefiltered in PREFILTERED for word in prefiltered.signs})


@given(
    st.lists(st.sampled_from([*FRAGMENTS, *" .,!?:'\n\t10%@#(["]), max_size=14), st.sampled_from(["", " "])
)
@example(["nobody", "cares"], " ")
@example(["make", "$400", "a", "day"], " ")
def test_both_engines_find_the_same_in_ascii(words: list[str], between: str):
    text = ReadText(between.join(words)).lower
    for prefiltered in PREFILTERED:
        for quick, slow in zip(prefiltered.ascii_patterns, prefiltered.patterns, strict=True):
            if text.isascii():
                assert [one.span() for one in quick.finditer(text)] == [
                    one.span() for one in slow.finditer(text)
                ]


@given(st.text(st.sampled_from("ab1!\n"), max_size=12))
def test_a_letter_said_three_times_counts_twice(word: str):
    twice = "".join(
        letter
        for place, letter in enumerate(word)
        if place < 2 or len({letter, *word[place - 2 : place]}) > 1
    )
    assert slurs.digest(word) == slurs.digest(twice)
    assert slurs.digest("aab") != slurs.digest("ab")
