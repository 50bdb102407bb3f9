"""A model's folder: what is written comes back, and what is damaged, or of another kind, is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pixelis.envs.tweet.learned.features import SentenceFeatures, SurfaceFeatures
from pixelis.envs.tweet.learned.fitting import FitSettings
from pixelis.envs.tweet.learned.head import Head
from pixelis.envs.tweet.learned.model import load_model, save_model
from pixelis.envs.tweet.learned.training import train_model
from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings
from pixelis.envs.tweet.reward.held_out import score_rows
from pixelis.envs.tweet.reward.learned_rewards import (
    HYBRID_MEAN,
    EvaluationReward,
    LearnedReward,
    hybrid_reward,
)
from pixelis.errors import ModelLoadError, OutputError, RewardError
from pixelis.rewards.text.encoders import CachedEncoder

WORDS = ["kettle", "garden", "violin", "harbour", "ladder", "pepper", "winter", "ticket", "saddle", "copper"]
TRIPLES = [
    (f"My {word} broke today.", f"Can the {word} be mended, or is it the {other}?", "Great post!!! #win")
    for word in WORDS
    for other in WORDS
]
PAIRS = [(tweet, reply) for tweet, *replies in TRIPLES[:5] for reply in replies]


@pytest.fixture(scope="module")
def model():
    fit = FitSettings(hidden=4, epochs=3)
    return train_model(TRIPLES[:80], TRIPLES[80:], SurfaceFeatures(), fit, role="evaluation")


@pytest.fixture
def folder(model, tmp_path):
    save_model(model, tmp_path / "evaluation")
    return tmp_path / "evaluation"


def test_a_model_is_loaded_as_it_was_saved(model, folder):
    features = SurfaceFeatures()(PAIRS)
    again = load_model(folder, "evaluation")
    np.testing.assert_array_equal(again.probability(features), model.probability(features))
    assert again.facts == model.facts
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}


def test_the_preferred_reply_gets_the_larger_number_and_all_are_probabilities(folder):
    scores = np.array(EvaluationReward(folder)(PAIRS))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (scores[0::2] > scores[1::2]).all()
    assert EvaluationReward(folder)([]) == []


def test_a_middling_reply_has_one_half(model):
    weights = np.zeros((1, 3))
    flat = Head(np.zeros(3), np.ones(3), ((weights, np.array([model.centre])),))
    assert replace(model, head=flat).probability(np.zeros((2, 3))).tolist() == [0.5, 0.5]


def test_an_evaluation_model_is_never_taken_for_training(folder):
    with pytest.raises(ModelLoadError, match="a policy was trained on it"):
        LearnedReward(folder)
    with pytest.raises(ModelLoadError, match="expected a model for training"):
        hybrid_reward(folder)


def damage(folder, **card):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | card))


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ({"version": 9}, "expected version 1"),
        ({"sha256": "0"}, "is not what model.json says"),
        ({"temperature": "warm"}, "is damaged"),
        ({"facts": None}, "is damaged"),
    ],
)
def test_a_damaged_card_is_told(folder, card, told):
    damage(folder, **card)
    with pytest.raises(ModelLoadError) as caught:
        load_model(folder, "evaluation")
    assert told in str(caught.value)


def test_missing_and_cut_files_are_told(folder, tmp_path):
    with pytest.raises(ModelLoadError, match=r"expected a folder with model\.json"):
        EvaluationReward(tmp_path / "nowhere")
    head = folder / "head.safetensors"
    head.write_bytes(head.read_bytes()[:-8])
    with pytest.raises(ModelLoadError, match="is not what"):
        EvaluationReward(folder)
    (folder / "model.json").write_text("{")
    with pytest.raises(ModelLoadError):
        EvaluationReward(folder)


def test_only_a_reward_model_is_written_over(model, folder, tmp_path):
    save_model(model, folder)
    assert load_model(folder, "evaluation").role == "evaluation"
    other = tmp_path / "letters"
    other.mkdir()
    (other / "letter.txt").write_text("keep me")
    with pytest.raises(OutputError):
        save_model(model, other)
    assert (other / "letter.txt").read_text() == "keep me"


def test_another_encoder_than_the_fitted_one_is_told(model, tmp_path):
    features = SentenceFeatures(CachedEncoder("hashed"))
    fitted = train_model(
        TRIPLES[:80], TRIPLES[80:], features, FitSettings(epochs=1), role="training", encoder="hashed"
    )
    save_model(fitted, tmp_path / "training")
    assert len(LearnedReward(tmp_path / "training", "hashed")(PAIRS)) == 10

    def other(texts):
        return -features.encoder(texts)

    with pytest.raises(ModelLoadError, match="of the encoder hashed the reward model was fitted to"):
        LearnedReward(tmp_path / "training", other)(PAIRS)


def test_the_hybrid_is_the_mean_that_asks_for_both_and_keeps_the_gates(tmp_path):
    features = SentenceFeatures(CachedEncoder("hashed"))
    fitted = train_model(
        TRIPLES[:80], TRIPLES[80:], features, FitSettings(epochs=1), role="training", encoder="hashed"
    )
    save_model(fitted, tmp_path / "training")
    settings = TweetRewardSettings(encoder="hashed", judge_weight=0.5, judge_mean=HYBRID_MEAN)
    hybrid, alone = hybrid_reward(tmp_path / "training", settings), TweetReward(settings)
    learned = LearnedReward(tmp_path / "training", "hashed")
    tweet, good = PAIRS[0]
    mixed, plain = hybrid.score(tweet, good), alone.score(tweet, good)
    assert not plain.gates
    (judged,) = learned([(tweet, good)])
    assert mixed.judged == pytest.approx(judged)
    assert mixed.total == pytest.approx(2 * plain.total * judged / (plain.total + judged))
    assert hybrid.score(tweet, tweet).total == alone.score(tweet, tweet).total < 0
    with pytest.raises(RewardError):
        hybrid.score("", "A reply to nothing.")


def test_measuring_needs_both_models(folder):
    with pytest.raises(ModelLoadError):
        score_rows(folder.parent, [("Rain.", "Coat?", True), ("Rain.", "", False)])
