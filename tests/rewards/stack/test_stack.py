"""The stack: steps of many episodes in, rewards and parts out; with and without an orchestrator."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError, RewardError, StateError, UserCodeError
from pixelis.rewards.stack.limits import hold
from pixelis.rewards.stack.orchestrator import Orchestrator
from pixelis.rewards.stack.stack import RewardStack, build_stack
from pixelis.rewards.stack.stages import STEP_CURRICULUM
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.weights import ALONE_WEIGHTS


class Scripted:
    """A term whose value is the number in the step's action; it counts what it learnt from."""

    def __init__(self, *, name="scripted", factor=1.0):
        self.name, self.factor, self.seen, self.learnt = name, factor, 0, 0

    def begin(self):
        return []

    def score(self, steps):
        self.seen += len(steps)
        for memory, step in steps:
            memory.append(step.action)
        return [self.factor * float(step.action) for _, step in steps]

    def learn(self):
        self.learnt, self.seen = self.learnt + self.seen, 0
        return {"learnt": float(self.learnt)}

    def state_dict(self):
        return {"learnt": self.learnt}

    def load_state_dict(self, state):
        self.learnt = state["learnt"]


class Short(Scripted):
    def score(self, steps):
        return super().score(steps)[1:]


def step(value, ended=False):
    return Transition({}, str(value), {}, (), terminated=ended)


def test_without_an_orchestrator_a_running_sum_is_held_in_one():
    stack = RewardStack([Scripted()], None, {"scripted": 0.2})
    memory = stack.begin()
    rewards = []
    for value in (0.6, 0.6, 5.0, -1.0):
        (scored,) = stack.score([(memory, step(value), 0.0)])
        assert scored.terms == {"scripted": value}
        assert scored.parts == {}
        rewards.append(scored.reward)
    assert rewards == pytest.approx([0.12, 0.08, 0.0, 0.0])  # sums 0.6, 1.2, 6.2, 5.2
    (last,) = stack.score([(memory, step(-4.7, ended=True), 1.0)])
    assert last.reward == pytest.approx(1.0 + 0.2 * (0.5 - 1.0))
    assert last.parts["scripted"].to_json() == pytest.approx({"raw": 0.5, "normalised": 0.5, "weighted": 0.1})
    assert last.parts["task"].raw == 1.0


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_an_episode_is_paid_the_held_sum(values):
    stack = RewardStack([Scripted()], None, {"scripted": 0.3})
    memory = stack.begin()
    paid = [stack.score([(memory, step(value), 0.0)])[0].reward for value in values]
    assert sum(paid) == pytest.approx(0.3 * hold(sum(values)), abs=1e-9)


@given(
    lost=st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=5),
    won=st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=5),
)
def test_shipped_weights_alone_cannot_reverse_success_and_failure(lost, won):
    """Even against a failure with a partial credit of 0.5."""
    names = list(ALONE_WEIGHTS)
    assert 2 * sum(ALONE_WEIGHTS.values()) < 0.5

    def play(steps, task):
        total = 0.0
        stacks = [RewardStack([Scripted(name=name)], None, {name: ALONE_WEIGHTS[name]}) for name in names]
        memories = [stack.begin() for stack in stacks]
        for values in steps:
            for stack, memory, value in zip(stacks, memories, values, strict=True):
                total += stack.score([(memory, step(value), 0.0)])[0].reward
        return total + task

    assert play(lost, 0.5) < play(won, 1.0)


def test_with_an_orchestrator_the_last_step_is_paid_everything():
    stack = RewardStack([Scripted()], Orchestrator({"scripted": 0.5}))
    first, second = stack.begin(), stack.begin()
    scored = stack.score([(first, step(0.1), 0.25), (second, step(0.4, ended=True), 0.0)])
    assert [one.reward for one in scored] == [0.0, pytest.approx(0.2)]
    assert scored[0].parts == {}
    (last,) = stack.score([(first, step(0.2, ended=True), 0.5)])
    assert last.reward == pytest.approx(0.75 + 0.5 * 0.3)
    assert last.parts["task"].raw == 0.75
    assert last.terms == {"scripted": 0.2}


def test_every_episode_between_two_calls_of_learn_meets_the_same_statistics():
    stack = RewardStack([Scripted()], Orchestrator({"scripted": 0.1}))
    batch = [(stack.begin(), step(place % 3, ended=True), 0.0) for place in range(30)]
    assert [one.parts["scripted"].normalised for one in stack.score(batch)] == [0.0, 1.0, 2.0] * 10
    assert stack.learn()["scripted/learnt"] == 30.0
    (later,) = stack.score([(stack.begin(), step(1, ended=True), 0.0)])
    assert later.parts["scripted"].normalised == pytest.approx(0.0)


def test_a_state_goes_through_json_and_back():
    values = {"coherence": {"weight": 0.1}, "penalty": {}, "curriculum": "steps"}
    stack = build_stack(_without_curiosity(values))
    for place in range(12):
        stack.score([(stack.begin(), step(0, ended=True), float(place % 2))])
    stack.learn()
    stack.observe(1000, {})
    other = build_stack(_without_curiosity(values))
    other.load_state_dict(json.loads(json.dumps(stack.state_dict())))
    assert other.weights == stack.weights == {"task": 0.7, "coherence": 0.1, "penalty": 1.0}
    probe = (Transition({}, "", {}, ({"tool": "ZOOM"},) * 2, truncated=True), 1.0)
    assert other.score([(other.begin(), *probe)]) == stack.score([(stack.begin(), *probe)])


def _without_curiosity(values):
    stages = {
        name: {**stage, "weights": {k: v for k, v in stage["weights"].items() if k != "curiosity"}}
        for name, stage in STEP_CURRICULUM["stages"].items()
    }
    return {**values, "curriculum": {"stages": stages}}


def test_states_of_other_settings_are_refused():
    alone = build_stack({"penalty": {}, "orchestrate": False})
    full = build_stack({"penalty": {}})
    with pytest.raises(StateError, match="the state lacks orchestrator"):
        full.load_state_dict(alone.state_dict())
    with pytest.raises(StateError, match="the state has orchestrator"):
        alone.load_state_dict(full.state_dict())
    with pytest.raises(StateError, match=r"the state has terms \['penalty'\] instead of \['coherence'\]"):
        build_stack({"coherence": {}}).load_state_dict(full.state_dict())
    with pytest.raises(StateError, match="reward stack: expected a state of version 1, got version 7"):
        full.load_state_dict({**full.state_dict(), "version": 7})
    with pytest.raises(StateError, match="no 'terms'"):
        full.load_state_dict({"version": 1})


def test_terms_and_weights_must_fit():
    with pytest.raises(ConfigError, match="names that differ"):
        RewardStack([Scripted(), Scripted()])
    with pytest.raises(ConfigError, match="not 'task'"):
        RewardStack([Scripted(name="task")])
    with pytest.raises(ConfigError, match="lacks score"):
        RewardStack([type("Half", (), {"name": "half", "begin": len})()])
    with pytest.raises(ConfigError, match="Did you mean 'scripted'"):
        RewardStack([Scripted()], None, {"script": 1.0})
    with pytest.raises(ConfigError, match="weight of scripted"):
        RewardStack([Scripted()], None, {"scripted": -1.0})
    with pytest.raises(ConfigError, match="orchestrator has the components"):
        RewardStack([Scripted()], Orchestrator({"other": 1.0}))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_name_their_component(value):
    stack = RewardStack([Scripted()], None, {"scripted": 0.1})
    with pytest.raises(RewardError, match="scripted: expected a finite number"):
        stack.score([(stack.begin(), step(value), 0.0)])
    with pytest.raises(RewardError, match="task: expected a finite number"):
        stack.score([(stack.begin(), step(0), value)])
    short = RewardStack([Short()])
    with pytest.raises(RewardError, match="scripted: expected 1 values, one a step, got 0"):
        short.score([(short.begin(), step(0), 0.0)])


# ---------------------------------------------------------------------- from plain data


def test_shipped_weights_are_taken_where_none_is_given():
    assert build_stack({"coherence": None, "penalty": {}}).weights == {
        "task": 1.0,
        "coherence": 0.2,
        "penalty": 1.0,
    }
    alone = build_stack({"orchestrate": False, "coherence": {}, "penalty": {"weight": 0.04}})
    assert alone.weights == {"coherence": 0.05, "penalty": 0.04}


def test_settings_reach_terms_and_orchestrator():
    stack = build_stack(
        {
            "penalty": {"weight": 0.5, "no_answer": 0.3},
            "task": {"weight": 2.0},
            "task_gap": 0.5,
            "normalise": False,
            "window": 20,
            "warmup": 5,
        }
    )
    assert stack.terms["penalty"].settings.no_answer == 0.3
    assert stack.orchestrator.settings.task_gap == 0.5
    assert stack.orchestrator.settings.normaliser.window == 20
    assert stack.weights == {"task": 2.0, "penalty": 0.5}


def test_a_term_of_ones_own_is_module_and_class(tmp_path, monkeypatch):
    (tmp_path / "term_of_a_test.py").write_text(
        "from pixelis.rewards.terms.penalties import PenaltyTerm\n"
        "class Mine(PenaltyTerm):\n"
        "    def __init__(self, amount):\n"
        "        super().__init__(name='mine', no_answer=amount)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    stack = build_stack({"term_of_a_test:Mine": {"weight": 0.4, "amount": 0.7}, "penalty": {}})
    assert stack.weights == {"task": 1.0, "mine": 0.4, "penalty": 1.0}
    assert stack.terms["mine"].settings.no_answer == 0.7
    with pytest.raises(ConfigError, match="unexpected keyword argument 'sum'"):
        build_stack({"term_of_a_test:Mine": {"sum": 1}})
    with pytest.raises(ConfigError, match="cannot be imported"):
        build_stack({"term_of_a_test:Yours": {}})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coherance": {}}, "Did you mean 'coherence'"),
        ({"coherence": 0.2}, "coherence takes a mapping"),
        ({"penalty": {"no_anwser": 1}}, "Did you mean 'no_answer'"),
        ({"penalty": {"weight": -1}}, "weight of penalty"),
        ({"penalty": {"weight": "1"}}, "weight of penalty"),
        ({"task": {"weight": 0}}, "weight of task"),
        ({"task": {"size": 1}}, "task has no setting 'size'"),
        ({"task_gap": 0}, "task_gap"),
        ({"window": "many"}, "window"),
        ({"orchestrate": "no"}, "orchestrate must be"),
        ({"orchestrate": False, "task_gap": 1.0}, "task_gap is a setting of the orchestrator"),
        ({"orchestrate": False, "curriculum": "steps"}, "curriculum is a setting of the orchestrator"),
        ({"curriculum": "stepps"}, "Did you mean 'steps'"),
        ({"coherence": {}, "curriculum": "steps"}, "stage 'task': there is no reward component 'curiosity'"),
        ([], "expected a mapping"),
        ({"raw": 5}, "raw: expected a list of names, got 5"),
        ({"raw": ["penalti"]}, "raw: there is no component 'penalti'"),
        ({"std_floor": math.inf}, "std_floor: expected a finite number"),
        ({"curriculum": {"stages": {"a": {"weights": {}, "name": "b"}}}}, "leave name out"),
        (
            {"curriculum": {"stages": {"a": {"weights": {}}}, "rollback": {"metric": "x", "cooldown": "5"}}},
            "cooldown must be an integer",
        ),
    ],
)
def test_bad_plain_data(values, message):
    with pytest.raises(ConfigError, match=message):
        build_stack(values)


def test_a_curriculum_needs_metrics_that_somebody_computes():
    stages = {
        "one": {"weights": {"task": 1.0}, "exits": [{"metric": "success/rate_ma100", "threshold": 0.7}]},
        "two": {"weights": {"task": 1.0, "penalty": 0.5}},
    }
    values = {"penalty": {}, "curriculum": {"stages": stages}}
    with pytest.raises(ConfigError, match="stage 'one': nobody computes the metric 'success/rate_ma100'"):
        build_stack(values)
    assert build_stack(values, ["success/rate"]).curriculum.stage.name == "one"
    stages["one"]["exits"][0]["metric"] = "penalty/raw_ma10"  # the orchestrator computes it
    assert build_stack(values).curriculum.stage.name == "one"


def test_the_stack_shows_the_curriculum_its_own_metrics():
    stages = {
        "one": {
            "weights": {"task": 1.0, "penalty": 0.0},
            "exits": [{"metric": "penalty/raw", "threshold": -0.05}],
        },
        "two": {"weights": {"task": 0.5, "penalty": 0.2}},
    }
    stack = build_stack({"penalty": {}, "curriculum": {"stages": stages, "check_every": 1}})
    assert stack.weights == {"task": 1.0, "penalty": 0.0}
    for number, truncated in ((1, True), (2, False)):
        ended = Transition({}, "", {}, (), terminated=not truncated, truncated=truncated)
        stack.score([(stack.begin(), ended, 0.0)])
        assert stack.learn()["penalty/raw"] == (-0.1 if truncated else 0.0)
        change = stack.observe(number, {})
    assert change is not None
    assert (change.stage, change.previous, change.step) == ("two", "one", 2)
    assert stack.weights == {"task": 0.5, "penalty": 0.2}


def test_a_state_that_is_refused_late_changes_nothing():
    values = {"curiosity": {}, "coherence": {}, "curriculum": STEP_CURRICULUM}
    mine, other = build_stack(values), build_stack(values)
    step = Transition({"text": "a"}, "look", {"text": "b"}, (), terminated=True)
    for _ in range(3):
        other.score([(other.begin(), step, 1.0)])
        other.learn()
    state = other.state_dict()
    state["curriculum"] = {**state["curriculum"], "stages": ["others"]}
    before = mine.score([(mine.begin(), step, 1.0)])[0]
    with pytest.raises(StateError, match="curriculum"):
        mine.load_state_dict(state)
    assert mine.score([(mine.begin(), step, 1.0)])[0] == before
    assert mine.state_dict()["orchestrator"]["statistics"] != other.state_dict()["orchestrator"]["statistics"]
    mine.load_state_dict(other.state_dict())
    assert mine.state_dict()["orchestrator"] == other.state_dict()["orchestrator"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("orchestrator", "weights", "task"), math.nan),
        (("orchestrator", "weights"), None),
        (("orchestrator", "statistics"), None),
        (("orchestrator", "pending"), [{"nope": 1}]),
        (("terms",), None),
        (("terms", "curiosity", "settings"), None),
    ],
)
def test_a_damaged_state_is_one_error_and_changes_nothing(path, value):
    stack = build_stack({"curiosity": {}})
    stack.score([(stack.begin(), Transition({"text": "a"}, "b", {"text": "c"}, (), True), 1.0)])
    before, state = stack.state_dict(), stack.state_dict()
    place = state
    for key in path[:-1]:
        place[key] = dict(place[key])
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(StateError):
        stack.load_state_dict(state)
    assert stack.state_dict()["orchestrator"] == before["orchestrator"]
    assert stack.learn()["task/raw"] == 1.0


def nearing(stack, last, task, change=None):
    """Return what two turns pay that end near the goal, or at it; weights change after the first."""
    memory, paid = stack.begin(), 0.0
    for progress, ended in ((0.9, False), (last, True)):
        seen = Transition({}, "x", {}, (), ended, False, progress)
        paid += stack.score([(memory, seen, task if ended else 0.0)])[0].reward
        if change is not None and not ended:
            change()
    return paid


def test_weights_that_change_during_an_episode_do_not_pay_its_failure():
    stages = {
        "a": {"weights": {"task": 1.0, "progress": 2.0}, "steps": 1},
        "b": {"weights": {"task": 1.0, "progress": 0.1}},
    }
    stack = build_stack({"progress": {"weight": 2.0}, "curriculum": {"stages": stages}, "normalise": False})
    assert nearing(stack, 0.9, 0.0, lambda: stack.observe(1, {})) == pytest.approx(
        0.0
    )  # was 2 x .9 - .1 x .9
    assert stack.weights["progress"] == 0.1
    assert nearing(stack, 1.0, 1.0) == pytest.approx(1.0)
    alone = RewardStack([Scripted()], None, {"scripted": 1.0})
    memory = alone.begin()
    paid = alone.score([(memory, step(0.5), 0.0)])[0].reward
    alone.set_weights({"scripted": 0.0})
    paid += alone.score([(memory, step(-0.5, ended=True), 0.0)])[0].reward
    assert paid == 0.0


def test_what_a_term_learns_from_is_seen_once_where_another_raises():
    def fragile(transition):
        if transition.action == "3":
            raise ValueError("no")
        return 0.0

    learning = Scripted(name="learning")
    stack = RewardStack([learning, fragile], None, {"learning": 0.1})
    batch = [(stack.begin(), step(value), 0.0) for value in range(5)]
    with pytest.raises(UserCodeError, match="fragile"):
        stack.score(batch)
    assert learning.seen == 0
    assert [list(paid.terms) for paid in stack.score(batch[:2])] == [["learning", "fragile"]] * 2
    assert learning.seen == 2
