"""Agents of the user's own: functions and classes, by themselves and by name."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from pixelis.agents import evaluate
from pixelis.cli.main import main
from pixelis.errors import ConfigError, EpisodesFailedError

ENV = "Pixelis/CodeProblem-v0"
SOLVED = """
class Oracle:
    made = 0

    def __init__(self):
        Oracle.made += 1
        self.turns = 0

    def act(self, observation, info):
        self.turns += 1
        assert self.turns == 1  # a new one for each episode
        name = observation["text"].partition("def ")[2].partition("(")[0]
        return f"```python\\ndef {name}(*given):\\n    return None\\n```"


def silent(observation, info):
    return ""


def broken(observation, info):
    raise RuntimeError("my own mistake")


def numbers(observation, info):
    return 5
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(SOLVED)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    import my_agents

    yield my_agents
    sys.modules.pop("my_agents")


def test_a_function_and_a_class_play(module):
    row = evaluate(module.silent, env=ENV, episodes=3)
    assert (row.agent, row.mode, row.episodes, row.success_rate) == ("silent", "scripted", 3, 0.0)
    row = evaluate(module.Oracle, env=ENV, episodes=3)
    assert row.episodes == 3 and module.Oracle.made == 3


def test_a_function_is_shown_what_the_env_shows_turn_by_turn():
    """Its calls are carried out: the second picture is another one, and its info tells of the call."""
    seen = []

    def looker(observation, info):
        seen.append((observation["image"].copy(), [call["tool"] for call in info["tool_calls"]]))
        if len(seen) == 1:
            return '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.5, 0.5], "factor": 4}}</tool_call>'
        return "<answer>none</answer>"

    row = evaluate(looker, env="Pixelis/ZoomRead-v0", episodes=1)
    (before, none), (after, called) = seen
    assert (none, called) == ([], ["ZOOM"]) and not np.array_equal(before, after)
    assert row.mean_turns == 2 and row.tool_calls == {"ZOOM": 1.0} and row.success_rate == 0


def test_by_name_on_the_command_line(module, tmp_path, capsys):
    words = ["--agent", "my_agents:silent,nothing", "--env", ENV, "--episodes", "2", "--output", "t.json"]
    assert main(["evaluate", *words]) == 0
    first, second = json.loads((tmp_path / "t.json").read_text())["rows"]
    assert (first["agent"], first["mode"]) == ("my_agents:silent", "scripted")
    assert first["mean_reward"] == second["mean_reward"]
    assert main(["compare", "--a", "my_agents:silent", "--b", "oracle", "--env", ENV, "--episodes", "2"]) == 0
    assert main(["enjoy", "my_agents:silent", "--env", ENV]) == 0
    assert "── turn 1" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["broken", "numbers"])
def test_what_goes_wrong_in_it_is_no_failure_of_a_model(module, name):
    with pytest.raises(
        EpisodesFailedError,
        match="my own mistake" if name == "broken" else r"'numbers' returned int; .*my_agents\.py:",
    ):
        evaluate(getattr(module, name), env=ENV, episodes=2)


@pytest.mark.parametrize("name", ["my_agents:missing", "no_such_module:act"])
def test_a_name_that_is_none(module, name):
    with pytest.raises(ConfigError, match="agent: "):
        evaluate(name, env=ENV, episodes=1)


def test_what_cannot_play():
    with pytest.raises(ConfigError, match="agent must be a policy, a name, a function or a class"):
        evaluate(5, env=ENV, episodes=1)


def test_what_cannot_take_a_turn_is_refused_before_anything_is_played(module):
    class Mute:
        pass

    class Deaf:
        def act(self):
            return ""

    with pytest.raises(ConfigError, match="'Mute' is a class without act; give it a method"):
        evaluate(Mute, env=ENV, episodes=1)
    with pytest.raises(ConfigError, match=r"'Deaf' must take \(self, observation, info\), got \(self\)"):
        evaluate(Deaf, env=ENV, episodes=1)
    with pytest.raises(ConfigError, match=r"must take \(observation, info\), got \(observation\)"):
        evaluate(lambda observation: "", env=ENV, episodes=1)
    with pytest.raises(ConfigError, match="give the class, an object is made for each episode"):
        evaluate(module.Oracle(), env=ENV, episodes=1)
