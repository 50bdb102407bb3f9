"""Where rewards read what an environment declares: one env, vectors, training, recordings."""

from __future__ import annotations

import functools
import json

import gymnasium as gym
import pytest
from calling_env import CallingEnv
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import pixelis.envs  # noqa: F401  # registers the environments
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.playing.term_rewards import build_rewards
from pixelis.errors import ConfigError, RecordingError
from pixelis.rewards.stack.stack import build_stack
from pixelis.rewards.terms.traits import RewardTraits, ToolTraits, together
from pixelis.wrappers import (
    CoherenceReward,
    RecordTrajectory,
    RewardOrchestrator,
    ToolPenalty,
    read_trajectories,
    rescore,
    vector,
    wrap,
)
from pixelis.wrappers.scoring.traits import traits_of

CODE = "Pixelis/CodeProblem-v0"


def make(**keywords):
    return gym.make(CODE, disable_env_checker=True, **keywords)


def graded(credit):
    return functools.partial(make, partial_credit=credit)


class Silent(gym.Env):
    """Says nothing of itself."""

    observation_space, action_space = CallingEnv().observation_space, CallingEnv().action_space

    def reset(self, *, seed=None, options=None):
        return {"text": ""}, {}


@pytest.mark.parametrize("vector_env", [SyncVectorEnv, AsyncVectorEnv])
def test_a_vector_has_the_smallest_gap_of_its_environments(vector_env):
    envs = vector_env([graded(0.5), graded(0.75), graded(0.25)])
    shaped = wrap(envs, {"penalty": {}})
    assert isinstance(shaped, vector.RewardOrchestrator)
    assert shaped.stack.orchestrator.task_gap == 0.25
    shaped.close()
    blind = vector_env([Silent, Silent])
    with pytest.raises(ConfigError, match="the environment declares no task_gap"):
        vector.RewardOrchestrator(blind)
    assert vector.RewardOrchestrator(blind, task_gap=0.5).stack.orchestrator.task_gap == 0.5
    blind.close()


def test_a_gap_of_some_is_none_of_all_and_other_lines_are_none():
    gap, line = RewardTraits(0.5), RewardTraits(0.0, 0.4)
    assert together([gap, RewardTraits()]).task_gap is None
    assert together([line, line]) == line and together([line, gap]) == RewardTraits(0.0)
    assert together([]) == RewardTraits()


def test_a_foreign_environment_may_declare_it_by_an_attribute():
    class Foreign(Silent):
        task_gap = 0.25

    assert traits_of(gym.wrappers.OrderEnforcing(Foreign())) == RewardTraits(0.25)
    assert RewardOrchestrator(Foreign()).stack.orchestrator.task_gap == 0.25
    Foreign.task_gap = -1.0
    with pytest.raises(ConfigError, match="task_gap: expected a finite number of at least 0, got -1"):
        RewardOrchestrator(Foreign())


@pytest.mark.parametrize(
    "change",
    [
        lambda env: gym.wrappers.TransformReward(env, lambda reward: 0.1 * reward),
        gym.wrappers.NormalizeReward,
        lambda env: gym.wrappers.OrderEnforcing(gym.wrappers.ClipReward(env, max_reward=0.5)),
    ],
)
def test_a_wrapper_that_changes_the_tasks_reward_makes_the_gap_unknown(change):
    with pytest.raises(ConfigError, match="the environment declares no task_gap"):
        wrap(change(CallingEnv()), {"penalty": {}})
    assert wrap(change(CallingEnv()), {"penalty": {}, "task_gap": 0.1}).stack.orchestrator.task_gap == 0.1
    outside = RewardOrchestrator(change(ToolPenalty(CallingEnv())))  # the task's own reward is below it
    assert outside.stack.orchestrator.task_gap == 1.0


def test_the_trainer_reads_it_and_refuses_an_environment_without():
    env = TaskEnv.open(CODE, {"partial_credit": 0.75, "mode": "multi"}, {})
    stack = build_rewards({"penalty": {}, "coherence": {}}, env.traits)
    assert stack.orchestrator.task_gap == 0.25
    assert stack.terms["penalty"].settings.limits == {"RUN": 4}
    assert stack.terms["coherence"].settings.good_pairs == {("RUN", "SUBMIT")}
    with pytest.raises(ConfigError, match="the environment declares no task_gap"):
        build_rewards({"penalty": {}}, RewardTraits())


# ---------------------------------------------------------------------- recordings


def record(env, folder, *actions):
    env = RecordTrajectory(env, folder)
    env.reset(seed=0)
    for action in actions:
        env.step(action)
    env.close()
    return list(read_trajectories(folder))


def test_rescoring_goes_by_what_the_recorded_environment_declared(tmp_path):
    call = '<tool_call>{"name": "SEGMENT"}</tool_call>'
    env = gym.make("Pixelis/CountTiny-v0", reader="truth", disable_env_checker=True)
    episodes = record(env, tmp_path, call * 12, "<answer>none</answer>")
    (row,) = rescore(episodes, build_stack({"penalty": {}}))
    assert row.terms["penalty"] == 0.0  # CountTiny lets SEGMENT be called 81 times, not ten
    (row,) = rescore(episodes, build_stack({"penalty": {"limits": {"SEGMENT": 10}}}))
    assert row.terms["penalty"] == pytest.approx(-0.2)


def test_rescoring_under_a_larger_gap_or_without_one_is_refused(tmp_path):
    episodes = record(make(), tmp_path / "code", "<answer>no</answer>")
    stack = build_stack({"penalty": {}})
    assert [row.success for row in rescore(episodes, stack)] == [False]
    assert stack.orchestrator.task_gap == 0.5
    with pytest.raises(ConfigError, match=r"task_gap: 1 is more than the 0\.5"):
        list(rescore(episodes, build_stack({"penalty": {}, "task_gap": 1.0})))
    path = next((tmp_path / "code").glob("*.jsonl"))
    line = json.loads(path.read_text())
    del line["env"]["traits"]  # as recorded before traits were
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(ConfigError, match="the environment declares no task_gap"):
        list(rescore(read_trajectories(path), build_stack({"penalty": {}})))
    assert len(list(rescore(read_trajectories(path), build_stack({"penalty": {}, "task_gap": 0.5})))) == 1
    line["env"]["traits"] = {"tools": 3}
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(RecordingError, match=r"line 1: the traits of an environment cannot be read"):
        list(rescore(read_trajectories(path), build_stack({"penalty": {}})))


def test_traits_survive_json():
    traits = RewardTraits(0.0, 0.44, {"A": ToolTraits(3, "B", ("C",), True), "B": ToolTraits()})
    assert RewardTraits.from_json(json.loads(json.dumps(traits.to_json()))) == traits
    assert (traits.limits, traits.prerequisites, traits.repeatable) == ({"A": 3}, {"A": "B"}, {"A"})
    assert traits.pairs == frozenset()  # there is no C


def test_direct_wrappers_read_the_environment_too():
    env = ToolPenalty(CoherenceReward(make(mode="multi")))
    assert env.stack.terms["penalty"].settings.limits == {"RUN": 4}
    env.close()
