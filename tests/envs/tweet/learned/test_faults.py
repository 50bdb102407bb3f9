"""The fault heads tell faults apart on texts they were not fitted to, and are what their command makes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tweet_faults import command
from tweet_faults.cases import FAULT_OF, FAULTY, FaultCase, load_faulty
from tweet_faults.fitting import fit_logistic

from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.learned.faults import FAULTS, SHIPPED, load_faults, save_faults, shipped_faults
from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings
from pixelis.errors import DatasetError, ModelLoadError

ROOT = Path(__file__).parents[4]
UNSEEN = [
    json.loads(line)
    for line in (ROOT / "benchmarks/data/tweet_faults.jsonl").read_text(encoding="utf-8").splitlines()
]
LEAST = {"rude": 0.8, "insult": 0.7, "tone_deaf": 0.85, "untrue": 0.8, "off_topic": 0.7, "bare": 0.9}
"""AUC of good replies over a kind; before there were heads it was 0.66, 0.49, 0.80, 0.46, 0.72 and 0.98."""


@pytest.fixture(scope="module")
def scored():
    reward = TweetReward()
    groups = reward.score_batch([row["tweet"] for row in UNSEEN], [[row["reply"]] for row in UNSEEN])
    return [(row["kind"], group[0]) for row, group in zip(UNSEEN, groups, strict=True)]


def test_what_is_measured_on_shares_no_tweet_topic_or_author_with_what_was_fitted():
    written = [json.loads(line) for line in FAULTY.read_text(encoding="utf-8").splitlines()]
    for name in ("tweet", "topic", "author", "reply"):
        fitted = {row[name].casefold() for row in written if name in row}
        assert not fitted & {row[name].casefold() for row in UNSEEN if row["kind"] != "bare"}


@pytest.mark.parametrize("kind", LEAST)
def test_unseen_faults_stand_below_unseen_good_replies(scored, kind):
    good = np.array([score.total for name, score in scored if name == "good"])
    bad = np.array([score.total for name, score in scored if name == kind])
    assert area_under_curve(good, bad) >= LEAST[kind]


def test_no_good_reply_is_called_abuse(scored):
    assert [score.gates for kind, score in scored if kind == "good" and "abuse" in score.gates] == []


@pytest.mark.parametrize(
    "reply",
    [
        "With all due respect, you sound like a complete imbecile to anyone who rides that line.",
        "Lovely post! Only a dimwit would miss a bus twice, but lovely.",
        "Thanks for sharing. You walked past a timetable, you absolute nitwit.",
        "Good on you for the taxi. Every village needs its idiot.",
        "What a nice story, and what a pathetic excuse for a plan.",
    ],
)
def test_an_insult_in_a_polite_reply_is_abuse(reply):
    score = TweetReward().score("Missed the bus twice today, then shared a taxi.", reply)
    assert score.gates == ("abuse",) and score.total == -1


@pytest.mark.parametrize(
    "reply",
    [
        "damn that's good",
        "holy shit, congratulations to you both!!",
        "As a gay man who grew up there, you've made my day.",
        "My black friends and I have that very same argument about buses.",
        "Our Muslim neighbours do it every year, you'd love it.",
        "You absolute legend.",
        "Your landlord is an idiot, I'm sorry.",
        "You are not stupid, that timetable is.",
        "I felt like a complete fool there too, so you are in good company.",
        "I'm such an idiot, I thought you meant the other bus.",
    ],
)
def test_kind_words_about_groups_and_kind_swearing_are_no_abuse(reply):
    assert "abuse" not in TweetReward().score("Missed the bus twice today, then shared a taxi.", reply).gates


@pytest.mark.parametrize(
    "reply", ["7", "42!", "3.14", "10/10", "-5", "1,000", "Tuesday", "Yes.", "🎉", "2 of 3"]
)
def test_a_number_or_a_single_word_is_never_a_success(reply):
    from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY

    reward = TweetReward()
    for tweet in (
        "How many weeks until your exam? Mine is in 7.",
        "Which day is bin day? Tuesday or Friday?",
    ):
        assert reward.score(tweet, reply).total < GOOD_REPLY


def test_a_score_tells_the_faults_and_another_encoder_has_none():
    tweet, reply = "Chemo round four is done.", "Woohoo, party time, so jealous!"
    score = TweetReward().score(tweet, reply)
    assert tuple(score.faults) == FAULTS and all(0 <= chance <= 1 for chance in score.faults.values())
    assert score.metrics()["fault_tone_deaf"] == score.faults["tone_deaf"]
    assert TweetReward(TweetRewardSettings(encoder="hashed")).score(tweet, reply).faults == {}
    assert TweetReward(TweetRewardSettings(faults=False)).score(tweet, reply).faults == {}


def test_a_logistic_regression_by_hand():
    # One feature of two values, classes of equal weight: log-odds ln(3/1) apart on each side of 0.
    features = np.array([[1.0], [1.0], [1.0], [-1.0], [1.0], [-1.0], [-1.0], [-1.0]])
    bad = np.array([True, True, True, True, False, False, False, False])
    weights, bias = fit_logistic(features, bad, 0.0)
    assert weights[0] == pytest.approx(np.log(3), abs=1e-6) and bias == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_command_makes_what_ships(tmp_path):
    assert command.main(["--output", str(tmp_path / "faults")]) == 0
    made, shipped = load_faults(tmp_path / "faults"), load_faults(SHIPPED)
    assert made.facts["data_sha256"] == shipped.facts["data_sha256"]
    np.testing.assert_allclose(made.weights, shipped.weights, atol=2e-3)
    np.testing.assert_allclose(made.bias, shipped.bias, atol=2e-3)


def test_a_damaged_folder_and_another_encoder_are_errors(tmp_path):
    save_faults(shipped_faults(), tmp_path)
    again = load_faults(tmp_path)
    np.testing.assert_array_equal(again.weights, shipped_faults().weights)
    with pytest.raises(ModelLoadError, match=r"scripts/train_tweet_faults\.py"):
        replace(again, probe=again.probe[::-1]).check_encoder(again.probe)
    (tmp_path / "heads.safetensors").write_bytes(b"{}")
    with pytest.raises(ModelLoadError, match="fit or copy it again"):
        load_faults(tmp_path)


def test_rows_of_cases_are_checked(tmp_path):
    assert {case.fault for case in load_faulty()} == {*FAULT_OF.values()}
    path = tmp_path / "cases.jsonl"
    path.write_text('{"reply": "Oh no.", "kind": "good", "tweet": "Rain.", "topic": "weather"}\n')
    assert load_faulty(path) == [FaultCase("Rain.", "Oh no.", "good", "weather")]
    path.write_text('{"reply": "Oh no.", "kind": "bad"}\n')
    with pytest.raises(DatasetError, match="line 1: field 'kind' must be one of 'good', 'rude'"):
        load_faulty(path)


def test_specificity_is_the_share_of_posts_that_are_less_near():
    posts = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]])
    model = replace(shipped_faults(), posts=posts)
    replies = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # cosines 1, 0, .6, -1 twice; then 0, 1, .8, 0
    assert model.specificity(replies, np.array([0.7, -1.0, 0.9])).tolist() == [0.75, 0.0, 0.75]


def test_a_reply_that_fits_anywhere_is_specific_nowhere():
    reward = TweetReward()
    tweets = [case.tweet for case in load_faulty() if case.tweet]
    tweets = sorted(set(tweets))
    here, anywhere = (
        np.array([reward.score(tweet, reply).specificity for tweet, reply in pairs])
        for pairs in (
            [(case.tweet, case.reply) for case in load_faulty() if case.tweet and case.fault == "good"],
            [(tweet, "My colleague said the same this morning. How are you now?") for tweet in tweets],
        )
    )
    assert np.mean(here >= 0.95) > 0.5 > 0.2 > np.mean(anywhere >= 0.95)
    assert reward.score(tweets[0], "Why?").metrics()["specificity"] <= 1
    assert TweetReward(TweetRewardSettings(faults=False)).score(tweets[0], "Why?").specificity is None
