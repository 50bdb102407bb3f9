"""What an episode answered, whether it counts, and how different answers are."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from pixelis.agents.episodes.answers import (
    DIVERSITIES,
    answer_distances,
    answer_in,
    by_encoder,
    counts,
    distances_between,
    diversity_metrics,
    final_answer,
    measure_named,
    said_of,
)
from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply
from pixelis.envs.verdict import FinalAnswer
from pixelis.errors import ConfigError, RewardError


def saying(text="", final=None, group=0, **fields):
    """An episode whose last turn is ``text``; ``final``: what the env says of its answer."""
    info = {} if final is None else {"final_answer": {"text": final[0], "accepted": final[1]}}
    segments = [Segment.given([1]), Segment.written([2], text=text)]
    return Episode("Toy-v0", 0, group, 0, segments, info=info, **fields)


def test_the_final_answer():
    assert answer_in("so <answer>yes</answer>") == "yes" and answer_in("yes") == "yes"
    assert final_answer(saying("so <answer>yes</answer>")) == "yes"
    assert final_answer(saying("<answer>no</answer>", ("you", True))) == "you"
    assert final_answer(saying("no tag", ("", True))) == "" == final_answer(Episode("Toy-v0", 0, 0, 0))


@pytest.mark.parametrize(
    ("episode", "expected"),
    [
        (saying("x"), True),
        (saying("x", success=True), True),
        (saying("x", success=False), False),  # the env says nothing of the answer, but it is wrong
        (saying("x", ("hi", True), success=False), True),  # not a hit, but accepted
        (saying("x", ("hi", False)), False),
        (saying("x", ("", True)), False),
        (saying("<answer> </answer>"), False),
        (saying("x", valid_for_training=False), False),
    ],
)
def test_what_counts(episode, expected):
    assert counts(episode) is expected


def test_what_is_no_answer_is_told():
    episode = Episode("Toy-v0", 0, 0, 0, info={"final_answer": "yes"})
    with pytest.raises(RewardError, match=r"final_answer.*of 'Toy-v0'.*got 'yes'"):
        final_answer(episode)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (["<answer>You made my day!</answer>"], FinalAnswer("You made my day!", True)),
        (["<answer></answer>"], FinalAnswer("", False)),
        (["hm"], FinalAnswer("", True)),  # no reply yet
    ],
)
def test_the_reply_environment_says_what_was_answered(turns, expected):
    class Plain:
        def score(self, tweet, replies):
            return [JudgedReply(reply, 0.5, {}, None if reply else "empty") for reply in replies]

    env = gym.make("Pixelis/TweetReply-v0", reward=Plain())
    runner = EpisodeRunner(env, EpisodeRequest(0))
    runner.reset()
    for turn in turns:
        runner.step(turn)
    assert said_of(runner.episode) == expected and final_answer(runner.episode) == expected.text
    assert said_of(saying("x")) is None


def test_what_does_not_count_is_at_no_distance():
    group = [saying("a b"), saying("a c"), saying("x y", ("x y", False))]
    found = answer_distances(group, DIVERSITIES["ngrams"])
    third = 1 - 2 / 6
    assert found == pytest.approx(np.array([[0, third, 0], [third, 0, 0], [0, 0, 0]]))
    assert not distances_between(["a", "b"], [False, False], DIVERSITIES["ngrams"]).any()


def test_a_measure_that_gives_something_else():
    with pytest.raises(RewardError, match="shape \\[m, m\\]"):
        distances_between(["a", "b"], [True, True], lambda texts: np.ones(2))
    with pytest.raises(RewardError, match="distances of 2 texts, got those of 3"):
        distances_between(["a", "b"], [True, True], lambda texts: np.zeros((3, 3)))
    with pytest.raises(ConfigError, match=r"no diversity is registered as 'ngram'.*ngrams"):
        measure_named("ngram")
    assert measure_named("none") is None


def test_metrics_by_hand():
    step = [
        saying("a b"),
        saying("a c"),
        saying("same", group=1),
        saying("same", group=1),
        saying("alone", group=2),
        saying("wrong", success=False, group=2),
    ]
    row = diversity_metrics(step, "ngrams")
    assert row["diversity/mean_distance"] == pytest.approx((1 - 2 / 6 + 0) / 2)
    assert row["diversity/distinct_1"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert row["diversity/distinct_2"] == 1.0  # the second group has no pair of words
    assert row["diversity/counted"] == pytest.approx(5 / 6)
    assert diversity_metrics([], "ngrams")["diversity/mean_distance"] is None


def test_the_encoder_sees_meaning():
    near, far, again = "The train was late again.", "My dog loves the snow.", "The train was late again."
    found = by_encoder([near, "Our train came late once more.", far, again])
    assert found[0, 1] < 0.5 < found[0, 2] and found[0, 3] == 0
    assert by_encoder(["", "\ud800"]).shape == (2, 2)
