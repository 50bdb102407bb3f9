"""What is added to rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episode import Episode, Segment
from pixelis.agents.grpo.shaping import (
    BONUSES,
    ShapingSettings,
    distinct_answers,
    extra_rewards,
    register_bonus,
    soft_overlong,
)


def saying(text, group=0, **fields):
    return Episode("Toy-v0", 0, group, 0, [Segment.given([1]), Segment.written([2], text=text)], **fields)


def test_the_penalty_by_hand():
    # free up to 12 tokens, then -1/8 a token up to 20
    lengths = [0, 12, 13, 16, 20, 21, 99]
    assert soft_overlong(lengths, limit=20, buffer=8).tolist() == [0, 0, -0.125, -0.5, -1, -1, -1]


@given(st.integers(1, 50), st.integers(0, 50), st.lists(st.integers(0, 200), min_size=2, max_size=9))
def test_the_penalty_never_rises_with_length(buffer, free, lengths):
    found = soft_overlong(sorted(lengths), buffer + free, buffer)
    assert (np.diff(found) <= 0).all() and found.min() >= -1 and found.max() <= 0


@pytest.mark.parametrize("buffer", [0, 21])
def test_a_buffer_out_of_range(buffer):
    with pytest.raises(ValueError, match=r"in \[1, 20\] tokens"):
        soft_overlong([1], limit=20, buffer=buffer)


def test_distinct_answers_by_hand():
    group = [
        saying("<answer>KT47</answer>"),
        saying("hm <answer> kt47 </answer>"),
        saying("<answer>X</answer>"),
        saying("no answer"),
    ]
    assert distinct_answers(group).tolist() == [0.5, 0.5, 1, 1]


def test_extra_rewards_by_hand(play):
    episodes = [
        play(sampled=3, group=0),
        play(sampled=10, group=0),
        play(sampled=10, group=1, valid_for_training=False),
    ]
    settings = ShapingSettings(overlong_buffer=4, overlong_penalty=2.0, length_limit=12)
    assert extra_rewards(episodes, settings).tolist() == [0, -1, 0]
    assert extra_rewards(episodes, ShapingSettings()).tolist() == [0, 0, 0]


def test_a_bonus_is_given_by_group_and_to_valid_episodes_only():
    episodes = [
        saying("a", 0),
        saying("a", 1),
        saying("a", 0),
        saying("b", 1),
        saying("a", 1, valid_for_training=False),
    ]
    settings = ShapingSettings(bonus="distinct_answers", bonus_weight=2.0)
    assert extra_rewards(episodes, settings).tolist() == [1, 2, 1, 2, 0]


def test_a_bonus_of_ones_own():
    @register_bonus("short")
    def short(episodes):
        return np.array([1.0 / episode.completion_length for episode in episodes])

    try:
        settings = ShapingSettings(bonus="short", bonus_weight=1.0)
        assert extra_rewards([saying("a")], settings).tolist() == [1.0]
        BONUSES["short"] = lambda episodes: np.array([np.nan])
        with pytest.raises(ValueError, match="'short' must give 1 finite numbers"):
            extra_rewards([saying("a")], settings)
    finally:
        del BONUSES["short"]
