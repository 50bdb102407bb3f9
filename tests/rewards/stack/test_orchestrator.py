"""Totals by hand, and that no failure is ever worth more than a success."""

from __future__ import annotations

import json
import math
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError, OutputError, RewardError, StateError
from pixelis.rewards.stack.limits import soft_limit
from pixelis.rewards.stack.normalisation import NormaliserSettings
from pixelis.rewards.stack.orchestrator import Orchestrator, OrchestratorSettings


def test_the_first_episodes_are_raw():
    orchestrator = Orchestrator({"coherence": 0.2, "penalty": 1.0})
    (total,) = orchestrator.score([{"task": 1.0, "coherence": 0.5, "penalty": -0.1}])
    assert total.reward == pytest.approx(1.0)  # 1 + 0.2 * 0.5 - 0.1
    assert total.parts["coherence"].to_json() == {"raw": 0.5, "normalised": 0.5, "weighted": 0.1}
    assert total.parts["task"].weighted == 1.0


def trained(weights, values, **settings):
    """An orchestrator of the task and ``a`` that has seen pairs of them."""
    orchestrator = Orchestrator(weights, OrchestratorSettings(**settings))
    orchestrator.score([{"task": task, "a": value} for task, value in values])
    orchestrator.update()
    return orchestrator


def test_components_are_scored_before_they_are_taken_in():
    orchestrator = trained({"a": 0.1}, [(0.0, 1.0), (1.0, 3.0)] * 5)  # a: mean 2, deviation 1
    for _ in range(2):
        (total,) = orchestrator.score([{"task": 1.0, "a": 5.0}])
        assert total.parts["a"].normalised == pytest.approx(3.0)
        assert total.reward == pytest.approx(1.3)
    orchestrator.update()
    assert orchestrator.score([{"task": 1.0, "a": 5.0}])[0].parts["a"].normalised < 3.0


def test_the_task_is_paid_raw_but_its_score_is_reported():
    orchestrator = trained({"a": 0.0}, [(0.0, 0.0), (1.0, 0.0)] * 5)
    (total,) = orchestrator.score([{"task": 1.0, "a": 0.0}])
    assert total.parts["task"].to_json() == {"raw": 1.0, "normalised": 1.0, "weighted": 1.0}
    scored = trained({"a": 0.0}, [(0.0, 0.0), (1.0, 0.0)] * 5, normalise_task=True)
    assert scored.score([{"task": 0.0, "a": 0.0}])[0].reward == -1.0  # mean 0.5, deviation 0.5


def test_the_others_are_held_together():
    orchestrator = Orchestrator({"a": 1.0, "b": 2.0}, OrchestratorSettings(task_gap=0.5))
    (total,) = orchestrator.score([{"task": 0.0, "a": 1.0, "b": 4.0}])
    assert total.reward == pytest.approx(0.225)  # 0.45 * 0.5
    assert total.parts["a"].weighted == pytest.approx(0.225 / 9)
    assert orchestrator.update()["held"] == 1.0


def test_a_component_with_weight_nought_is_measured():
    orchestrator = trained({"a": 0.0}, [(1.0, float(value)) for value in range(11)])
    (total,) = orchestrator.score([{"task": 1.0, "a": 10.0}])
    assert total.reward == 1.0
    assert total.parts["a"].weighted == 0.0
    assert total.parts["a"].normalised == pytest.approx(5 / math.sqrt(10))  # mean 5, variance 10
    row = orchestrator.update()
    assert row["a/raw"] == 10.0
    assert set(row) == set(orchestrator.metric_names)
    assert orchestrator.update() == {}


def test_normalise_off_pays_raw_values():
    orchestrator = trained({"a": 0.1}, [(0.0, 1.0), (1.0, 3.0)] * 5, normalise=False)
    (total,) = orchestrator.score([{"task": 1.0, "a": 2.0}])
    assert total.reward == pytest.approx(1.2)
    assert total.parts["a"].normalised == 0.0


def test_soft_limit_by_hand():
    assert [soft_limit(value, 10.0) for value in (-9.0, 0.0, 3.5, 9.0)] == [-9.0, 0.0, 3.5, 9.0]
    assert soft_limit(10.0, 10.0) == 9.5  # u = 1
    assert soft_limit(-12.0, 10.0) == -9.75  # u = 3


@given(st.floats(-1e5, 1e5), st.floats(1e-2, 1e3))
def test_soft_limit_grows_and_stays_inside(value, more):
    assert abs(soft_limit(value, 10.0)) < 10.0
    assert soft_limit(value + more, 10.0) > soft_limit(value, 10.0)


NUMBERS = st.floats(-1e3, 1e3)


@pytest.mark.filterwarnings("ignore::pixelis.errors.RewardWarning")  # weights of the task up to 1000
@given(
    weights=st.fixed_dictionaries(
        {"task": st.floats(1e-2, 1e3), "a": st.floats(0, 1e3), "b": st.floats(0, 1e3)}
    ),
    history=st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), NUMBERS, NUMBERS), max_size=30),
    failure=st.tuples(st.floats(0, 0.5), NUMBERS, NUMBERS),
    success=st.tuples(NUMBERS, NUMBERS),
    switches=st.tuples(st.booleans(), st.booleans()),
)
def test_no_failure_is_worth_as_much_as_a_success(weights, history, failure, success, switches):
    """Any weights, any statistics (all failures among them), partial credit up to the gap below 1."""
    settings = OrchestratorSettings(normalise=switches[0], normalise_task=switches[1], task_gap=0.5)
    orchestrator = Orchestrator(weights, settings)
    orchestrator.score([dict(zip(("task", "a", "b"), row, strict=True)) for row in history])
    orchestrator.update()
    lost, won = orchestrator.score(
        [dict(zip(("task", "a", "b"), row, strict=True)) for row in (failure, (1.0, *success))]
    )
    assert lost.reward < won.reward
    assert max(abs(lost.reward), abs(won.reward)) < 10.0


@given(st.lists(st.tuples(st.booleans(), NUMBERS), min_size=2, max_size=40))
def test_with_a_raw_task_that_holds_at_all_times(episodes):
    """Statistics move after every episode, through the warm-up and on."""
    orchestrator = Orchestrator({"a": 50.0}, OrchestratorSettings(normaliser=NormaliserSettings(window=12)))
    rewards = {True: [], False: []}
    for won, value in episodes:
        rewards[won].append(orchestrator.score([{"task": float(won), "a": value}])[0].reward)
        orchestrator.update()
    assert max(rewards[False], default=-1.0) < min(rewards[True], default=2.0)


def test_a_first_success_after_failures_only():
    orchestrator = trained({"task": 5.0, "a": 1.0}, [(0.0, 0.0)] * 20, normalise_task=True)
    lost, won = orchestrator.score([{"task": 0.0, "a": 9.0}, {"task": 1.0, "a": -9.0}])
    assert lost.parts["task"].normalised == 0.0
    assert won.parts["task"].normalised == 10.0  # the floor of the deviation is 0.1
    assert lost.reward < won.reward < 10.0


# ---------------------------------------------------------------------- state


def test_a_saved_state_goes_on_the_same(tmp_path):
    orchestrator = trained({"a": 0.3}, [(0.0, 1.0), (1.0, 3.0)] * 6)
    orchestrator.set_weights({"a": 0.7})
    orchestrator.score([{"task": 1.0, "a": 1.0}])
    orchestrator.save(tmp_path / "state.json")
    other = Orchestrator({"a": 0.1})
    other.load(tmp_path / "state.json")
    assert other.weights == {"task": 1.0, "a": 0.7}
    assert other.update() == orchestrator.update()
    probe = [{"task": 0.0, "a": 0.123}]
    assert other.score(probe) == orchestrator.score(probe)
    assert json.loads((tmp_path / "state.json").read_text())["version"] == 1


def test_a_state_that_cannot_be_written_whole_leaves_the_one_before(tmp_path):
    saved = tmp_path / "state.json"
    orchestrator = Orchestrator({"a": 0.3})
    orchestrator.save(saved)
    before = saved.read_text()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(OutputError, match=r"state\.json.*File too large"):
            Orchestrator({"a": 0.7}).save(saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert saved.read_text() == before and list(tmp_path.iterdir()) == [saved]


def test_states_that_do_not_fit_are_refused(tmp_path):
    state = Orchestrator({"a": 0.3}).state_dict()
    with pytest.raises(StateError, match=r"reward orchestrator.*version 1.*version 2"):
        Orchestrator({"a": 0.3}).load_state_dict({**state, "version": 2})
    with pytest.raises(StateError, match=r"\['b', 'task'\]"):
        Orchestrator({"b": 0.3}).load_state_dict(state)
    with pytest.raises(StateError, match=r"component .*window of 1000"):
        Orchestrator(
            {"a": 0.3}, OrchestratorSettings(normaliser=NormaliserSettings(window=50))
        ).load_state_dict(state)
    with pytest.raises(StateError, match="cannot read"):
        Orchestrator({"a": 0.3}).load(tmp_path / "none.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(StateError, match="holds a list"):
        Orchestrator({"a": 0.3}).load(tmp_path / "list.json")
    with pytest.raises(OutputError, match="cannot write"):
        Orchestrator({"a": 0.3}).save(tmp_path / "no_folder" / "state.json")


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf, "0.3", None, True])
def test_bad_weights_name_their_component(weight):
    with pytest.raises(ConfigError, match="weight of curiosity"):
        Orchestrator({"curiosity": weight})
    with pytest.raises(ConfigError, match="weight of curiosity"):
        Orchestrator({"curiosity": 0.1}).set_weights({"curiosity": weight})


def test_a_task_without_weight_is_refused():
    with pytest.raises(ConfigError, match="wrong answer could be worth more"):
        Orchestrator({"task": 0.0, "a": 1.0})
    with pytest.raises(ConfigError, match="Did you mean 'coherence'"):
        Orchestrator({"coherence": 0.1}).set_weights({"coherense": 0.1})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, "x", None])
def test_bad_values_name_their_component(value):
    orchestrator = Orchestrator({"curiosity": 0.3})
    with pytest.raises(RewardError, match="curiosity: expected a finite number"):
        orchestrator.score([{"task": 1.0, "curiosity": value}])
    with pytest.raises(RewardError, match="task: expected a finite number"):
        orchestrator.score([{"task": value, "curiosity": 0.0}])
    assert orchestrator.update() == {}  # nothing of it was taken in


def test_components_must_be_those_of_the_weights():
    with pytest.raises(RewardError, match="a: the component has a weight but no value"):
        Orchestrator({"a": 0.3}).score([{"task": 1.0}])
    with pytest.raises(RewardError, match="b: no such reward component"):
        Orchestrator({"a": 0.3}).score([{"task": 1.0, "a": 0.0, "b": 0.0}])


@pytest.mark.parametrize(
    "settings", [{"task_gap": 0.0}, {"share": 0.5}, {"limit": -1.0}, {"task_gap": "x"}, {"normalise": 1}]
)
def test_bad_settings(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        OrchestratorSettings(**settings)
