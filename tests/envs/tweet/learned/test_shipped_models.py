"""The models that come with the package: small, and good on replies that nothing was fitted to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pixelis.envs.tweet.learned.model import load_model
from pixelis.envs.tweet.reward.held_out import kinds_table, measure, score_rows
from pixelis.envs.tweet.reward.learned_rewards import SHIPPED, EvaluationReward, LearnedReward

PAIRS = Path(__file__).parents[4] / "benchmarks" / "data" / "tweet_pairs.jsonl"
ODD = ["", "\u200b\u2060", "x" * 100_000, "\ud800 half", "\0\1\2", "שלום", "🔥" * 300]


@pytest.fixture(scope="module")
def measured():
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    labelled = [(row["tweet"], row["reply"], row["label"] == "good") for row in rows]
    return measure(score_rows(SHIPPED, labelled), labelled)


def test_the_table_by_kind_by_hand():
    rows = [("t", "a", True), ("t", "b", True), ("t", "c", False), ("u", "d", False), ("u", "e", False)]
    scores = {"one": np.array([0.2, 0.6, 0.6, 0.1, 0.3]), "two": np.arange(5.0)}
    assert kinds_table(scores, rows, ["", "x", "copy", "", "copy"]) == [
        "| bad kind | n | one | two |",
        "|---|---|---|---|",
        "| other | 1 | 1.00 | 0.00 |",  # 0.2 and 0.6 over 0.1
        "| copy | 2 | 0.38 | 0.00 |",  # of four: 0.6 over 0.3, and half of 0.6 over 0.6
    ]


def test_they_are_small():
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 2_000_000


def test_they_saw_other_data_and_other_features():
    training, evaluation = (load_model(SHIPPED / role, role) for role in ("training", "evaluation"))
    assert training.facts["data_sha256"] != evaluation.facts["data_sha256"]
    assert (training.features, evaluation.features) == ("sentence", "surface")
    assert (training.encoder, evaluation.encoder) == ("all-MiniLM-L6-v2", "")


@pytest.mark.parametrize("reward", [LearnedReward, EvaluationReward])
def test_any_reply_has_a_probability(reward):
    scores = np.array(reward()([("Rain again, of course.", text) for text in ODD]))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (scores < 0.5).all()


@pytest.mark.slow
def test_they_are_as_good_as_told_on_replies_that_nothing_was_fitted_to(measured):
    assert measured["hybrid"]["auc"] >= 0.90
    assert measured["learned"]["auc"] >= 0.80
    assert measured["evaluation"]["auc"] >= 0.65
    assert measured["learned"]["calibration_error"] < 0.15
    assert measured["evaluation"]["with_robust"] > 0.2
