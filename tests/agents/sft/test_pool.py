"""Demonstrations by difficulty: none is lost, none is on both sides, and draws go on where they stopped."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.sft.pool import Draws, Pool, difficulty_of
from pixelis.errors import CheckpointError, ConfigError


def demonstration(number: int, level: int = 0, said: int = 1) -> Episode:
    segments = [Segment.given([1, number]), Segment.written([2] * said)]
    return Episode("", number, number, 0, segments, info={"task": {"difficulty": level}})


def numbers(episodes: list[Episode]) -> list[int]:
    return [episode.seed for episode in episodes]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.floats(0, 0.9), st.integers(0, 99))
def test_each_demonstration_is_on_one_side(levels: list[int], share: float, seed: int):
    episodes = [demonstration(number, level) for number, level in enumerate(levels)]
    pool = Pool.split(episodes, share, seed)
    both = [e for side in (pool.train, pool.held_out) for part in side.values() for e in part]
    assert sorted(numbers(both)) == list(range(len(levels)))
    for level, count in Counter(levels).items():
        assert pool.train[level]
        expected = min(count - 1, max(1, round(share * count))) if share else 0
        assert len(pool.held_out[level]) == expected
        assert all(difficulty_of(e) == level for e in (*pool.train[level], *pool.held_out[level]))
    assert Pool.split(episodes, share, seed).digest == pool.digest


@given(st.lists(st.integers(0, 8), min_size=2, max_size=60), st.floats(0.01, 0.9), st.integers(0, 99))
def test_demonstrations_of_one_prompt_are_on_one_side(tasks: list[int], share: float, seed: int):
    pool = Pool.split([again(task) for task in tasks], share, seed)
    sides = [Counter(numbers(side[0])) for side in (pool.train, pool.held_out)]
    assert not sides[0].keys() & sides[1].keys() and sides[0] + sides[1] == Counter(tasks)
    assert sides[0] and bool(sides[1]) == (len(set(tasks)) > 1)
    wanted = round(share * len(tasks))
    if len(sides[0]) > 1:  # enough are apart, and not a whole prompt too many
        assert sides[1].total() >= wanted
        assert sides[1].total() - max(sides[1].values()) < max(wanted, 1)


def again(task: int) -> Episode:
    """Return a demonstration of a task; what is said differs from one to the next."""
    again.count += 1
    episode = demonstration(task)
    episode.segments[1] = Segment.written([2] * (1 + again.count % 3))
    return episode


again.count = 0


def test_pictures_tell_prompts_apart_and_the_digest_sees_them():
    one, other = (demonstration(1) for _ in range(2))
    other.segments[0] = Segment.given([1, 1], images={"pixel_values": torch.ones(1, 3)})
    pool = Pool.split([one, other], 0.5, 0)
    assert len(pool.train[0]) == len(pool.held_out[0]) == 1
    assert Pool.split([one], 0.0, 0).digest != Pool.split([other], 0.0, 0).digest


def test_the_seed_decides_what_is_held_out():
    episodes = [demonstration(number) for number in range(50)]
    held_out = [tuple(numbers(Pool.split(episodes, 0.2, seed).held_out[0])) for seed in range(4)]
    assert len(set(held_out)) == 4


def test_the_digest_sees_a_token_and_a_mask():
    one, two = demonstration(1), demonstration(2)
    other = Episode("", 1, 1, 0, [Segment.given([1, 1, 2])])
    other.segments.append(Segment.written([2]))
    base = Pool.split([one, two], 0.0, 0).digest
    assert Pool.split([one, demonstration(3)], 0.0, 0).digest != base
    assert Pool.split([other, two], 0.0, 0).digest != base


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ConfigError, match="at least one demonstration"):
        Pool.split([demonstration(0, said=0)], 0.1, 0)


def test_a_difficulty_that_is_missing_is_named():
    pool = Pool.split([demonstration(n, level) for n, level in enumerate([0, 0, 1])], 0.5, 0)
    pool.require([0])
    for level in (1, 2):  # 1 has nothing to hold out, 2 has nothing at all
        with pytest.raises(ConfigError, match=rf"difficulty {level}, .*\[0, 1\]"):
            pool.require([level])


def test_a_pass_draws_each_once_and_passes_differ():
    draws = Draws({0: [demonstration(n) for n in range(5)], 1: [demonstration(n) for n in (5, 6)]}, seed=3)
    passes = [[numbers(draws.batch(3)) for _ in range(3)] for _ in range(2)]
    for batches in passes:
        assert [len(batch) for batch in batches] == [3, 3, 1]
        assert sorted(n for batch in batches for n in batch) == list(range(7))
    assert passes[0] != passes[1]
    assert draws.epochs == 2.0


def test_a_mix_draws_in_proportion_and_each_level_evenly():
    train = {0: [demonstration(n) for n in range(4)], 1: [demonstration(n) for n in range(4, 14)]}
    draws = Draws(train, seed=0)
    drawn = Counter(n for step in range(100) for n in numbers(draws.mixed(8, {0: 0.25, 1: 0.75}, step)))
    easy = [drawn[n] for n in range(4)]
    assert sum(easy) / 800 == pytest.approx(0.25, abs=0.05)
    assert max(easy) - min(easy) <= 1
    assert sum(drawn.values()) == 800


@given(st.integers(0, 12), st.integers(0, 99))
def test_restored_draws_go_on_as_if_never_stopped(cut: int, seed: int):
    train = {0: [demonstration(n) for n in range(5)], 2: [demonstration(n) for n in range(5, 8)]}

    def draw(draws: Draws, step: int) -> list[int]:
        return numbers(draws.batch(3) if step % 2 else draws.mixed(3, {0: 0.5, 2: 0.5}, step))

    whole, first, second = (Draws(train, seed) for _ in range(3))
    expected = [draw(whole, step) for step in range(12)]
    begun = [draw(first, step) for step in range(cut)]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + [draw(second, step) for step in range(cut, 12)] == expected


def test_the_state_of_other_difficulties_is_refused():
    one, two = Draws({0: [demonstration(0)]}, 0), Draws({1: [demonstration(0)]}, 0)
    with pytest.raises(CheckpointError, match=r"knows difficulties \[0\], there are \[1\]"):
        two.load_state_dict(one.state_dict())


def test_an_episode_without_a_difficulty_counts_as_0():
    assert difficulty_of(Episode("", 0, 0, 0)) == 0
    assert difficulty_of(Episode("", 0, 0, 0, info={"task": {"difficulty": None}})) == 0
