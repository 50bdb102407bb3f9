"""From which total on a reply counts as good: what the documented rule gives for the labelled replies."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.tweet_reply.env import BLIND_SUCCESS, GOOD_REPLY

ROOT = Path(__file__).parents[3]
SAYS_NOTHING = ("blind", "exploit_borrowed_reply", "exploit_stock_question", "exploit_template")


@pytest.fixture(scope="module")
def separation():
    path = ROOT / "benchmarks" / "quality" / "tweet_separation.py"
    spec = importlib.util.spec_from_file_location("tweet_separation_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_line_maximises_youdens_j_by_hand(separation):
    # Above 0.3 and up to 0.5 three of four good replies and none of two bad ones are left.
    good, bad = np.array([0.2, 0.5, 0.6, 0.9]), np.array([0.1, 0.3])
    line, gain, low, high = separation.success_line(good, bad)
    assert (line, gain) == (pytest.approx(0.31), pytest.approx(0.75))
    # J is 0.5 up to 0.2, where one bad reply is left, 0.25 up to 0.3, and 0.5 from 0.51.
    assert (low, high) == (pytest.approx(0.31), pytest.approx(0.5))


def test_a_reply_on_the_line_counts(separation):
    assert separation.success_line(np.array([0.4]), np.array([0.39]))[0] == pytest.approx(0.4)


@pytest.mark.parametrize("half", ["dev", "check"])
def test_good_replies_stand_above_bad_ones(separation, half):
    pairs = [pair for pair in separation.read_pairs(separation.PAIRS) if pair.half == half]
    good = np.array([pair.good for pair in pairs])
    areas = {}
    for preset in ("robust", "classic"):
        totals = np.array([score.total for score in separation.score_pairs(pairs, preset)])
        areas[preset] = area_under_curve(totals[good], totals[~good])
    assert areas["robust"] >= 0.92 > 0.7 > areas["classic"]


def test_the_line_of_the_environment_is_what_the_rule_gives(separation):
    pairs = [pair for pair in separation.read_pairs(separation.PAIRS) if pair.half == "dev"]
    scores = separation.score_pairs(pairs, "robust")
    totals = separation.line_totals(pairs, scores, "dev")
    assert separation.success_line(*totals)[0] == pytest.approx(GOOD_REPLY)


def test_each_kind_of_bad_reply_counts_the_same_in_the_line(separation):
    # From 0.41 J is 1 - (0 + 1) / 2 = 0.5, from 0.51 0.75 - (0 + 1/2) / 2 = 0.5, from 0.71 0.75 - 0 = 0.75.
    good, bad = np.array([0.5, 0.8, 0.8, 0.9]), np.array([0.1, 0.2, 0.3, 0.4])
    line, gain, *_ = separation.success_line(good, bad, np.array([0.5, 0.7]))
    assert (line, gain) == (pytest.approx(0.71), pytest.approx(0.75))
    assert separation.success_line(good, bad, np.array([0.85, 0.85]))[:2] == pytest.approx((0.41, 0.5))


@pytest.mark.slow
def test_a_reply_that_says_nothing_about_the_tweet_seldom_passes(separation):
    """Of the half that no threshold was chosen on; under the best of them one tweet in three."""
    tweets = sorted({row.tweet for _, row in TweetFile(SEED_TWEETS).rows() if row.split == "train"})[::6]
    texts = separation.anywhere(tweets, "check", "generic")
    passed = [score.total >= GOOD_REPLY for score in separation.score_texts(texts, "robust")]
    rates = np.array(passed).reshape(len(tweets), -1).mean(axis=0)
    assert len(tweets) >= 45 and len(rates) == 20
    assert rates.mean() < 0.16 and rates.max() <= 0.36


def test_chance_is_the_best_of_what_says_nothing_about_the_tweet():
    page = json.loads((ROOT / "docs/envs/tweet_reply_baselines.json").read_text(encoding="utf-8"))
    rates = {row["player"]: row["successes"] / row["episodes"] for row in page["rows"]}
    assert round(max(rates[name] for name in SAYS_NOTHING), 2) == BLIND_SUCCESS
