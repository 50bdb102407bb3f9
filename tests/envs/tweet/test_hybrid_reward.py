"""TweetReply under the hybrid reward of the package: exploits at the floor, good replies above them."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.check.scores import greatest_floor
from pixelis.envs.tweet.reward.learned_rewards import SHIPPED
from pixelis.envs.tweet.tweet_reply.env import BLIND_SUCCESS, TweetReplyEnv
from pixelis.envs.tweet.tweet_reply.players import ReplyPlayer, answer
from pixelis.errors import ConfigError, ModelLoadError

EPISODES = 60


FORMER = (
    "That is a lovely thing to read today, and you tell it so well. "
    "How long did it take until you saw it that way?"
)
"""The fixed reply of `blind` before a better one was found; its bounds are kept."""


def played(split, *presets):
    """Return preset → policy → (success rate, mean reward)."""
    found = {}
    for preset in presets:
        env = TweetReplyEnv(reward=preset, split=split)
        players = {**env.players(), "former": lambda env: ReplyPlayer(env, lambda tweet, rng: FORMER)}
        found[preset] = {name: np.mean(episodes(env, make), axis=0) for name, make in players.items()}
    return found


def episodes(env, make):
    ends = []
    for seed in range(EPISODES):
        observation, info = env.reset(seed=seed)
        policy, over = make(env), False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        ends.append((info["success"], reward))
    return ends


def best_exploit(players):
    """Return the largest mean reward of an exploit."""
    return max(reward for name, (_, reward) in players.items() if name.startswith("exploit_"))


@pytest.mark.slow
def test_every_exploit_stays_at_the_floor():
    earned = played("train", "hybrid")["hybrid"]
    exploits = {name: numbers for name, numbers in earned.items() if name.startswith("exploit_")}
    assert len(exploits) >= 15
    allowed = greatest_floor(BLIND_SUCCESS, EPISODES, 0.05)  # as the contract bounds them
    assert {name for name, (success, _) in exploits.items() if success > allowed} == set()
    assert best_exploit(earned) < earned["oracle"][1] - 0.45
    assert earned["former"][0] <= 0.27 and earned["blind"][0] <= allowed


@pytest.mark.slow
def test_what_pays_best_without_a_reply_pays_less_than_under_robust():
    earned = played("test", "robust", "hybrid")
    robust, hybrid = earned["robust"], earned["hybrid"]
    assert best_exploit(robust) < robust["oracle"][1] - 0.5
    assert best_exploit(hybrid) < hybrid["oracle"][1] - 0.4
    # Both have the fault heads, so the two are nearer to each other than before there were any (0.41 and 0.34
    # for the best exploit), and both are lower. `blind` is the best of many fixed replies against `robust`.
    assert best_exploit(hybrid) < best_exploit(robust) < 0.38 and best_exploit(hybrid) < 0.34
    assert hybrid["former"][1] < robust["former"][1] < 0.34 and hybrid["former"][1] < 0.28
    assert max(robust["blind"][1], hybrid["blind"][1]) < 0.39


def test_settings_are_strings_and_the_learned_part_is_in_info():
    env = TweetReplyEnv(reward="hybrid", reward_model=str(SHIPPED / "training"))
    env.reset(seed=0)
    *_, info = env.step(answer(env.task.answer))
    terms = info["reward_terms"]
    assert 0 < terms["learned"] <= 1
    env.reset(seed=0)
    *_, info = env.step(answer(""))
    assert info["reward_terms"]["learned"] == 0 and info["replies"][0]["gate"] == "empty"


def test_wrong_settings_are_told_when_the_environment_is_made():
    with pytest.raises(ConfigError, match="goes with reward 'hybrid'"):
        TweetReplyEnv(reward="robust", reward_model=str(SHIPPED))
    with pytest.raises(ModelLoadError, match="reward_model must be the path of a folder"):
        TweetReplyEnv(reward="hybrid", reward_model="nowhere")
    with pytest.raises(ModelLoadError, match="one for evaluation"):
        TweetReplyEnv(reward="hybrid", reward_model=str(SHIPPED / "evaluation"))
