"""A plain function as a reward term, from Python and from YAML."""

from __future__ import annotations

import functools
import math

import gymnasium as gym
import pytest

from pixelis.errors import ConfigError, RewardError, UserCodeError
from pixelis.rewards import FunctionTerm, RewardStack, Transition, build_stack
from pixelis.wrappers import TermReward, wrap

STEP = Transition({"text": "q"}, "four", {"text": ""}, terminated=True)


def brevity(step):
    return -len(step.action) / 100


class Said(gym.Env):
    """One step; the turn's length is all that counts."""

    observation_space = gym.spaces.Dict(text=gym.spaces.Text(9))
    action_space = gym.spaces.Text(9)
    task_gap = 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"text": "q"}, {}

    def step(self, action):
        return {"text": ""}, 1.0, True, False, {"tool_calls": []}


def test_the_value_is_the_functions():
    term = FunctionTerm(function=brevity)
    assert (term.name, term.score([(term.begin(), STEP)])) == ("brevity", [-0.04])
    assert FunctionTerm(function=lambda step: 1, name="one").score([(None, STEP), (None, STEP)]) == [1.0, 1.0]


def test_a_function_in_a_stack_and_in_a_wrapper():
    stack = RewardStack([brevity], None, {"brevity": 0.5})
    (paid,) = stack.score([(stack.begin(), STEP, 1.0)])
    assert paid.reward == pytest.approx(1 - 0.5 * 0.04)
    env = TermReward(Said(), brevity, weight=0.5)
    env.reset(seed=0)
    _, reward, _, _, info = env.step("four")
    assert reward == pytest.approx(0.98) and info["reward_terms"]["brevity"] == pytest.approx(-0.04)


@pytest.mark.parametrize("entry", [brevity, {"function": brevity}, {"function": "my_terms:brevity"}])
def test_any_name_with_a_function_is_a_term(entry, tmp_path, monkeypatch):
    (tmp_path / "my_terms.py").write_text("def brevity(step):\n    return -len(step.action) / 100\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert set(build_stack({"short": entry}).terms) == {"short"}
    env = wrap(Said(), {"short": entry, "orchestrate": False})
    env.reset(seed=0)
    assert env.step("four")[4]["reward_terms"]["short"] == pytest.approx(-0.04)


def test_two_functions_stand_side_by_side():
    stack = build_stack({"one": {"function": brevity, "weight": 0.2}, "two": {"function": brevity}})
    assert stack.weights["one"] == 0.2 and set(stack.terms) == {"one", "two"}


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda step: math.nan, RewardError, r"'mine' \(.*test_function.py:\d+\): mine: expected a finite"),
        (lambda step: "much", RewardError, "expected a finite number as reward, got 'much'"),
        (lambda step: 1 / 0, UserCodeError, r"'mine' raised ZeroDivisionError.*test_function.py:\d+"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(function, kind, message):
    with pytest.raises(kind, match=message):
        FunctionTerm(function=function, name="mine").score([(None, STEP)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FunctionTerm(function=lambda step: 1.0), "a reward term needs a name"),
        (lambda: FunctionTerm(function=functools.partial(brevity)), "a reward term needs a name"),
        (lambda: FunctionTerm(function=3), "must be a function or its module:name, got 3"),
        (lambda: FunctionTerm(function="nowhere_at_all:f"), "cannot be imported"),
        (lambda: build_stack({"penalti": {}}), "Did you mean 'penalty'.*{penalti: {function: module:name}}"),
        (lambda: build_stack({"mine": {"function": brevity, "wieght": 1}}), "wieght"),
    ],
)
def test_what_is_no_function_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
