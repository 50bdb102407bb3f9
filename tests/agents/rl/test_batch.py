"""From episodes to what is trained on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pixelis.agents.episodes.episode import Segment
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.rl.batch import (
    BatchSettings,
    batch_metrics,
    make_batch,
    reward_matrix,
    sampled_logprobs,
)
from pixelis.agents.rl.shaping import ShapingSettings
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
    assert [len(episode) for episode in batch.episodes] == [4, 7]  # shortest first in a group
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


def of_a_pair(play, settings, *rewards, **fields):
    episodes = [play(reward, member=member, **fields) for member, reward in enumerate(rewards)]
    return make_batch(
        episodes,
        groups=1,
        group_size=len(rewards),
        scale="none",
        max_completion_length=8,
        settings=settings,
    )


def two_turns(play, *turn_rewards, member=0):
    """Return an episode of two written segments, of three and of two tokens."""
    episode = play(sum(turn_rewards), member=member, turn_rewards=list(turn_rewards), turns=2)
    episode.segments += [Segment.given([4]), Segment.written([5, 5], [-2.0, -2.0])]
    return episode


def test_credit_by_turn_gives_each_token_the_advantage_of_its_turn(play):
    # both got 1: the returns from turn 0 on are equal, from turn 1 on they are 0 and 1
    episodes = [two_turns(play, 1, 0), two_turns(play, 0, 1, member=1)]
    settings = BatchSettings(credit="turn")
    batch = make_batch(
        episodes, groups=1, group_size=2, scale="none", max_completion_length=8, settings=settings
    )
    assert batch.dropped == 0
    by_member = {
        each.member: row.tolist() for each, row in zip(batch.episodes, batch.advantages, strict=True)
    }
    assert by_member == {0: [0, 0, 0, 0, 0, 0, -0.5, -0.5], 1: [0, 0, 0, 0, 0, 0, 0.5, 0.5]}
    assert make_batch(episodes, groups=1, group_size=2, max_completion_length=8).dropped == 1


def test_rows_of_turn_credit_are_right_padded(play):
    short = play(0.0, turn_rewards=[0.0], turns=1)
    batch = make_batch(
        [short, two_turns(play, 0, 1, member=1)],
        groups=1,
        group_size=2,
        scale="none",
        max_completion_length=8,
        settings=BatchSettings(credit="turn"),
    )
    assert batch.advantages.tolist() == [
        [0, 0, -0.5, -0.5, -0.5, 0, 0, 0],
        [0, 0, 0.5, 0.5, 0.5, 0, 0.5, 0.5],
    ]


def test_the_length_penalty_makes_a_difference_where_rewards_are_equal(play):
    episodes = [play(1.0, sampled=2), play(1.0, member=1, sampled=8)]
    settings = BatchSettings(shaping=ShapingSettings(overlong_buffer=4, length_limit=8))
    batch = make_batch(
        episodes, groups=1, group_size=2, scale="none", max_completion_length=8, settings=settings
    )
    assert batch.advantages.tolist() == [0.5, -0.5]
    assert [each.reward for each in episodes] == [1.0, 1.0]  # the env's rewards stay as they are


def test_the_penalty_comes_with_the_last_turn(play):
    settings = BatchSettings(
        credit="turn", gamma=0.5, shaping=ShapingSettings(overlong_buffer=5, length_limit=5)
    )
    short = play(0.0, sampled=1, member=1, turn_rewards=[0.0], turns=1)
    batch = make_batch(
        [two_turns(play, 0, 0), short],
        groups=1,
        group_size=2,
        scale="none",
        max_completion_length=8,
        settings=settings,
    )
    # penalties -1/5 and -1; the longer one's second turn has the return -1 and its first -1/2
    np.testing.assert_allclose(batch.advantages[0, 2:3], [0.15])
    np.testing.assert_allclose(batch.advantages[1, 2:], [-0.15] * 3 + [0] + [-1 + 0.35] * 2)


def test_truncated_episodes_are_a_baseline_but_no_loss(play):
    settings = BatchSettings(mask_truncated=True)
    episodes = [play(1.0), play(0.0, member=1, truncated=True, sampled=7)]
    batch = make_batch(
        episodes, groups=1, group_size=2, scale="none", max_completion_length=8, settings=settings
    )
    assert [each.member for each in batch.episodes] == [0]
    assert batch.advantages.tolist() == [0.5] and batch.masked == 1
    assert batch.counts == StepCounts(tokens=3, sequences=1, max_completion_length=8)


def test_clip_and_threshold(play):
    assert of_a_pair(play, BatchSettings(advantage_clip=2.0), 0.0, 9.0).advantages.tolist() == [-2, 2]
    batch = of_a_pair(play, BatchSettings(advantage_threshold=2.0), 0.0, 0.0, 3.0)
    assert [each.member for each in batch.episodes] == [2] and batch.filtered == 2
    assert batch.counts is not None and batch.counts.sequences == 3  # the rest keeps its weight
    at_the_threshold = of_a_pair(play, BatchSettings(advantage_threshold=0.5), 0.0, 1.0)
    assert at_the_threshold.filtered == 0


def test_groups_that_were_left_out_count_nowhere(play):
    episodes = [play(float(m), group=g, member=m, sampled=g + 1) for g in range(3) for m in range(2)]
    for episode in episodes[:2]:
        episode.reward = 1.0
    batch = make_batch(episodes, groups=3, group_size=2, scale="batch", max_completion_length=8, left_out={0})
    assert {each.group for each in batch.episodes} == {1, 2}
    assert batch.counts == StepCounts(tokens=10, sequences=4, max_completion_length=8)
    np.testing.assert_allclose(np.abs(batch.advantages), 0.5 / (math.sqrt(1 / 3) + 1e-4))
    row = batch_metrics(batch)
    assert (row["groups/count"], row["groups/dropped"], row["groups/left_out"]) == (3, 1, 1)
    assert row["groups/filter_rate"] == 1 / 3 and row["episodes/trained"] == 4
