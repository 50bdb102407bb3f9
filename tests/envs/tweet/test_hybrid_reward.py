"""TweetReply under the hybrid reward of the package: exploits at the floor, good replies above them."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.tweet.tweet_reply import BLIND_SUCCESS, TweetReplyEnv
from pixelis.envs.tweet.tweet_reply_policies import answer
from pixelis.errors import ConfigError, ModelLoadError
from pixelis.rewards.tweet.learned.rewards import SHIPPED

EPISODES = 25


@pytest.fixture(scope="module")
def earned():
    """Return policy → (success rate, mean reward) over held-out tweets."""
    env = TweetReplyEnv(preset="hybrid", split="test")
    found = {}
    for name, make in env.policies().items():
        ends = []
        for seed in range(EPISODES):
            observation, info = env.reset(seed=seed)
            policy, over = make(env), False
            while not over:
                observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                over = terminated or truncated
            ends.append((info["success"], reward))
        found[name] = np.mean(ends, axis=0)
    return found


@pytest.mark.slow
def test_every_exploit_stays_at_the_floor(earned):
    exploits = {name: numbers for name, numbers in earned.items() if name.startswith("exploit_")}
    assert len(exploits) >= 15
    assert {name for name, (success, _) in exploits.items() if success > BLIND_SUCCESS} == set()
    assert max(reward for _, reward in exploits.values()) < earned["oracle"][1] - 0.3


@pytest.mark.slow
def test_a_stock_sentence_around_a_word_of_the_tweet_earns_less_than_under_robust(earned):
    robust = TweetReplyEnv(split="test")
    rewards = []
    for seed in range(EPISODES):
        observation, info = robust.reset(seed=seed)
        policy = robust.policies()["slot_template"](robust)
        rewards.append(robust.step(policy.act(observation, info))[1])
    assert earned["slot_template"][1] < np.mean(rewards) - 0.1


def test_settings_are_strings_and_the_learned_part_is_in_info():
    env = TweetReplyEnv(preset="hybrid", reward_model=str(SHIPPED / "training"))
    env.reset(seed=0)
    *_, info = env.step(answer(env.task.answer))
    terms = info["reward_terms"]
    assert 0 < terms["learned"] <= 1
    env.reset(seed=0)
    *_, info = env.step(answer(""))
    assert info["reward_terms"]["learned"] == 0 and info["replies"][0]["gate"] == "empty"


def test_wrong_settings_are_told_when_the_environment_is_made():
    with pytest.raises(ConfigError, match="goes with preset 'hybrid'"):
        TweetReplyEnv(preset="robust", reward_model="somewhere")
    with pytest.raises(ModelLoadError, match="expected a folder with"):
        TweetReplyEnv(preset="hybrid", reward_model="nowhere")
    with pytest.raises(ModelLoadError, match="one for evaluation"):
        TweetReplyEnv(preset="hybrid", reward_model=str(SHIPPED / "evaluation"))
