from __future__ import annotations

import numpy as np

from pixelis.envs.actions import ToolCall, parse_action
from pixelis.envs.players import nothing_player, random_player
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import Tool, ToolOutput, Toolset

NUMBER = {"type": "number", "minimum": -2, "maximum": 3}
PROPERTIES = {
    "place": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
    "count": {"type": "integer", "minimum": 4, "maximum": 6},
    "side": {"enum": ["left", "right"]},
    "loud": {"type": "boolean"},
    "word": {"type": "string"},
}
GO = Tool("GO", "Go.", {"properties": PROPERTIES, "required": ["place"]}, lambda w, a: ToolOutput("Gone."))


class Walks:
    family = "walks"
    difficulties = range(1)

    def sample(self, rng, difficulty, split):
        return Task(str(rng.integers(10**9)), self.family, difficulty, split, "Where?", "here")


def make_env(tools):
    toolset = Toolset(tools, lambda task: None)
    verdict = Verdict(False, {"task": 0.0})
    return ToolEnv(source=Walks(), toolset=toolset, verifier=lambda *a: verdict, max_turns=400)


def turns(env, seed, count=200):
    observation, info = env.reset(seed=seed)
    policy = random_player(env)
    return [policy.act(observation, info) for _ in range(count)]


def test_nothing_says_nothing():
    assert nothing_player(make_env([GO])).act({}, {}) == ""


def test_random_calls_obey_the_schema_and_cover_it():
    env = make_env([GO])
    parsed = [parse_action(turn) for turn in turns(env, 0)]
    calls = [call for one in parsed for call in one.calls]
    assert all(
        isinstance(call, ToolCall) and env.toolset.call(None, call.name, call.arguments).ok for call in calls
    )
    assert {name for call in calls for name in call.arguments} == set(PROPERTIES)
    assert {call.arguments["count"] for call in calls if "count" in call.arguments} == {4, 5, 6}
    places = np.array([call.arguments["place"] for call in calls])
    assert places.shape[1] == 2
    assert places.min() < -1.5
    assert places.max() > 2.5


def test_random_answers_now_and_then():
    answers = sum(parse_action(turn).answer is not None for turn in turns(make_env([GO]), 1, 400))
    assert 35 <= answers <= 90  # 15 % of 400 is 60; four standard deviations either side


def test_random_is_a_function_of_the_task():
    env = make_env([GO])
    assert turns(env, 5) == turns(env, 5) != turns(env, 6)


def test_random_without_tools_answers():
    assert all(parse_action(turn).answer for turn in turns(make_env([]), 0, 5))
