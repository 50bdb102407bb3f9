"""Bad input from the outside, through every wrapper and its twin: one error of its own class, by name."""

from __future__ import annotations

import math
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from calling_env import CallingEnv
from gymnasium.vector import SyncVectorEnv

from pixelis import wrappers
from pixelis.errors import (
    ConfigError,
    MissingDependencyError,
    RecordingError,
    RewardError,
    RewardWarning,
    StateError,
    WrapperOrderError,
)
from pixelis.rewards.stack.stack import build_stack
from pixelis.wrappers import Replayer, RewardOrchestrator, read_trajectories, rescore, vector, wrap

TERMS = {"CuriosityReward": "curiosity", "CoherenceReward": "coherence", "ToolPenalty": "penalty"}
HOMES = [wrappers, vector]
NO_NUMBERS = [-1.0, -1e-9, math.nan, math.inf, "0.3", True, [1]]


def put(name, home, env=None, **settings) -> Any:
    """Return a wrapper, or its twin, on an env or a vector of two."""
    env = env or CallingEnv()
    inner = env if home is wrappers else SyncVectorEnv([lambda: env] * 2)
    return getattr(home, name)(inner, **settings)


def act(env, action="ZOOM:a"):
    return env.step((action,) * env.num_envs if hasattr(env, "num_envs") else action)


def begin(env):
    env.reset(seed=0)
    return env


class Spoilt(gym.Wrapper):
    """Changes what a step returns."""

    def __init__(self, env, reward=None, info=None, observation=None):
        super().__init__(env)
        self.reward, self.info, self.observation = reward, info, observation

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return (
            self.observation or observation,
            reward if self.reward is None else self.reward,
            terminated,
            truncated,
            {**info, **(self.info or {})},
        )


# ---------------------------------------------------------------------- what the env gives


@pytest.mark.parametrize("paid", [math.nan, math.inf, -math.inf], ids=str)
@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
@pytest.mark.parametrize("name", [*TERMS, "RewardOrchestrator"])
def test_rewards_that_are_not_finite(name, home, paid):
    env = begin(put(name, home, CallingEnv(paid=paid)))
    with pytest.raises(RewardError, match=r"^task: expected a finite number .* as reward, got"):
        act(env)


def test_a_recorder_keeps_them_and_rescoring_refuses_them_by_place(tmp_path):
    env = begin(put("RecordTrajectory", wrappers, CallingEnv(paid=math.nan), folder=tmp_path))
    act(env)
    env.close()
    (episode,) = read_trajectories(tmp_path)
    assert math.isnan(episode.steps[0].reward)
    with pytest.raises(RewardError, match=r"-0001\.jsonl, line 1, step 1: task: expected a finite number"):
        list(rescore([episode], build_stack({"penalty": {}})))
    with Replayer() as replayer, pytest.raises(RecordingError, match=r"made without gymnasium\.make"):
        replayer.check(episode)


@pytest.mark.parametrize("name", [*TERMS, "RewardOrchestrator"])
def test_rewards_and_infos_of_a_wrong_kind(name):
    for reward in ("much", [1.0, 2.0], 1j):
        env = begin(put(name, wrappers, Spoilt(CallingEnv(), reward=reward)))
        with pytest.raises(RewardError, match=r"^task: expected a finite number as reward, got"):
            act(env)
    env = begin(put(name, wrappers, Spoilt(CallingEnv(), info={"reward_terms": [1.0]})))
    with pytest.raises(RewardError, match=r"^reward_terms: expected .* to be a mapping"):
        act(env)
    env = begin(put(name, wrappers, Spoilt(CallingEnv(), info={"tool_calls": [3]})))
    with pytest.raises(RewardError, match=f"^{TERMS.get(name, name)}: info.'tool_calls'. must be a list"):
        act(env)


@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "fast"], ids=str)
def test_a_component_of_the_env_that_is_no_number(home, value):
    env = put("RewardOrchestrator", home, CallingEnv(extra={"speed": value}), weights={"speed": 0.1})
    with pytest.raises(RewardError, match=r"^speed: expected a finite number"):
        act(begin(env))


@pytest.mark.parametrize("orchestrated", [True, False])
def test_what_an_env_itself_calls_reward_task_is_not_the_tasks_reward(orchestrated):
    env = Spoilt(CallingEnv(), info={"reward_task": 9.0})
    env = begin(wrap(env, {"penalty": {}, "orchestrate": orchestrated}))
    _, reward, *_, info = act(env, "right")
    assert reward == 1.0 and info["reward_task"] == 1.0


# ---------------------------------------------------------------------- encoders


@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
@pytest.mark.parametrize(
    ("name", "encoder", "message"),
    [
        (
            "CuriosityReward",
            lambda seen: np.zeros(5),
            r"curiosity: expected the encoder .*\(768,\), got \(5,\)",
        ),
        ("CuriosityReward", lambda seen: np.zeros((1, 768)), r"curiosity: .*\(768,\), got \(1, 768\)"),
        (
            "CuriosityReward",
            lambda seen: np.full(768, np.nan),
            "curiosity: .* finite, got NaN",
        ),
        ("CoherenceReward", lambda seen: np.zeros((2, 3)), r"coherence: expected .*\(d,\) .*, got \(2, 3\)"),
        ("CoherenceReward", lambda seen: np.zeros(len(seen["text"])), r"coherence: .*\(5,\) .*, got \(6,\)"),
        ("CoherenceReward", lambda seen: np.array([np.inf]), "coherence: .* holds NaN or infinity"),
    ],
)
def test_embeddings_of_a_wrong_size(name, encoder, message, home):
    env = begin(put(name, home, encoder=encoder))
    with pytest.raises(RewardError, match=f"^{message}"):
        act(env)


@pytest.mark.parametrize("name", ["CuriosityReward", "CoherenceReward"])
def test_encoders_that_do_not_exist(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where the extra is not installed
    component = TERMS[name]
    with pytest.raises(ConfigError, match="hased"):
        put(name, wrappers, encoder="hased")
    with pytest.raises(MissingDependencyError, match=r"pip install 'pixelis\[text\]'"):
        put(name, wrappers, encoder="sentence-transformer")
    env = begin(put(name, wrappers, Spoilt(CallingEnv(), observation={"sound": 3}), encoder="hashed"))
    with pytest.raises(RewardError, match=f"^{component}: expected an observation with text, image or value"):
        act(env)


# ---------------------------------------------------------------------- weights, stages, states


@pytest.mark.parametrize("weight", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
def test_weights_that_are_negative_or_no_numbers(home, weight):
    for name, component in TERMS.items():
        with pytest.raises(ConfigError, match=f"^weight of {component}: expected a"):
            put(name, home, weight=weight)
    for component in ("speed", "task"):
        with pytest.raises(ConfigError, match=f"^weight of {component}: expected a"):
            put("RewardOrchestrator", home, weights={component: weight})
    with pytest.raises(ConfigError, match=r"^weight of penalty: expected a"):
        wrap(CallingEnv(), {"penalty": {"weight": weight}})
    with pytest.raises(ConfigError, match="stage 'only': weight of task: expected a"):
        stages = {"only": {"weights": {"task": weight}}}
        put("RewardOrchestrator", home, curriculum={"stages": stages})


WRONG = [
    {"penalty": {1: 2}},
    {"penalty": {"weight": 10**5000}},
    {"penalty": {}, "task_gap": 10**5000},
    {"penalty": {"limits": 5}},
]


@pytest.mark.parametrize("rewards", WRONG, ids=range(len(WRONG)))
def test_wrong_settings_are_one_short_error_each(rewards):
    with pytest.raises(ConfigError, match=r"^(rewards: |weight of |task_gap: )?penalty|^task_gap") as told:
        wrap(CallingEnv(), rewards)
    assert len(str(told.value)) < 200


def test_weights_that_are_no_mapping_and_a_task_without_weight():
    with pytest.raises(ConfigError, match=r"^weights: expected a mapping"):
        put("RewardOrchestrator", wrappers, weights=[0.3])
    with pytest.raises(ConfigError, match=r"^weight of task: expected a number above 0"):
        put("RewardOrchestrator", wrappers, weights={"task": 0})


@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
def test_stages_that_wait_for_what_nobody_computes(home):
    def stage(metric):
        exits = [{"metric": metric, "threshold": 0.5}]
        return {"stages": {"first": {"weights": {}, "exits": exits}, "then": {"weights": {}}}}

    for metric in ("success/rate", "task/rate_ma100", "success/rate * task/raw"):
        with pytest.raises(ConfigError, match=r"^stage 'first': nobody computes the metric '[st]"):
            put("RewardOrchestrator", home, curriculum=stage(metric))
    with pytest.raises(ConfigError, match=r"'sucess/rate'\. Did you mean 'success/rate'"):
        put("RewardOrchestrator", home, curriculum=stage("sucess/rate"), available_metrics=["success/rate"])
    known = put(
        "RewardOrchestrator", home, curriculum=stage("success/rate"), available_metrics=["success/rate"]
    )
    assert known.stack.curriculum.stage.name == "first"
    with pytest.raises(ConfigError, match="curriculum stage 'only': there is no reward component 'curiosty'"):
        put("RewardOrchestrator", home, curriculum={"stages": {"only": {"weights": {"curiosty": 1.0}}}})


@pytest.mark.parametrize("home", HOMES, ids=["one env", "vector"])
@pytest.mark.parametrize("name", [*TERMS, "RewardOrchestrator"])
def test_states_of_another_version(name, home):
    env = put(name, home)
    state = env.stack.state_dict()
    env.stack.load_state_dict(state)
    with pytest.raises(StateError, match=r"^reward stack: expected a state of version 1, got version 2"):
        env.stack.load_state_dict({**state, "version": 2})
    with pytest.raises(StateError, match=r"^reward stack: expected a state of version 1, got version None"):
        env.stack.load_state_dict([])
    with pytest.raises(StateError, match=r"^reward stack: the state has no 'terms'"):
        env.stack.load_state_dict({"version": 1})


def test_a_part_of_another_version_is_named():
    env = put("CuriosityReward", wrappers)
    state = env.stack.state_dict()
    state["terms"]["curiosity"]["version"] = 0
    with pytest.raises(StateError, match=r"^curiosity: expected a state of version 1, got version 0"):
        env.stack.load_state_dict(state)
    env = wrap(CallingEnv(), {"penalty": {}, "curriculum": {"stages": {"only": {"weights": {}}}}})
    for part, name in (("orchestrator", "reward orchestrator"), ("curriculum", "curriculum")):
        state = env.stack.state_dict()
        state[part]["version"] = 7
        with pytest.raises(StateError, match=f"^{name}: expected a state of version 1, got version 7"):
            env.stack.load_state_dict(state)
    state = env.stack.state_dict()
    state["orchestrator"]["statistics"]["penalty"]["version"] = 7
    with pytest.raises(StateError, match=r"^reward component penalty: .*got version 7"):
        env.stack.load_state_dict(state)


# ---------------------------------------------------------------------- limits outside


def end_by_limit(env):
    """Play past a limit of two steps."""
    env.reset(seed=0)
    env.step("ZOOM:a")
    return env.step("ZOOM:b")


@pytest.mark.parametrize("name", [*TERMS, "RewardOrchestrator"])
def test_a_time_limit_outside_is_refused(name):
    """It would end episodes that the wrapper never sees end: they were paid 0."""
    inside = put(name, wrappers, gym.wrappers.TimeLimit(CallingEnv(), 2))
    *_, truncated, info = end_by_limit(inside)
    assert truncated and (name != "RewardOrchestrator" or "reward_parts" in info)
    outside = gym.wrappers.TimeLimit(put(name, wrappers), 2)
    with pytest.raises(WrapperOrderError, match=rf"^TimeLimit is outside {name}, .* put the limit inside"):
        end_by_limit(outside)


def test_so_is_one_behind_other_wrappers_or_that_gym_make_puts_on():
    shaped = gym.wrappers.RecordEpisodeStatistics(wrap(CallingEnv(), {"penalty": {}}))
    with pytest.raises(WrapperOrderError, match="TimeLimit is outside RewardOrchestrator"):
        end_by_limit(gym.wrappers.OrderEnforcing(gym.wrappers.TimeLimit(shaped, 2)))
    gym.register("Shaped-v0", entry_point=lambda: wrap(CallingEnv(), {"penalty": {}}), max_episode_steps=2)
    try:
        with pytest.raises(WrapperOrderError, match="TimeLimit is outside RewardOrchestrator"):
            end_by_limit(gym.make("Shaped-v0"))
        lanes = SyncVectorEnv([lambda: gym.make("Shaped-v0")] * 2)
        with pytest.raises(WrapperOrderError, match="TimeLimit is outside RewardOrchestrator"):
            lanes.reset(seed=0)
    finally:
        del gym.registry["Shaped-v0"]


def test_a_time_limit_of_another_environment_is_none_of_its_business():
    """Nor is the limit of an environment that plays in another one's step."""

    class Nested(gym.Env):
        observation_space, action_space = CallingEnv().observation_space, CallingEnv().action_space

        def __init__(self):
            self.inner = wrap(CallingEnv(), {"penalty": {}})

        def reset(self, *, seed=None, options=None):
            return self.inner.reset(seed=seed)

        def step(self, action):
            return self.inner.step(action)

    assert end_by_limit(gym.wrappers.TimeLimit(Nested(), 2))[3]


class CutOff(gym.Wrapper):
    """A limit of one's own."""

    def step(self, action):
        observation, reward, terminated, _, info = self.env.step(action)
        return observation, reward, terminated, True, info


def test_a_limit_that_nobody_knows_is_told_of_after_some_episodes():
    env = CutOff(wrap(CallingEnv(), {"penalty": {}}))
    for _ in range(10):
        env.reset()
        env.step("ZOOM")
    with pytest.warns(RewardWarning, match="10 episodes in a row were reset before they ended"):
        env.reset()
    for _ in range(30):  # once
        env.reset()
        env.step("ZOOM")
    mixed = wrap(CallingEnv(), {"penalty": {}})  # who ends some episodes knows what is dropped
    for place in range(40):
        mixed.reset()
        mixed.step("right" if place % 9 == 0 else "ZOOM")


@pytest.mark.parametrize("name", [*TERMS, "RewardOrchestrator"])
def test_a_wrapper_that_begins_episodes_by_itself_belongs_outside(name):
    with pytest.raises(WrapperOrderError, match=f"Autoreset is inside {name}"):
        put(name, wrappers, gym.wrappers.Autoreset(CallingEnv()))
    env = gym.wrappers.Autoreset(put(name, wrappers))
    env.reset(seed=0)
    for action in ("right", "", "right", ""):
        _, reward, terminated, *_ = env.step(action)
        assert terminated is (action == "right") and (reward >= 1.0) is terminated


def test_the_limit_on_a_total_is_told_once():
    """A long return is paid almost as a shorter one is; CartPole's 39 as 9.97."""
    env = RewardOrchestrator(gym.make("CartPole-v1"), task_gap=1.0)
    paid = []
    with pytest.warns(RewardWarning, match=r"is paid as 9\.\d+: .*Set limit: above the largest") as told:
        for seed in range(4):
            env.reset(seed=seed)
            total, ended, step = 0.0, False, 0
            while not ended:
                _, reward, terminated, truncated, _ = env.step(step % 2)
                total, ended, step = total + reward, terminated or truncated, step + 1
            paid.append((step, total))
    assert len(told) == 1 and all(total < 10 < step for step, total in paid)
    high = RewardOrchestrator(gym.make("CartPole-v1"), task_gap=1.0, limit=1000.0)
    high.reset(seed=0)
    total = sum(high.step(step % 2)[1] for step in range(paid[0][0]))
    assert total == paid[0][0]
