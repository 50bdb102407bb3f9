"""What a reply says beside the tweet's words decides, so stock sentences around them earn little."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pixelis.envs.tweet.reading.candidates import offers_candidates
from pixelis.envs.tweet.reading.own_words import own_text
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reward import TweetReward

TWEET = "Our village library closes on Saturday after ninety years. #books"
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[4] / "benchmarks/data/tweet_pairs.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
HELD_OUT = (
    "I had no idea that {0} could be like this. Who told you about it first?",
    "Such a wonderful {0}! Where did you learn to do that with the {1}?",
    "Honestly, {0} is one of those things that nobody talks about enough these days.",
    "So happy for you and your {0}! What are you going to do next?",
    "Your {0} reminds me of something that happened last year, I still smile about it.",
    "Do you have any advice for someone who is new to {0}? I am just starting out.",
    "I can only imagine how the {0} must have felt. Did anyone else notice?",
    "There is nothing quite like {0} on a day like this. What was your first reaction?",
    "What inspired the {0}? I am working on something similar and could use some tips.",
    "That's an interesting take on {0}. Would you do anything differently next time?",
    "Hope the {0} brings you lots of joy and laughter, you really deserve it my friend.",
    "Every {0} has two sides, and the {1} teaches us to be stronger than before.",
)
"""Written before the thresholds were chosen, and not looked at for it."""


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Where will the maps go?", "Where will the maps go?"),
        ("Where will the libraries’ maps go?", "Where will the libraries’ maps go?"),
        ("The Library's maps, the village!", "The maps, the !"),
        ("closed on Saturdays #sad @anna https://x.org", ""),  # "on" fits around anything
        ("Years, village... 📚 What happened next?", "What happened next?"),
        ("Library village!", ""),
        ("library after ninety our closes village on years", ""),
        ("📚", "books"),
    ],
)
def test_own_text(reply: str, expected: str):
    assert own_text(ReadText(TWEET), ReadText(reply)) == expected


def test_held_out_stock_sentences_earn_a_third():
    """Around the two longest words of each tweet of the half that no threshold was chosen on."""
    good = [row for row in ROWS if row["half"] == "check" and row["label"] == "good"]
    tweets = sorted({row["tweet"] for row in good})[:10]
    slots = [sorted(ReadText(tweet).words, key=len)[:-3:-1] for tweet in tweets]
    filled = [[frame.format(*words) for frame in HELD_OUT] for words in slots]
    reward = TweetReward()
    stock = [score.total for group in reward.score_batch(tweets, filled) for score in group]
    honest = [reward.score(row["tweet"], row["reply"]).total for row in good if row["tweet"] in tweets]
    assert np.mean(stock) <= 0.4 < 0.6 <= np.mean(honest)


@pytest.mark.parametrize(
    "reply",
    [
        "1. I loved that place. 2. What will happen to the maps?",
        "1) That is such sad news!\n2) Where will you read now?",
        "- I learned to read there\n- We will miss the radiator\n- Who decided that?",
        "a) So sorry for your village b) Where do I sign a petition?",
    ],
)
def test_several_replies_are_no_reply(reply: str):
    assert offers_candidates(ReadText(reply))


@pytest.mark.parametrize(
    "reply",
    [
        "1. Take a trolley. 2. Take two. 3. Take the atlas.",
        "Bring:\n- a bag for the maps\n- tape\n- tea",
        "We closed in 2. I mean 1990, and you?",
        "Two reasons: 1) money 2) nobody counted the children",
        "I read there every day.\nYou made that room warm.",
    ],
)
def test_an_honest_list_is_a_reply(reply: str):
    assert not offers_candidates(ReadText(reply))
