"""Prioritised level replay and its buffer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.ued.buffer import LevelBuffer
from pixelis.agents.ued.plr import PrioritisedLevelReplay
from pixelis.agents.ued.sampler import LevelOutcome, SampledLevel
from pixelis.agents.ued.space import Level
from pixelis.errors import StateError

RNG = np.random.default_rng(0)


def seeds(buffer):
    return [entry.level.seed for entry in buffer.entries]


def test_the_buffer_by_hand(outcome):
    buffer = LevelBuffer(capacity=2, beta=1.0, rho=0.5)
    buffer.note(outcome(seed=1, successes=1))  # learnability 1*3/12 = 1/4
    buffer.note(outcome(seed=2, successes=2))  # 2*2/12 = 1/3
    assert buffer.ages() == [1, 0]
    np.testing.assert_allclose(buffer.weights(), [0.5 * 1 / 3 + 0.5, 0.5 * 2 / 3])
    buffer.note(outcome(seed=3, successes=0))  # 0: not above the least likely one, which is 2 (2/9 < 7/9) ...
    assert seeds(buffer) == [1, 2]
    buffer.note(outcome(seed=1, successes=0))  # level 1 again: its score goes, its age too
    assert [entry.score for entry in buffer.entries] == [0.0, pytest.approx(1 / 3)]
    assert buffer.ages() == [0, 2]
    buffer.note(outcome(seed=4, successes=3))  # 1/4: above level 1, which is least likely by rank and by age
    assert seeds(buffer) == [2, 4] and buffer.clock == 5


def test_ties_are_broken_by_true_regret(outcome):
    buffer = LevelBuffer(4, 0.1, 0.0)
    buffer.note(outcome(seed=1, successes=4, oracle=1.0))  # solved: nothing to learn, no regret
    buffer.note(outcome(seed=2, successes=0, oracle=1.0))  # nothing to learn yet, regret 1
    buffer.note(outcome(seed=3, successes=0, oracle=0.0))  # impossible: regret 0
    assert [entry.regret for entry in buffer.entries] == [0.0, 1.0, 0.0]
    assert int(np.argmax(buffer.weights())) == 1


def test_without_an_oracle_the_best_return_ever_seen_stands_for_its(outcome):
    buffer = LevelBuffer(4, 1.0, 0.0)
    buffer.note(outcome(seed=1, successes=1))
    buffer.note(outcome(seed=1, successes=0))
    assert (buffer.entries[0].best, buffer.entries[0].regret) == (1.0, 1.0)


def test_levels_that_could_not_be_scored_are_not_taken_in(outcome):
    buffer = LevelBuffer(4, 1.0, 0.5)
    buffer.note(outcome(seed=1))
    buffer.note(LevelOutcome(SampledLevel(Level((0,), 2)), (1.0,), (1.0,), 1))
    buffer.note(
        LevelOutcome(SampledLevel(Level((0,), 1)), (), (), None)
    )  # its episodes failed: played, not scored
    assert seeds(buffer) == [1] and buffer.entries[0].score > 0 and buffer.ages() == [0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=60), st.integers(1, 6))
def test_a_buffer_is_never_too_large_and_what_is_not_played_ages(played, capacity):
    buffer, members = LevelBuffer(capacity, 0.3, 0.3), 4
    for seed, successes in played:
        before = {entry.level.seed: buffer.clock - entry.drawn for entry in buffer.entries}
        returns = (1.0,) * successes + (0.0,) * (members - successes)
        buffer.note(LevelOutcome(SampledLevel(Level((0,), seed)), returns, returns, successes))
        assert len(buffer) <= capacity and len(set(seeds(buffer))) == len(buffer)
        assert buffer.weights().sum() == pytest.approx(1.0)
        for entry, age in zip(buffer.entries, buffer.ages(), strict=True):
            expected = 0 if entry.level.seed == seed else before[entry.level.seed] + 1
            assert age == expected


def test_sampling_gives_none_twice_as_long_as_there_are_enough(outcome):
    buffer = LevelBuffer(3, 0.001, 0.0)  # so steep that all but the first are rounded to 0
    for seed in range(3):
        buffer.note(outcome(seed=seed, successes=2))
    drawn = [level.seed for level in buffer.sample(7, RNG)]
    assert sorted(drawn[:3]) == sorted(drawn[3:6]) == [0, 1, 2]


def filled(line, settings, outcome, **changes):
    sampler = PrioritisedLevelReplay(line, settings(buffer=8, **changes))
    sampler.observe([outcome((n % 4,), seed=n, successes=1 + n % 3) for n in range(8)], RNG)
    return sampler


def test_new_levels_until_the_buffer_is_filled_far_enough(line, settings, outcome, level_request):
    sampler = PrioritisedLevelReplay(line, settings(buffer=8, fill=0.5, replay=1.0))
    for number in range(4):
        draws = sampler.draw(level_request(4))
        assert all(draw.origin == "fresh" and not draw.trained for draw in draws)
        sampler.observe([outcome(seed=number)], RNG)
    assert [draw.origin for draw in sampler.draw(level_request(4))] == ["replay"] * 4


@pytest.mark.parametrize("robust", [True, False])
def test_robust_trains_on_replayed_levels_alone(line, settings, outcome, level_request, robust):
    sampler = filled(line, settings, outcome, replay=0.5, robust=robust)
    draws = [draw for step in range(200) for draw in sampler.draw(level_request(4, step))]
    fresh = [draw for draw in draws if draw.origin == "fresh"]
    assert 0.4 < len(fresh) / len(draws) < 0.6
    assert all(draw.trained != robust for draw in fresh)
    assert all(draw.trained for draw in draws if draw.origin == "replay")


def test_what_replaces_flat_groups_is_trained_on(line, settings, outcome, level_request):
    sampler = filled(line, settings, outcome, replay=0.1)
    assert all(
        draw.trained and draw.origin == "replay" for draw in sampler.draw(level_request(4, refill=True))
    )


def test_every_kept_level_is_replayed_in_time(line, settings, outcome, level_request):
    sampler, seen = filled(line, settings, outcome, replay=1.0, beta=0.01), set()
    for step in range(60):
        draws = sampler.draw(level_request(1, step))
        seen |= {draw.level.seed for draw in draws}
        sampler.observe([outcome(d.level.cell, d.level.seed, 2, origin=d.origin) for d in draws], RNG)
    assert seen == set(range(8))


def test_state_comes_back_bit_for_bit(line, settings, outcome, level_request):
    one, two = filled(line, settings, outcome), PrioritisedLevelReplay(line, settings(buffer=8))
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert two.state_dict() == one.state_dict() and (two.buffer.weights() == one.buffer.weights()).all()
    assert two.draw(level_request(4, 5)) == one.draw(level_request(4, 5))
    assert two.metrics() == one.metrics()


def test_levels_of_another_environment_are_refused(line, families, settings, outcome):
    sampler = PrioritisedLevelReplay(families, settings())
    with pytest.raises(StateError, match=r"saved level .* does not exist with the dials"):
        sampler.load_state_dict(filled(line, settings, outcome).state_dict())
