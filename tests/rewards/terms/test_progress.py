"""The term ``progress``: what it pays by turn, what its sum over an episode is, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.stack.stack import RewardStack, build_stack
from pixelis.rewards.terms.potential import ProgressTerm
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.traits import RewardTraits

HEIGHTS = st.lists(st.floats(0, 0.99), max_size=12)
WEIGHTS = st.floats(0.01, 50)


def steps_of(heights, success, truncated=False):
    """The transitions of an episode that was so near its goal after each turn, and then ended."""
    steps = [Transition({}, "", {}, progress=height) for height in heights]
    ended = {"truncated": truncated, "terminated": not truncated}
    return [*steps, Transition({}, "", {}, **ended, progress=float(success))]


def paid(stack: RewardStack, steps, task: float) -> list[float]:
    memory, last = stack.begin(), len(steps) - 1
    return [stack.score([(memory, step, task * (i == last))])[0].reward for i, step in enumerate(steps)]


def test_what_a_turn_is_paid():
    stack = build_stack({"orchestrate": False, "progress": {"weight": 0.5}})
    assert paid(stack, steps_of([0.25, 0.75, 0.75], True), 1.0) == pytest.approx(
        [0.125, 0.25, 0.0, 1 - 0.375]
    )
    assert paid(stack, steps_of([0.25, 0.0], False), 0.0) == pytest.approx([0.125, -0.125, 0.0])
    keeps = build_stack({"orchestrate": False, "progress": {"weight": 0.5, "at_failure": "keep"}})
    assert paid(keeps, steps_of([0.25, 0.75], True), 1.0) == pytest.approx([0.125, 0.25, 1.125])
    assert paid(keeps, steps_of([0.25, 0.75], False), 0.0) == pytest.approx([0.125, 0.25, 0.0])


@pytest.mark.parametrize("orchestrate", [True, False])
@given(heights=HEIGHTS, weight=WEIGHTS, success=st.booleans(), truncated=st.booleans())
def test_an_episode_is_worth_the_same_with_it_as_without(orchestrate, heights, weight, success, truncated):
    """It telescopes: the order of any two episodes' returns is left as it was, whatever the weight."""
    stack = build_stack({"orchestrate": orchestrate, "progress": {"weight": weight}})
    rewards = paid(stack, steps_of(heights, success, truncated), float(success))
    assert sum(rewards) == pytest.approx(float(success), abs=1e-9 * weight)
    if heights and heights[0]:
        assert rewards[0] == pytest.approx(weight * heights[0])  # it is paid, and with its turn


@pytest.mark.parametrize("orchestrate", [True, False])
@given(won=HEIGHTS, lost=HEIGHTS, weight=WEIGHTS)
def test_a_kept_progress_is_graded_and_never_above_a_success(orchestrate, won, lost, weight):
    stack = build_stack({"orchestrate": orchestrate, "progress": {"weight": weight, "at_failure": "keep"}})
    least = sum(paid(stack, steps_of(won, True), 1.0))
    most = sum(paid(stack, steps_of(lost, False), 0.0))
    assert most == pytest.approx(weight * (lost[-1] if lost else 0.0))
    assert least - most >= 1 - 1e-6


@given(heights=HEIGHTS, gamma=st.floats(0.1, 1.0))
def test_with_the_agents_discount_the_discounted_sum_is_nothing(heights, gamma):
    term = ProgressTerm(gamma=gamma)
    memory = term.begin()
    values = [term.score([(memory, step)])[0] for step in steps_of(heights, False)]
    assert sum(gamma**turn * value for turn, value in enumerate(values)) == pytest.approx(0, abs=1e-9)


def test_beside_other_terms_an_orchestrator_pays_it_by_the_step_and_them_at_the_end():
    with_it = build_stack({"penalty": {}, "progress": {"weight": 0.5}})
    without = build_stack({"penalty": {}})
    rewards = paid(with_it, steps_of([0.4], False, truncated=True), 0.0)
    assert rewards == pytest.approx([0.2, -0.2 + sum(paid(without, steps_of([0.4], False, True), 0.0))])
    assert with_it.learn()["progress/raw"] == pytest.approx(0.0)


def test_an_environment_without_progress_is_told_what_to_do():
    for values in ({"progress": {}}, {"progress": {}, "orchestrate": False}):
        with pytest.raises(ConfigError, match=r"progress: the environment does not say .*nearness\(\)"):
            build_stack(values, traits=RewardTraits(1.0))
        build_stack(values, traits=RewardTraits(1.0, has_progress=True))


def test_bad_settings_and_values():
    for settings, message in (
        ({"at_failure": "forget"}, "at_failure must be take_back or keep, got 'forget'"),
        ({"gamma": 0}, "gamma must be in"),
        ({"gamma": 0.9, "at_failure": "keep"}, "keep has no discount"),
    ):
        with pytest.raises(ConfigError, match=message):
            ProgressTerm(**settings)
    term = ProgressTerm()
    for value, message in ((None, "nobody said"), (1.5, r"in \[0, 1\]"), (float("nan"), "finite")):
        with pytest.raises(RewardError, match=f"progress: .*{message}"):
            term.score([(term.begin(), Transition({}, "", {}, progress=value))])
