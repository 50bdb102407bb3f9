"""What is played in several places, put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.playing.shares import added, in_parts, shared_out
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats


@given(st.integers(0, 12), st.integers(1, 4), st.integers(1, 5))
def test_shares_are_whole_groups_whole_and_in_order(groups, size, count):
    requests = [EpisodeRequest(7, 3 * group, member) for group in range(groups) for member in range(size)]
    shares = shared_out(requests, count)
    assert [each for share in shares for each in share] == requests and len(shares) == count
    numbers = [{each.group for each in share} for share in shares]
    assert sum(map(len, numbers)) == groups
    assert max(map(len, numbers)) - min(map(len, numbers)) <= 1


def test_counts_are_added_and_times_are_the_longest():
    one = RolloutStats(episodes=4, turns=6, generation_seconds=1.5, env_seconds=0.2)
    two = RolloutStats(episodes=8, turns=1, generation_seconds=0.5, env_seconds=0.3)
    both = RolloutStats(episodes=12, turns=7, generation_seconds=1.5, env_seconds=0.3)
    assert added([one, two]) == both


@given(st.integers(0, 12), st.integers(1, 4), st.integers(1, 5))
def test_parts_are_whole_groups_and_all_but_the_last_are_full(groups, size, at_once):
    requests = [EpisodeRequest(7, 3 * group, member) for group in range(groups) for member in range(size)]
    parts = in_parts(requests, at_once)
    assert [each for part in parts for each in part] == requests
    sizes = [len({each.group for each in part}) for part in parts]
    assert all(each == at_once for each in sizes[:-1]) and all(0 < each <= at_once for each in sizes)
