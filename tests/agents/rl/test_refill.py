"""Replacing groups without signal."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.rl.batch import score
from pixelis.agents.rl.refill import play_step

SIZE = 2


def a_step(signals, groups, extra):
    """Play groups of two whose rewards differ where ``signals`` (in the order of play) says so."""
    rounds = []

    def play(round, first, count):
        rounds.append((round, first, count))
        return [
            Episode("Toy-v0", 0, group, member, reward=float(member and signals[group]))
            for group in range(first, first + count)
            for member in range(SIZE)
        ]

    def zero_variance(episodes, count):
        return score(episodes, count, SIZE).zero_variance

    return play_step(play, zero_variance, groups=groups, group_size=SIZE, extra=extra), rounds


def test_nothing_to_spend():
    played, rounds = a_step([1, 0, 0], 3, extra=1)  # one episode is no group
    assert rounds == [(0, 0, 3)]
    assert (played.groups, played.left_out, len(played.episodes)) == (3, frozenset(), 6)


def test_rounds_by_hand():
    # of three groups two are flat; round 1 brings a good and a flat one, round 2 a good one: 3 good groups
    played, rounds = a_step([0, 1, 0, 0, 1, 1], 3, extra=100)
    assert rounds == [(0, 0, 3), (1, 3, 2), (2, 5, 1)]
    assert played.left_out == {0, 2, 3} and played.groups == 6


def test_the_bound_is_kept_and_what_is_left_stays_flat():
    played, rounds = a_step([0, 0, 0, 0, 1, 1], 3, extra=5)
    assert rounds == [(0, 0, 3), (1, 3, 2)]
    assert played.left_out == {3, 0} and played.groups == 5


def test_no_round_without_need():
    assert a_step([1, 1], 2, extra=100)[1] == [(0, 0, 2)]


@given(st.lists(st.booleans(), min_size=40, max_size=40), st.integers(1, 6), st.integers(0, 40))
def test_as_many_places_as_before_and_never_more_than_the_bound(signals, groups, extra):
    played, rounds = a_step(signals, groups, extra)
    kept = [group for group in range(played.groups) if group not in played.left_out]
    assert len(kept) == groups
    assert len(played.episodes) <= SIZE * groups + extra
    assert [round for round, _, _ in rounds] == list(range(len(rounds)))
    live = [group for group in range(played.groups) if signals[group]]
    assert set(live) <= set(kept)
    assert len(live) == groups or (played.groups - groups + 1) * SIZE > extra
    zero_variance = score(played.episodes, played.groups, SIZE).zero_variance
    np.testing.assert_array_equal(zero_variance, [not signals[group] for group in range(played.groups)])
