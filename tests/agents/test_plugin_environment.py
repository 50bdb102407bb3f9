"""An environment of somebody else's gets all that the shipped ones get, and nothing here knows its names."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest

from pixelis.agents.episodes.answers import counts, diversity_metrics, final_answer
from pixelis.agents.episodes.behaviour import behaviour_metrics
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.rl.shaping import ShapingSettings, extra_rewards
from pixelis.agents.runs.watch.watch import Watch
from pixelis.agents.settings.rl import WatchSettings
from pixelis.errors import ConfigError
from pixelis.rewards.terms.coherence import CoherenceTerm
from pixelis.rewards.terms.penalties import PenaltyTerm
from pixelis.rewards.terms.term import Transition
from pixelis.wrappers import DiscreteToolActions

ENV_ID = "lamp_env:Toy/Lamps-v0"


def call(name):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': {}})}</tool_call>"


def played(*turns, member=0):
    with gym.make(ENV_ID) as env:
        runner = EpisodeRunner(env, EpisodeRequest(0, 0, member))
        runner.reset()
        for turn in turns:
            runner.step(turn)
        return runner.episode


@pytest.fixture(scope="module")
def task_env():
    return TaskEnv.open(ENV_ID, {}, {})


def scored(term, task_env, *turns):
    term.adapt(task_env.traits)
    calls = tuple(played(*turns).tool_calls)
    (value,) = term.score([(term.begin(), Transition({}, "", {}, calls, terminated=True))])
    return value


def test_behaviour_counts_the_visual_tool():
    looked, thought = played(call("UNLOCK") + call("PEEK")), played(call("PONDER"))
    row = behaviour_metrics([looked, thought])
    assert row["visual/episodes"] == 1 / 2 and row["visual/calls"] == 1 / 3
    assert row["actions/PEEK"] == 1 / 3


@pytest.mark.parametrize(
    ("turn", "value"),
    [
        (call("UNLOCK") + call("PEEK") * 2, 0.0),
        (call("UNLOCK") + call("PEEK") * 4, -0.2),  # two over the limit
        (call("PEEK"), -0.1),  # before UNLOCK
        (call("PONDER") * 9, 0.0),
    ],
)
def test_penalties_are_those_the_tools_declare(task_env, turn, value):
    assert scored(PenaltyTerm(), task_env, turn) == pytest.approx(value)


@pytest.mark.parametrize(
    ("turn", "value"),
    [
        (call("UNLOCK") + call("PEEK"), 0.2),
        (call("UNLOCK") + call("PONDER") + call("PEEK"), 0.2),  # a call that does nothing parts no pair
        (call("PEEK") + call("UNLOCK"), -0.3),
        (call("PONDER") * 3, 0.0),
    ],
)
def test_coherence_is_what_the_tools_declare(task_env, turn, value):
    assert scored(CoherenceTerm(), task_env, turn) == pytest.approx(value)


def test_discrete_actions_speak_its_words_and_call_its_tool():
    env = DiscreteToolActions(gym.make(ENV_ID), grid=2, factors=(1.0, 2.0))
    assert env.tool_names == ("PEEK", "answer")
    observation, _ = env.reset(seed=0)
    assert observation["question"].tolist() == [1, 1, 1]
    observation, *_, info = env.step([0, 0, 0, 0, 0])
    assert info["turn"] == call("PEEK")
    assert observation["last_result"][3] == np.float32(1 / 48)  # the question names that colour
    shining = int(observation["last_result"][12] > observation["last_result"][9])  # the slot with a place
    *_, info = env.step([1, 0, 0, 0, shining])
    assert info["final_answer"]["text"] == env.unwrapped.task.answer


def test_an_environment_without_words_is_told():
    bare = type("Bare", (type(gym.make(ENV_ID).unwrapped),), {"vocabulary": ()})
    with pytest.raises(ConfigError, match="Bare declares no vocabulary"):
        DiscreteToolActions(bare())
    assert DiscreteToolActions(bare(), words=("lamp",)).observation_space["question"].shape == (1,)


def test_the_first_answer_is_the_final_one():
    said = [("mauve", "yes"), ("ochre", "yes"), ("bribe", "yes"), ("mauve", "sure")]
    group = [played(*(f"<answer>{one}</answer>" for one in turns), member=i) for i, turns in enumerate(said)]
    assert [final_answer(episode) for episode in group] == ["mauve", "ochre", "bribe", "mauve"]
    assert [counts(episode) for episode in group] == [True, True, False, True]
    settings = ShapingSettings(bonus="diversity", bonus_weight=1.0, diversity="ngrams")
    assert extra_rewards(group, settings).tolist() == pytest.approx([0, 1, 0, 0])
    distinct = extra_rewards(group, ShapingSettings(bonus="distinct_answers", bonus_weight=1.0))
    assert distinct.tolist() == [0.5, 1, 0, 0.5]
    assert diversity_metrics(group, "ngrams")["diversity/counted"] == 3 / 4


def test_a_run_watches_by_its_own_scorer(task_env):
    watch = Watch(WatchSettings(scores={"brevity": {}}), task_env.scorers)
    assert watch.means([played("<answer>mauve</answer>", "<answer>yes</answer>")]) == {"brevity": 0.5}
    with pytest.raises(ConfigError, match="Did you mean 'brevity'"):
        Watch(WatchSettings(scores={"brevty": {}}), task_env.scorers)
