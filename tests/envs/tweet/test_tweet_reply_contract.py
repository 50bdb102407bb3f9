"""The contract of TweetReply with the package's own reward, and what the scripted players earn from it."""

from __future__ import annotations

import gymnasium as gym
import pytest

from pixelis.envs.check.tests import EnvContractTests
from pixelis.envs.tweet.tweet_reply.env import TweetReplyEnv
from pixelis.envs.tweet.tweet_reply.players import answer


class TestTweetReply(EnvContractTests):
    def make_env(self, **keywords):
        return TweetReplyEnv(**keywords)


class TestTweetReplyThreads(EnvContractTests):
    seeds = range(4)

    def make_env(self, **keywords):
        return TweetReplyEnv(mode="thread", **keywords)


@pytest.fixture(scope="module")
def env():
    return TweetReplyEnv()


def test_the_reward_and_its_parts_are_in_info():
    env = gym.make("Pixelis/TweetReply-v0")
    env.reset(seed=3)
    _, reward, _, _, info = env.step(answer(env.unwrapped.task.answer))
    terms = dict(info["reward_terms"])
    assert terms.pop("task") == reward
    assert {"relevance", "length", "engagement"} <= set(terms)
    assert 0 < reward <= 1
    assert info["success"]


@pytest.mark.parametrize(
    "text", ["", "\u200b\u2060", "x" * 100_000, "\u202eolleh", "\ud800 half", "\0\1\2", "é" * 300]
)
def test_odd_replies_are_scored(env, text):
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step(answer(text))
    assert terminated
    assert -1 <= reward < 0.66
    assert not info["success"]


def test_a_preset_is_chosen_by_name():
    totals = {}
    for preset in ("robust", "classic"):
        env = TweetReplyEnv(reward=preset)
        env.reset(seed=0)
        totals[preset] = env.step(answer(env.task.data["tweet"]))[1]
    assert totals["robust"] < 0 < totals["classic"]
