"""Requested episodes: plans, streams, idleness, the turn limit, and failures that are no outcomes."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.sb3.episodes import IDLE, RECORD, RequestedEpisodes, play
from pixelis.agents.sb3.vectors import EnvMaker, make_vec
from pixelis.envs.check.playing import same
from pixelis.wrappers import DiscreteToolActions

SEGMENT, ANSWER = [2, 0, 0, 0, 0], [4, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def task_env():
    return TaskEnv.open("Pixelis/SizeCompare-v0", {"reader": "truth", "max_turns": 2}, {"difficulty": 0})


def requested(task_env, **options):
    return RequestedEpisodes(DiscreteToolActions(task_env.make(), grid=2), options)


def test_a_plan_is_played_and_then_nothing(task_env):
    env = requested(task_env)
    env.plan([EpisodeRequest(5, 7, 1, {"split": "test"})])
    env.reset()
    *_, terminated, truncated, info = env.step(ANSWER)
    record = info[RECORD]
    assert (terminated, truncated) == (True, False)
    assert (record.seed, record.group, record.member) == (5, 7, 1)
    assert record.info["task"]["split"] == "test" and len(record.info["turns"]) == 1
    assert [each.action for each in record.exchanges] == record.info["turns"]  # not the number of the action
    observation, info = env.reset()
    assert info == {IDLE: True} and observation in env.observation_space
    _, *outcome, info = env.step(SEGMENT)
    assert (outcome, info) == ([0.0, False, False], {IDLE: True})


def test_a_stream_is_that_of_its_seed_and_has_the_options(task_env):
    env = requested(task_env, split="test")
    tasks = []
    for seed in (3, 3, 4):
        env.reset(seed=seed)
        for _ in range(2):
            *_, info = env.step(ANSWER)
            tasks.append(info[RECORD].info["task"])
            env.reset()
    assert tasks[:2] == tasks[2:4] and tasks[0] != tasks[1] and tasks[4] != tasks[0]
    assert {task["split"] for task in tasks} == {"test"}


def test_the_turn_limit_is_part_of_the_task(task_env):
    env = requested(task_env)
    env.reset(seed=0)
    assert env.step(SEGMENT)[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step(SEGMENT)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info[RECORD].truncated and info[RECORD].success is False


class Broken(gym.Wrapper):
    """Fails in the second step."""

    def step(self, action):
        if self.unwrapped.turn == 1:
            raise OSError("the browser has gone")
        return self.env.step(action)


def test_a_failure_is_a_truncation_without_reward_and_not_valid(task_env):
    env = RequestedEpisodes(DiscreteToolActions(Broken(task_env.make()), grid=2), {})
    env.reset(seed=0)
    env.step(SEGMENT)
    observation, reward, terminated, truncated, info = env.step(ANSWER)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert observation in env.observation_space
    assert not info[RECORD].valid_for_training and "the browser has gone" in info[RECORD].failure_reason


def steps_of(task_env, processes, count=2):
    vector = make_vec(EnvMaker(task_env, {"grid": 2}), count, processes)
    requests = [EpisodeRequest(seed, seed, 0, task_env.options("test")) for seed in range(3)]

    def choose(seen):
        turn = (seen["steps_left"][:, 0] < 1).astype(int)  # SEGMENT first, then answer
        return np.array([[SEGMENT, ANSWER][t] for t in turn]), turn / 2

    try:
        return list(play(vector, requests, choose))
    finally:
        vector.close()


def plain(step):
    record = None if step.record is None else (step.record.seed, step.record.reward, step.record.info)
    return [step.place, step.observation, step.action, step.extra, record]


def test_play_plays_each_request_once(task_env):
    steps = steps_of(task_env, "none")
    records = [step.record for step in steps if step.record is not None]
    assert sorted(record.seed for record in records) == [0, 1, 2]
    assert [(step.place, step.extra) for step in steps] == [
        *((0, 0.0), (1, 0.0), (0, 0.5), (1, 0.5)),
        *((0, 0.0), (0, 0.5)),  # the third request, beside an idle environment
    ]
    assert steps[0].observation["overview"].shape == (3, 96, 96)


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["fork", "spawn"])
def test_processes_play_the_same(task_env, processes):
    alone, apart = steps_of(task_env, "none"), steps_of(task_env, processes)
    assert same([plain(step) for step in alone], [plain(step) for step in apart])
