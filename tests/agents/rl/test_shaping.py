"""What is added to rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.rl.shaping import (
    BONUSES,
    ShapingSettings,
    distinct_answers,
    diversity_bonus,
    duplicate_penalties,
    extra_rewards,
    register_bonus,
    soft_overlong,
)
from pixelis.errors import ConfigError


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
    assert distinct_answers(group).tolist() == [0.5, 0.5, 1, 0]  # prose beside answers is none
    wrong = [saying(f"<answer>{i}</answer>", success=False) for i in (1, 1, 2)]
    assert distinct_answers(wrong).tolist() == [0.5, 0.5, 1]
    plain = [saying(text) for text in ("left", "Left ", "up", "")]  # an env that asks for no tags
    assert distinct_answers(plain).tolist() == [0.5, 0.5, 1, 0]


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


def replied(text, gate=None, reward=0.5):
    info = {"final_answer": {"text": text, "accepted": bool(text) and gate is None}}
    return saying(text, info=info, reward=reward)


def test_the_diversity_bonus_by_hand():
    # D of {x, x, y} is 2/3; each x takes 1/3 off, y adds 2/3; what a gate stopped gets nothing
    group = [replied("x"), replied("y", "spam"), replied("x"), replied("y")]
    assert diversity_bonus(group, "ngrams").tolist() == pytest.approx([0, 0, 0, 1])
    settings = ShapingSettings(bonus="diversity", bonus_weight=0.1, diversity="ngrams")
    assert extra_rewards(group, settings).tolist() == pytest.approx([0, 0, 0, 0.1])
    assert diversity_bonus([replied("x")], "ngrams").tolist() == [0]
    assert diversity_bonus([replied("x", "spam")] * 2, "ngrams").tolist() == [0, 0]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a b", "c", "d e f", "c"]), st.floats(-1, 1)), min_size=1, max_size=7
    ),
    st.floats(0, 10),
)
def test_a_gated_reply_never_overtakes_by_the_bonus(replies, weight):
    group = [replied(text, "spam" if reward < 0 else None, reward) for text, reward in replies]
    settings = ShapingSettings(bonus="diversity", bonus_weight=weight, diversity="ngrams")
    extra = extra_rewards(group, settings)
    assert (extra >= 0).all() and extra.max() <= weight
    rewards = np.array([reward for _, reward in replies])
    assert not extra[rewards < 0].any()
    if (rewards < 0).any() and (rewards >= 0).any():
        shaped = rewards + extra
        assert shaped[rewards < 0].max() < shaped[rewards >= 0].min()


def test_there_is_no_such_bonus():
    with pytest.raises(ConfigError, match=r"unknown bonus 'diversit'.*diversity"):
        extra_rewards([saying("a")], ShapingSettings(bonus="diversit"))


def asked(prompt, text, reward=0.5, **fields):
    """An episode of prompt and reply; the group does not matter to what looks across prompts."""
    segments = [Segment.given([prompt]), Segment.written([2], text=f"<answer>{text}</answer>")]
    return Episode("Toy-v0", 0, 0, 0, segments, reward=reward, **fields)


STOCK = "What a lovely thing to read today!"


def test_the_duplicate_penalty_by_hand():
    # Prompts 1, 2 and 3 count (the episode of 4 is not valid). Of the two prompts other than its own, one got
    # the stock reply too, whatever its letter case: half of 0.4. Nobody shares the bakery; none is no copy.
    episodes = [
        asked(1, STOCK),
        asked(2, STOCK.upper()),
        asked(2, STOCK),
        asked(3, "The bakery opens at seven, bring your own bag."),
        asked(3, "", valid_for_training=True),
        asked(4, STOCK, valid_for_training=False),
    ]
    assert duplicate_penalties(episodes, 0.4).tolist() == pytest.approx([-0.2, -0.2, -0.2, 0, 0, 0])
    settings = ShapingSettings(duplicate_penalty=0.4)
    assert extra_rewards(episodes, settings).tolist() == pytest.approx([-0.2, -0.2, -0.2, 0, 0, 0])
    assert extra_rewards(episodes, ShapingSettings()).tolist() == [0] * 6


def test_one_answer_to_everything_is_worth_nothing_and_never_less_than_a_stopped_one():
    same = [asked(prompt, STOCK, reward) for prompt, reward in enumerate([0.9, 0.2, -0.5, -1.0, -2.0])]
    lost = duplicate_penalties(same, 1.0)
    rewards = np.array([episode.reward for episode in same])
    assert (rewards + lost).tolist() == pytest.approx([-0.1, -0.8, -1.0, -1.0, -2.0])


def test_one_prompt_alone_loses_nothing():
    assert duplicate_penalties([asked(1, STOCK)] * 4, 1.0).tolist() == [0, 0, 0, 0]
