"""The evaluation reward of the package as a watch: what it scores in episodes of TweetReply."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

import pixelis
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import play_scripted
from pixelis.envs.tweet.reward import EvaluationReward
from pixelis.envs.tweet.reward.learned_rewards import SHIPPED
from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply
from pixelis.envs.tweet.tweet_reply.evaluation import TweetEvaluation
from pixelis.errors import ModelLoadError, RewardError


class Flat:
    """A reward that gates nothing but silence, so that no encoder is needed."""

    def score(self, tweet, replies):
        return [JudgedReply(reply, 0.5, {}, None if reply else "empty") for reply in replies]


def episodes(name, seeds=range(6), **keywords):
    with gym.make("Pixelis/TweetReply-v0", reward=Flat(), **keywords) as env:
        options = {"split": "test"}
        return [play_scripted(env, name, EpisodeRequest(seed, 0, 0, options)).episode for seed in seeds]


def test_a_reply_has_the_number_that_the_evaluation_reward_gives_it():
    (episode,) = episodes("oracle", [0])
    pair = (episode.info["messages"][0], episode.info["replies"][0]["text"])
    assert TweetEvaluation()([episode]) == EvaluationReward()([pair])
    assert pixelis.__version__


def test_a_thread_is_the_mean_of_its_replies_each_to_the_tweet_and_the_follow_up():
    (episode,) = episodes("oracle", [1], mode="thread")
    messages, replies = episode.info["messages"], [one["text"] for one in episode.info["replies"]]
    assert len(messages) == len(replies) >= 2
    contexts = [messages[0], *(f"{messages[0]}\n{one}" for one in messages[1:])]
    expected = np.mean(EvaluationReward()(list(zip(contexts, replies, strict=True))))
    assert TweetEvaluation()([episode])[0] == pytest.approx(expected)


def test_silence_counts_as_the_empty_reply():
    (episode,) = episodes("nothing", [2])
    assert not episode.info["replies"]
    assert TweetEvaluation()([episode]) == EvaluationReward()([(episode.info["messages"][0], "")])


def test_good_replies_are_above_every_shipped_kind_of_bad_ones():
    watch = TweetEvaluation(str(SHIPPED / "evaluation"))
    good = np.mean(watch(episodes("oracle")))
    for name in ("template", "hashtag_stuffing", "copy_tweet", "prompt_leak", "word_repetition", "empty"):
        assert np.mean(watch(episodes(f"exploit_{name}"))) < good - 0.2, name


def test_another_environment_and_another_model_are_told():
    with pytest.raises(RewardError, match="scores the replies of Pixelis/TweetReply-v0"):
        TweetEvaluation()([SimpleNamespace(env_id="Toy-v0", info={})])
    with pytest.raises(ModelLoadError, match="got one for training"):
        TweetEvaluation(str(SHIPPED / "training"))
