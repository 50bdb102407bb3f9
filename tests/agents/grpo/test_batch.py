"""From episodes to what is trained on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pixelis.agents.episode import Segment
from pixelis.agents.grpo.aggregation import StepCounts
from pixelis.agents.grpo.batch import make_batch, reward_matrix, sampled_logprobs
from pixelis.errors import ConfigError


def test_rewards_that_cannot_be_trained_on_are_nan(play):
    episodes = [
        play(1.0, group=0, member=0),
        play(9.0, group=0, member=1, valid_for_training=False),
        play(2.0, group=0, member=2),
        play(math.nan, group=1, member=0),
        play(math.inf, group=1, member=1),
        play(0.5, group=1, member=2),
    ]
    expected = [[1.0, math.nan, 2.0], [math.nan, math.nan, 0.5]]
    np.testing.assert_array_equal(reward_matrix(episodes, 2, 3), expected)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([(0, 0), (0, 1), (1, 0)], "got 3, which are no whole groups"),
        ([(0, 0), (0, 1), (1, 0), (1, 0)], "got member 0 of group 1 twice"),
        ([(0, 0), (0, 2)], "got member 2 of group 0"),
        ([(0, 0), (2, 0)], "got member 0 of group 2"),
        ([(0, 0), (-1, 0)], "got member 0 of group -1"),
    ],
)
def test_a_batch_that_is_not_whole_groups_is_one_clear_error(play, places, message):
    episodes = [play(group=group, member=member) for group, member in places]
    with pytest.raises(ConfigError, match=f"expected episodes of 2 groups of 2, {message}"):
        reward_matrix(episodes, 2, 2)


def test_flat_groups_are_dropped_and_counted(play):
    episodes = [
        play(1.0, group=0, member=0, sampled=5),
        play(0.0, group=0, member=1, sampled=2),
        play(1.0, group=1, member=0),
        play(1.0, group=1, member=1),
    ]
    batch = make_batch(episodes, groups=2, group_size=2, scale="none", max_completion_length=8)
    assert (batch.groups, batch.dropped) == (2, 1)
    assert [len(episode) for episode in batch.episodes] == [4, 7]  # shortest first
    assert batch.advantages.tolist() == [-0.5, 0.5]
    assert batch.counts == StepCounts(tokens=5 + 2 + 3 + 3, sequences=4, max_completion_length=8)


def test_invalid_episodes_count_nowhere(play):
    episodes = [
        play(1.0, member=0),
        play(0.0, member=1),
        play(0.0, member=2, valid_for_training=False, sampled=50),
    ]
    batch = make_batch(episodes, groups=1, group_size=3, scale="none", max_completion_length=8)
    assert [episode.member for episode in batch.episodes] == [0, 1]
    assert batch.advantages.tolist() == [0.5, -0.5]
    assert batch.counts == StepCounts(tokens=6, sequences=2, max_completion_length=8)


def test_nothing_to_train_on(play):
    batch = make_batch(
        [play(1.0, member=0), play(1.0, member=1)], groups=1, group_size=2, max_completion_length=8
    )
    assert batch.episodes == () and batch.counts is None and batch.dropped == 1


def test_an_episode_without_sampled_tokens_stays_a_baseline(play):
    silent = play(0.0, member=1)
    silent.segments = silent.segments[:1]
    batch = make_batch([play(1.0), silent], groups=1, group_size=2, scale="none", max_completion_length=8)
    assert batch.advantages.tolist() == [0.5]
    assert batch.counts is not None and batch.counts.sequences == 2


def test_sampled_logprobs_are_right_padded(play):
    longer = play(sampled=2)
    longer.segments += [Segment.given([4]), Segment.written([5], [-2.0])]
    got = sampled_logprobs([play(sampled=1), longer])
    expected = torch.tensor([[0, 0, -0.5, 0, 0, 0], [0, 0, -0.5, -0.5, 0, -2.0]])
    torch.testing.assert_close(got, expected)
