"""Reward wrappers of one environment: values by hand, order, specs, pickles and bad environments."""

from __future__ import annotations

import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from calling_env import CallingEnv
from gymnasium.utils.env_checker import check_env

from pixelis.errors import ConfigError, RewardError, WrapperOrderError
from pixelis.rewards.terms.term import as_mapping
from pixelis.wrappers import (
    CoherenceReward,
    RecordTrajectory,
    RewardOrchestrator,
    TermReward,
    ToolPenalty,
    read_trajectories,
)


class SeenTerm:
    """Keeps the transitions it saw; worth the length of the action."""

    name = "seen"

    def __init__(self):
        self.steps, self.learnt = [], []

    def begin(self):
        return None

    def score(self, steps):
        self.steps += [step for _, step in steps]
        return [float(len(step.action)) for _, step in steps]

    def learn(self):
        self.learnt.append(len(self.steps))
        return {}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def play(env, *actions):
    """Return (reward, info) of every step of an episode that begins here."""
    env.reset(seed=0)
    return [(step[1], step[4]) for step in (env.step(action) for action in actions)]


def test_a_penalty_is_paid_step_by_step():
    (first, info), (second, _) = play(ToolPenalty(CallingEnv(), weight=0.5), "TRACK ZOOM", "right")
    assert first == pytest.approx(-0.05)
    assert info["reward_terms"] == {"penalty": -0.1}
    assert info["reward_task"] == 0.0
    assert second == 1.0


def test_coherence_is_paid_at_the_end():
    rewards = [reward for reward, _ in play(CoherenceReward(CallingEnv()), "ZOOM:a", "READ_TEXT", "wrong")]
    assert rewards == [0.0, 0.0, pytest.approx(0.05 * 0.2)]


def test_wrappers_add_up_and_keep_the_environments_own_terms():
    env = ToolPenalty(CoherenceReward(CallingEnv(extra={"speed": 0.5}), weight=0.1), weight=0.2)
    (_, middle), (reward, info) = play(env, "ZOOM:a READ_TEXT TRACK", "right")
    assert middle["reward_terms"] == {"speed": 0.5, "coherence": 0.0, "penalty": -0.1}
    assert info["reward_terms"] == {
        "task": 1.0,
        "speed": 0.5,
        "coherence": pytest.approx(-0.05),
        "penalty": 0.0,
    }
    assert reward == pytest.approx(1.0 + 0.1 * -0.05)  # pairs +0.2, TRACK without a segment -0.3, mean -0.05
    assert info["reward_task"] == 1.0


def test_an_episode_of_misuse_is_held_at_the_weight():
    env = ToolPenalty(CallingEnv(max_turns=50), weight=0.3)
    assert sum(reward for reward, _ in play(env, *["TRACK " * 16] * 50)) == pytest.approx(-0.3)


def test_terms_see_whole_transitions_and_learn_at_the_end():
    term = SeenTerm()
    env = TermReward(CallingEnv(), term, weight=0.1)
    play(env, "ZOOM:a", "right")
    assert [(one.observation, one.action, one.next_observation, one.ended) for one in term.steps] == [
        ({"text": "start"}, "ZOOM:a", {"text": "turn 1"}, False),
        ({"text": "turn 1"}, "right", {"text": "turn 2"}, True),
    ]
    assert term.steps[0].calls == ({"tool": "ZOOM", "ok": True, "arguments": {"at": "a"}},)
    assert term.learnt == [2]
    endless = SeenTerm()
    play(TermReward(CallingEnv(max_turns=1_000), endless), *["x"] * 600)
    assert endless.learnt == [256, 512]


def test_a_new_reset_forgets_the_episode_before():
    env = CoherenceReward(CallingEnv(), weight=1.0)
    play(env, "ZOOM:a")
    assert play(env, "READ_TEXT", "wrong")[-1][0] == 0.0
    with pytest.raises(gym.error.ResetNeeded):
        env.step("right")


def test_observations_of_any_kind():
    image = np.zeros((2, 2, 3), np.uint8)
    assert as_mapping("hello") == {"text": "hello"}
    assert as_mapping(image)["image"] is image
    assert as_mapping(4) == {"value": 4}
    text = {"text": "x"}
    assert as_mapping(text) is text


# ---------------------------------------------------------------------- Gymnasium


@pytest.mark.parametrize("wrapper", [CoherenceReward, ToolPenalty, RewardOrchestrator])
def test_gymnasiums_checker_passes(wrapper):
    env = gym.make("Pixelis/ZoomRead-v0", reader="truth", disable_env_checker=True).unwrapped
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(wrapper(env), skip_render_check=True)


def test_specs_and_additional_wrappers_make_the_same_again():
    made = ToolPenalty(CoherenceReward(gym.make("Calling-v0"), weight=0.3, good=0.4), no_answer=0.7)
    again = gym.make(made.spec)
    names = [spec.name for spec in again.spec.additional_wrappers]
    assert names == ["CoherenceReward", "ToolPenalty"]
    actions = ("ZOOM:a READ_TEXT TRACK", "", "", "")
    rewards = [reward for reward, _ in play(made, *actions)]
    assert [reward for reward, _ in play(again, *actions)] == rewards
    assert rewards[-1] == pytest.approx(0.3 * 0.05 - 0.08 * 0.7)

    wrappers = (CoherenceReward.wrapper_spec(weight=0.5), RewardOrchestrator.wrapper_spec(task_gap=0.5))
    gym.register("CallingShaped-v0", entry_point="calling_env:CallingEnv", additional_wrappers=wrappers)
    try:
        (_, (reward, info)) = play(gym.make("CallingShaped-v0"), "ZOOM:a READ_TEXT", "right")
    finally:
        gym.registry.pop("CallingShaped-v0")
    assert reward == pytest.approx(1.1)
    assert info["reward_parts"]["coherence"]["weighted"] == pytest.approx(0.1)


def test_a_pickled_environment_goes_on_the_same():
    env = RewardOrchestrator(ToolPenalty(CoherenceReward(CallingEnv())))
    for _ in range(11):
        play(env, "ZOOM:a READ_TEXT", "TRACK", "wrong")
    env.reset()
    env.step("ZOOM:a")
    copy = pickle.loads(pickle.dumps(env))
    assert env.step("ZOOM:a right")[1:] == copy.step("ZOOM:a right")[1:]


def test_importing_the_wrappers_is_light():
    code = (
        "import sys, pixelis.wrappers as w, pixelis.wrappers.vector as v;"
        "[getattr(home, name) for home in (w, v) for name in home.__all__]"
    )
    code += "; print(*[name for name in ('torch', 'cv2', 'transformers', 'PIL') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "")


# ---------------------------------------------------------------------- order and bad input


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda env: CoherenceReward(RewardOrchestrator(env)),
            "CoherenceReward is outside the RewardOrchestrator",
        ),
        (lambda env: ToolPenalty(gym.wrappers.OrderEnforcing(ToolPenalty(env))), "'penalty' is there twice"),
        (lambda env: RewardOrchestrator(RewardOrchestrator(env)), "two RewardOrchestrators"),
        (
            lambda env: RewardOrchestrator(RecordTrajectory(ToolPenalty(env), "unused")),
            "RecordTrajectory is between the reward wrappers",
        ),
        (
            lambda env: CoherenceReward(RecordTrajectory(ToolPenalty(env), "unused")),
            "RecordTrajectory is between the reward wrappers, inside CoherenceReward",
        ),
    ],
)
def test_a_wrong_order_names_the_right_one(build, message):
    with pytest.raises(WrapperOrderError, match=message) as caught:
        build(CallingEnv())
    assert "RecordTrajectory(RewardOrchestrator(ToolPenalty(" in str(caught.value)


def test_recorders_may_be_at_the_bottom_or_on_top(tmp_path):
    env = RecordTrajectory(ToolPenalty(RecordTrajectory(CallingEnv(), tmp_path / "in")), tmp_path / "out")
    assert play(env, "TRACK", "right")[0][0] == pytest.approx(-0.008)
    env.close()
    inside, outside = (next(read_trajectories(tmp_path / name)).total_reward for name in ("in", "out"))
    assert inside == 1.0 and outside == pytest.approx(1 - 0.008)


@pytest.mark.parametrize("wrapper", [CoherenceReward, ToolPenalty])
def test_an_environment_without_tool_calls_is_refused(wrapper):
    with pytest.raises(RewardError, match="info has no 'tool_calls'"):
        play(wrapper(CallingEnv(silent=True)), "right")
    foreign = TermReward(CallingEnv(silent=True), SeenTerm(), weight=0.1)
    assert play(foreign, "right")[0][0] == pytest.approx(1.1)  # a term that needs none works


def test_tool_calls_of_a_wrong_kind_are_refused():
    class Odd(gym.Wrapper):
        def step(self, action):
            *rest, info = self.env.step(action)
            return (*rest, {**info, "tool_calls": ["ZOOM"]})

    with pytest.raises(RewardError, match="must be a list of records"):
        play(ToolPenalty(Odd(CallingEnv())), "right")


@pytest.mark.parametrize("paid", [float("nan"), float("inf")])
@pytest.mark.parametrize("wrapper", [ToolPenalty, RewardOrchestrator])
def test_rewards_that_are_not_finite_name_the_task(paid, wrapper):
    with pytest.raises(RewardError, match="task: expected a finite number"):
        play(wrapper(CallingEnv(paid=paid)), "ZOOM")


def test_a_name_that_the_environment_uses_is_refused():
    with pytest.raises(RewardError, match=r"penalty: .*already reports.*name='penalty_2'"):
        play(ToolPenalty(CallingEnv(extra={"penalty": 0.1})), "ZOOM")
    env = ToolPenalty(CallingEnv(extra={"penalty": 0.1}), name="penalty_2")
    assert play(env, "TRACK")[0][1]["reward_terms"] == {"penalty": 0.1, "penalty_2": -0.1}


def test_bad_arguments():
    with pytest.raises(ConfigError, match="weight of penalty"):
        ToolPenalty(CallingEnv(), weight=-1.0)
    with pytest.raises(ConfigError, match="Did you mean 'no_answer'"):
        ToolPenalty(CallingEnv(), no_answr=0.2)
    with pytest.raises(ConfigError, match="Did you mean 'coherence'"):
        TermReward(CallingEnv(), "coherense")
    with pytest.raises(ConfigError, match="is no reward term"):
        TermReward(CallingEnv(), 3)  # type: ignore[arg-type]
