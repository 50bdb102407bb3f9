"""The store of good episodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.seeds import replay_generator
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.rl.batch import StepBatch, make_batch
from pixelis.agents.rl.replay import ReplayBuffer, with_replay
from pixelis.agents.run_files.state_files import read_tensors, write_tensors
from pixelis.agents.settings.rl import replayed
from pixelis.errors import ConfigError


def batch(*advantages, name=0, sampled=2):
    episodes = tuple(
        Episode("Toy-v0", name, 0, m, [Segment.given([1]), Segment.written([2] * sampled, [-0.5] * sampled)])
        for m in range(len(advantages))
    )
    return StepBatch(episodes, np.array(advantages, float), StepCounts(9, 9, 9), 1, 0, tokens=9, sequences=9)


def contents(replay):
    return [(each.step, each.worth) for each in replay.stored]


def test_the_best_positive_advantages_are_kept():
    replay = ReplayBuffer(capacity=3)
    replay.add(batch(0.5, -2.0, 0.0), 1)
    assert contents(replay) == [(1, 0.5)]
    replay.add(batch(1.5, 0.5, 0.25), 2)
    assert contents(replay) == [(2, 1.5), (2, 0.5), (1, 0.5)]


def test_what_is_too_old_is_dropped():
    replay = ReplayBuffer(staleness=2)
    for step in (1, 2, 3):
        replay.add(batch(1.0 * step), step)
    replay.forget(4)
    assert contents(replay) == [(3, 3.0), (2, 2.0)]


def test_draws_are_different_episodes_and_repeatable():
    replay = ReplayBuffer()
    replay.add(batch(*range(1, 11)), 1)
    one = replay.draw(4, replay_generator(0, 7))
    assert len({each.worth for each in one}) == 4
    assert one == replay.draw(4, replay_generator(0, 7)) != replay.draw(4, replay_generator(0, 8))
    assert len(replay.draw(99, replay_generator(0, 7))) == 10
    assert ReplayBuffer().draw(3, replay_generator(0, 7)) == []


def test_another_runs_episodes_count_as_just_played():
    other, own = ReplayBuffer(), ReplayBuffer(capacity=2, staleness=2)
    for step in (38, 39, 40):
        other.add(batch(0.1 * step), step)
    assert own.take_over(other.state_dict(), 40, by_turn=False) == 0
    assert contents(own) == [(0, 4.0), (-1, pytest.approx(3.9))]
    own.forget(1)
    assert len(own) == 2
    own.forget(2)
    assert contents(own) == [(0, 4.0)]


def test_episodes_that_were_credited_otherwise_are_not_taken():
    """One advantage for an episode says nothing of its tokens, and many make no one."""
    other, own = ReplayBuffer(), ReplayBuffer()
    other.add(batch(4.0), 1)
    whole = other.state_dict()
    assert (own.take_over(whole, 1, by_turn=True), len(own)) == (1, 0)
    by_turn = {"stored": [{**whole["stored"][0], "advantage": torch.tensor([0.0, 4.0, 4.0])}]}
    assert (own.take_over(by_turn, 1, by_turn=False), len(own)) == (1, 0)
    assert (own.take_over(by_turn, 1, by_turn=True), len(own)) == (0, 1)


def test_a_batch_with_replayed_episodes():
    replay = ReplayBuffer()
    replay.add(batch(2.0, name=5, sampled=1), 1)
    whole = with_replay(batch(0.5, -0.5), replay.draw(1, replay_generator(0, 2)), 9)
    assert [each.seed for each in whole.episodes] == [5, 0, 0]  # shortest first
    assert whole.advantages.tolist() == [2.0, 0.5, -0.5]
    assert whole.counts == StepCounts(tokens=10, sequences=10, max_completion_length=9)
    assert whole.replayed == 1 and whole.episodes[0].group < 0


def test_a_step_without_signal_is_trained_on_what_is_replayed(play):
    flat = make_batch([play(1.0), play(1.0, member=1)], groups=1, group_size=2, max_completion_length=9)
    assert flat.counts is None
    replay = ReplayBuffer()
    replay.add(batch(2.0), 1)
    whole = with_replay(flat, replay.draw(1, replay_generator(0, 2)), 9)
    assert whole.counts == StepCounts(tokens=3 + 3 + 2, sequences=3, max_completion_length=9)
    assert with_replay(flat, [], 9) is flat


def test_advantages_by_token_stay_with_their_tokens():
    replay = ReplayBuffer()
    short, long = batch(1.0, sampled=1), batch(1.0, sampled=3)
    by_token = np.array([[0, 0.5, -0.5, 1.5]])
    replay.add(StepBatch(long.episodes, by_token, long.counts, 1, 0), 1)
    assert contents(replay) == [(1, 1.5)]
    fresh = StepBatch(short.episodes, np.array([[0, 2.0]]), short.counts, 1, 0)
    whole = with_replay(fresh, replay.draw(1, replay_generator(0, 2)), 9)
    assert whole.advantages.tolist() == [[0, 2.0, 0, 0], [0, 0.5, -0.5, 1.5]]


def test_the_contents_survive_a_file(tmp_path):
    replay = ReplayBuffer()
    replay.add(batch(0.1 + 0.2, 0.25), 3)
    picture = Segment.given([3], images={"pixel_values": torch.rand(1, 2, 2)}, text="look")
    turn = Segment.sampled_turn(
        np.array([4]), np.array([-0.5]), "", finish_reason="length", weights_version=2
    )
    replay.stored[0].episode.segments += [picture, turn]
    write_tensors(tmp_path / "replay.pt", replay.state_dict())
    other = ReplayBuffer()
    other.load_state_dict(read_tensors(tmp_path / "replay.pt"))
    assert contents(other) == contents(replay)
    for one, two in zip(replay.stored, other.stored, strict=True):
        assert one.episode.seed == two.episode.seed and one.episode.member == two.episode.member
        for name in ("tokens", "loss_mask", "logprobs"):
            np.testing.assert_array_equal(getattr(one.episode, name), getattr(two.episode, name))
            assert getattr(one.episode, name).dtype == getattr(two.episode, name).dtype
        assert one.episode.text == two.episode.text
        assert one.episode.weights_versions == two.episode.weights_versions
    assert [each.finish_reason for each in other.stored[0].episode.segments][-2:] == [None, "length"]
    assert other.stored[0].episode.weights_versions == {2}
    assert torch.equal(other.stored[0].episode.images["pixel_values"], picture.images["pixel_values"])


@given(st.lists(st.lists(st.floats(-3, 3, width=16), min_size=1, max_size=5), max_size=8), st.integers(1, 6))
def test_never_more_than_the_capacity_and_never_a_worse_one(steps, capacity):
    replay, offered = ReplayBuffer(capacity, staleness=100), []
    for step, advantages in enumerate(steps, start=1):
        replay.add(batch(*advantages), step)
        offered += [value for value in advantages if value > 0]
    assert [worth for _, worth in contents(replay)] == pytest.approx(sorted(offered, reverse=True)[:capacity])


def test_a_share_is_rounded_and_one_that_is_none_is_refused(toy_config):
    replay = {"algorithm": {"replay": {"ratio": 0.57}}}
    assert replayed(toy_config(groups=10, group_size=10, **replay), 10) == 57  # 56.99999999999999 in floats
    with pytest.raises(ConfigError, match=r"ratio 0\.02 of 16 episodes is none"):
        toy_config(groups=4, group_size=4, algorithm={"replay": {"ratio": 0.02}})
