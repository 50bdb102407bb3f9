"""Edited levels, and sampling for learnability."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.accel import Accel
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.sfl import SamplingForLearnability
from pixelis.agents.ued.space import Level, LevelSpace, level_space
from pixelis.errors import ConfigError

RNG = np.random.default_rng(0)


def make():
    return gym.make("dial_env:Toy/Dial-v0", disable_env_checker=True)


@pytest.fixture
def dials():
    """The space of the toy, in which difficulty 2 and 3 cannot be solved, and its oracle."""
    env = make()
    space = level_space(env, {})
    env.close()
    oracle = LevelOracle(make, space, {})
    yield space, oracle
    oracle.close()


def test_the_oracle_tells_what_can_be_solved(dials):
    space, oracle = dials
    results = [oracle.play(Level(cell, 5)) for cell in space.cells]
    solvable = [space.values(cell)["difficulty"] < 2 for cell in space.cells]
    assert [result.solved for result in results] == solvable
    assert [result.value for result in results] == [float(each) for each in solvable]


def test_an_oracle_whose_environment_fails_says_nothing():
    class Broken(gym.Env):
        observation_space = gym.spaces.Dict({})

        def reset(self, *, seed=None, options=None):
            raise RuntimeError("no browser")

        def players(self):
            return {"oracle": lambda env: None}

    assert LevelOracle(Broken, LevelSpace({}), {}).play(Level((), 0)) is None


def test_an_edit_turns_one_dial_by_one_and_has_a_new_seed(dials, settings):
    space, oracle = dials
    sampler = Accel(space, settings("accel"), oracle)
    children = [sampler.edit(Level((0, 0), 9), RNG) for _ in range(5)]
    assert {child.cell for child in children} == {(0, 1)} and len({child.seed for child in children}) == 5
    assert sampler.edit(Level((1, 1), 9), RNG).cell == (1, 0)  # kind short ends at difficulty 1


def test_an_edit_that_the_oracle_cannot_solve_is_dropped(dials, settings, outcome):
    space, oracle = dials
    sampler = Accel(space, settings("accel"), oracle)
    assert sampler.edit(Level((0, 3), 9), RNG) is None  # to difficulty 2
    edits = {sampler.edit(Level((0, 1), seed), RNG) for seed in range(20)}
    assert None in edits and {edit.cell for edit in edits - {None}} == {(0, 0)}
    sampler.observe([outcome((0, 3), 5, 2, origin="replay")], RNG)
    assert (sampler.metrics()["edits"], sampler.metrics()["edits_dropped"]) == (1, 1)


@given(st.integers(0, 3), st.integers(0, 2**31 - 1))
def test_edits_stay_in_range(difficulty, seed):
    space = LevelSpace({"difficulty": range(4)})

    class Solves:
        def play(self, level):
            return type("Result", (), {"solved": True})

    child = Accel(space, TrainConfig(levels="accel"), Solves()).edit(
        Level((difficulty,), seed), np.random.default_rng(seed)
    )
    assert space.contains(child.cell) and abs(child.cell[0] - difficulty) == 1 and 0 <= child.seed < 2**30


def test_edits_of_the_best_replayed_levels_are_scored_next(dials, settings, outcome, level_request):
    space, oracle = dials
    sampler = Accel(space, settings("accel", buffer=4, edits=1, replay=1.0), oracle)
    first = sampler.draw(level_request(4))
    assert {space.values(d.level.cell)["difficulty"] for d in first} == {0}  # begins at the easy end
    assert not any(draw.trained for draw in first)
    sampler.observe([outcome((0, 0), n, 2) for n in range(4)], RNG)
    sampler.observe([outcome((0, 0), 0, 1, origin="replay"), outcome((0, 0), 1, 2, origin="replay")], RNG)
    draws = sampler.draw(level_request(4))
    assert (draws[0].origin, draws[0].trained, draws[0].level.cell) == ("edit", False, (0, 1))
    assert [draw.origin for draw in draws[1:]] == ["replay"] * 3
    other = Accel(space, settings("accel", buffer=4, edits=1, replay=1.0), oracle)
    other.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
    assert (
        other.draw(level_request(4, 3)) == sampler.draw(level_request(4, 3))
        and other.state_dict() == sampler.state_dict()
    )
    assert all(draw.trained for draw in sampler.draw(level_request(4, refill=True)))


def test_what_has_no_score_is_edited_after_what_has(dials, settings, outcome):
    def children(*successes):
        sampler = Accel(dials[0], settings("accel", buffer=4, edits=1), dials[1])
        played = [outcome((int(n == 2), 0), n, k, origin="replay") for n, k in enumerate(successes)]
        sampler.observe(played, np.random.default_rng(0))
        return [cell for cell, _ in sampler.state_dict()["children"]]

    assert children(4, 0, 1, 4) == [[1, 1]]
    assert children(4, 4, 4, 4) == [[0, 1]]  # a buffer that is solved through and through grows harder


def test_accel_says_what_it_cannot_do_without(line, settings, dials):
    with pytest.raises(ConfigError, match=r"needs the environment's oracle .* ships none"):
        Accel(line, settings("accel"))
    for space in (LevelSpace({}), LevelSpace({"family": ("a", "b")}), LevelSpace({"d": (1,)})):
        with pytest.raises(ConfigError, match="turns a dial of numbers by one, and none of the dials"):
            Accel(space, settings("accel"), dials[1])


SFL = {"candidates": 6, "keep": 2, "every": 3, "fresh": 0.0}


def test_candidates_come_every_few_steps_and_are_not_trained_on(line, settings, level_request):
    sampler = SamplingForLearnability(line, settings("sfl", **SFL))
    assert sampler.most_extra == 6
    for step in range(7):
        draws = sampler.draw(level_request(4, step, extra=6))
        candidates = [draw for draw in draws if draw.origin == "candidate"]
        assert len(candidates) == (6 if step % 3 == 0 else 0)
        assert [draw.trained for draw in draws] == [True] * 4 + [False] * len(candidates)
        assert len({draw.level.seed for draw in draws}) == len(draws)
        sampler.observe([], RNG)


def test_the_most_learnable_candidates_are_kept(line, settings, outcome, level_request):
    sampler = SamplingForLearnability(line, settings("sfl", **SFL))
    successes = [0, 1, 2, 3, 4, 1]  # learnabilities 0, 3/12, 4/12, 3/12, 0, 3/12
    regrets = [1, 0.25, 0.5, 1.0, 0, 0.5]
    played = [
        outcome((1,), seed, k, origin="candidate", oracle=regret + k / 4)
        for seed, (k, regret) in enumerate(zip(successes, regrets, strict=True))
    ]
    sampler.observe([outcome(seed=99), *played], RNG)
    assert [level.seed for level in sampler.kept] == [2, 3]  # of three with 3/12 that of the highest regret
    draws = sampler.draw(level_request(4, 1))
    assert {draw.level.seed for draw in draws} == {2, 3} and all(draw.trained for draw in draws)
    other = SamplingForLearnability(line, settings("sfl", **SFL))
    other.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
    assert other.state_dict() == sampler.state_dict() and other.draw(level_request(4, 7)) == sampler.draw(
        level_request(4, 7)
    )


def test_nothing_learnable_means_fresh_levels(line, settings, outcome, level_request):
    sampler = SamplingForLearnability(line, settings("sfl", **SFL))
    sampler.observe([outcome((1,), n, 0, origin="candidate") for n in range(6)], RNG)
    assert sampler.kept == [] and [draw.origin for draw in sampler.draw(level_request(4))] == ["fresh"] * 4


def test_the_share_of_fresh_levels(line, settings, outcome, level_request):
    sampler = SamplingForLearnability(line, settings("sfl", **{**SFL, "fresh": 0.25}))
    sampler.observe([outcome((1,), n, 2, origin="candidate") for n in range(6)], RNG)
    origins = [draw.origin for step in range(300) for draw in sampler.draw(level_request(4, step))]
    assert 0.2 < origins.count("fresh") / len(origins) < 0.3
    assert "fresh" not in [draw.origin for draw in sampler.draw(level_request(4, refill=True))]
