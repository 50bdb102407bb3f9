"""The orchestrator as a wrapper, and ``wrap`` that builds all of it from plain data."""

from __future__ import annotations

import gymnasium as gym
import pytest
import yaml
from calling_env import CallingEnv

from pixelis.errors import ConfigError, RewardError, StateError
from pixelis.rewards.stack.stack import build_stack
from pixelis.rewards.terms.term import Transition
from pixelis.wrappers import CoherenceReward, RewardOrchestrator, ToolPenalty, wrap
from pixelis.wrappers.scoring.order import layers

YAML = """
coherence: {weight: 0.4}
penalty: {no_answer: 0.3}
task: {weight: 2.0}
task_gap: 0.5
window: 50
warmup: 3
"""


def play(env, *actions):
    """Return rewards and the last info of an episode."""
    env.reset(seed=0)
    steps = [env.step(action) for action in actions]
    return [step[1] for step in steps], steps[-1][4]


def test_one_total_at_the_end_instead_of_everything_before():
    env = RewardOrchestrator(ToolPenalty(CoherenceReward(CallingEnv(paid=0.125))))
    rewards, info = play(env, "ZOOM:a READ_TEXT", "TRACK", "right")
    assert rewards[:2] == [0.0, 0.0]
    assert info["reward_parts"]["task"]["raw"] == 1.25
    assert info["reward_parts"]["penalty"] == pytest.approx(
        {"raw": -0.1, "normalised": -0.1, "weighted": -0.1}
    )
    assert info["reward_parts"]["coherence"]["raw"] == pytest.approx(-0.05)
    assert rewards[2] == pytest.approx(1.25 - 0.1 - 0.2 * 0.05)
    assert info["reward_task"] == 1.0


def test_weights_come_from_wrappers_then_from_the_shipped_ones():
    env = RewardOrchestrator(ToolPenalty(CoherenceReward(CallingEnv(), weight=0.7)), {"task": 3.0})
    assert env.stack.weights == {"task": 3.0, "coherence": 0.7, "penalty": 1.0}
    assert RewardOrchestrator(CallingEnv()).stack.weights == {"task": 1.0}


def test_a_term_of_the_environment_may_be_a_component():
    env = RewardOrchestrator(CallingEnv(extra={"speed": 0.25}), {"speed": 0.4})
    rewards, _ = play(env, "ZOOM", "right")
    assert rewards == [0.0, pytest.approx(1.0 + 0.4 * 0.5)]


def test_a_component_that_nobody_reports_is_an_error():
    env = RewardOrchestrator(CallingEnv(), {"spede": 0.4})
    env.reset()
    env.step("ZOOM")
    with pytest.raises(RewardError, match="spede: the orchestrator has a weight for this component, but no"):
        env.step("right")


def test_statistics_move_after_each_episode():
    env = RewardOrchestrator(ToolPenalty(CallingEnv()), warmup=2)
    for actions in (["TRACK", "wrong"], ["wrong"], ["TRACK", "TRACK", "wrong"]):
        rewards, info = play(env, *actions)
    # -0.1 and 0 before: mean -0.05, deviation 0.05; the third episode's -0.2 is three deviations below.
    assert info["reward_parts"]["penalty"]["normalised"] == pytest.approx(-3.0)
    assert rewards[-1] == pytest.approx(-0.2)  # a fine keeps its amount


def test_the_curriculum_sets_the_weights():
    stages = {
        "first": {"weights": {"task": 1.0, "penalty": 0.0}, "steps": 2},
        "second": {"weights": {"task": 0.5}},
    }
    env = RewardOrchestrator(ToolPenalty(CallingEnv(), weight=0.25), curriculum={"stages": stages})
    assert play(env, "TRACK", "right")[0][-1] == 1.0
    assert env.observe(1, {}) is None
    assert env.observe(2, {}).stage == "second"
    assert play(env, "TRACK", "right")[0][-1] == pytest.approx(0.5 - 0.025)


def test_the_state_can_be_taken_to_another_environment():
    env, other = (RewardOrchestrator(ToolPenalty(CallingEnv())) for _ in range(2))
    for place in range(12):
        play(env, *["TRACK"] * (place % 3), "wrong")
    other.stack.load_state_dict(env.stack.state_dict())
    assert play(other, "TRACK", "right") == play(env, "TRACK", "right")
    with pytest.raises(StateError):
        RewardOrchestrator(CallingEnv()).stack.load_state_dict(env.stack.state_dict())


# ---------------------------------------------------------------------- wrap


def test_wrap_builds_the_wrappers_that_yaml_describes():
    env = wrap(gym.make("Calling-v0"), yaml.safe_load(YAML))
    names = [type(layer).__name__ for layer in layers(env)]
    assert names[:3] == ["RewardOrchestrator", "ToolPenalty", "CoherenceReward"]
    assert env.stack.weights == {"task": 2.0, "coherence": 0.4, "penalty": 1.0}
    assert env.stack.orchestrator.settings.task_gap == 0.5
    assert play(env, "", "", "", "")[0] == [0.0, 0.0, 0.0, pytest.approx(-0.3)]
    again = gym.make(env.spec)
    assert play(again, "", "", "", "")[0][-1] == pytest.approx(-0.3)


def test_wrap_without_an_orchestrator():
    env = wrap(
        CallingEnv(),
        {"orchestrate": False, "penalty": {}, "pixelis.rewards.terms.coherence:CoherenceTerm": {}},
    )
    rewards, info = play(env, "ZOOM:a READ_TEXT", "TRACK", "right")
    assert rewards == pytest.approx([0.0, -0.008, 1.0 - 0.05 * 0.05])
    assert set(info["reward_terms"]) == {"task", "penalty", "coherence"}


def test_wrap_and_the_trainers_stack_give_the_same_rewards():
    """The same mapping, episode by episode, through the wrappers and through ``RewardStack``."""
    values = yaml.safe_load(YAML)
    env = wrap(CallingEnv(), values)
    stack = build_stack(values, traits=env.unwrapped.reward_traits)
    for actions in (["ZOOM:a READ_TEXT", "right"], ["TRACK", "", "", ""], ["GET_PROPERTIES", "wrong"]) * 4:
        observation, _ = env.reset(seed=0)
        memory = stack.begin()
        for action in actions:
            before = observation
            observation, reward, terminated, truncated, info = env.step(action)
            calls = tuple(info["tool_calls"])
            step = Transition(before, action, observation, calls, terminated, truncated)
            (scored,) = stack.score([(memory, step, info["reward_task"])])
            assert scored.reward == reward
        assert {name: part.to_json() for name, part in scored.parts.items()} == info["reward_parts"]
        stack.learn()


@pytest.mark.parametrize(
    ("values", "message"),
    [({"coherense": {}}, "Did you mean 'coherence'"), ({"penalty": {"x": 1}}, "unknown setting 'x'")],
)
def test_wrap_names_what_is_wrong(values, message):
    with pytest.raises(ConfigError, match=message):
        wrap(CallingEnv(), values)
    with pytest.raises(ConfigError, match="the orchestrator has no setting 'taskgap'"):
        RewardOrchestrator(CallingEnv(), taskgap=1.0)
