"""What other trainers are told where an environment itself fails, or where their rows are of another one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from recorded_episodes import ENVS

from pixelis.adapters.skyrl import SkyRLEnv
from pixelis.adapters.tool_methods import tool_method
from pixelis.adapters.trl import dataset, environment, pays, pays_in_all
from pixelis.envs.spaces import Utf8Text
from pixelis.errors import ConfigError, TrainingError

BREAKS = "Breaks-v0"
FAILED = "Breaks-v0 failed: the browser is gone; a reward of 0 would be learnt from"


class BreakingEnv(gym.Env):
    """Ends with its first step; it fails where that asks for it."""

    observation_space = gym.spaces.Dict({"text": Utf8Text(100)})
    action_space = Utf8Text(100)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"text": "go"}, {}

    def step(self, action):
        if "break" in action:
            failure = {"valid_for_training": False, "failure_reason": "the browser is gone"}
            return {"text": ""}, 0.0, False, True, failure
        return {"text": ""}, 1.0, True, False, {"success": True}


@pytest.fixture(autouse=True, scope="module")
def breaking():
    gym.register(BREAKS, BreakingEnv)
    yield
    del gym.registry[BREAKS]


def test_trl_is_told_of_a_failure_and_gets_no_reward_for_it():
    columns: dict[str, Any] = {name: [value] for name, value in dataset(BREAKS, [1])[0].items()}
    assert pays(["fine"], **columns) == [1.0]
    with pytest.raises(TrainingError, match=FAILED):
        pays(["break"], **columns)


def test_trl_is_told_after_several_turns_too():
    made = environment("Pixelis/ZoomRead-v0", ENVS["Pixelis/ZoomRead-v0"])()
    made.reset(seed=1)
    made._chat.env = BreakingEnv()
    with pytest.raises(TrainingError, match="BreakingEnv failed: the browser is gone"):
        pays_in_all(["break"], [made])


def test_skyrl_is_told_of_a_failure():
    env = SkyRLEnv(extras={"env_id": BREAKS, "seed": 1})
    env.init([])
    assert env.step("fine")["reward"] == 1.0
    env.init([])
    with pytest.raises(TrainingError, match=FAILED):
        env.step("break")


def test_rows_of_another_environment_or_of_other_keywords_are_refused():
    kwargs = {"difficulty": 1, "max_turns": 3}
    made = environment("Pixelis/ZoomRead-v0", kwargs)()
    (row,) = dataset("Pixelis/ZoomRead-v0", [3], kwargs, lists_tools=False, first=False)
    assert made.reset(**row) == made.reset(seed=3)
    (harder,) = dataset("Pixelis/ZoomRead-v0", [3], {**kwargs, "difficulty": 2}, lists_tools=False)
    with pytest.raises(ConfigError, match=r"made with env_kwargs .*'difficulty': 1.* the row says .*: 2"):
        made.reset(**harder)
    with pytest.raises(ConfigError, match="env_id 'Pixelis/ZoomRead-v0' and the row says 'Pixelis/Other-v0'"):
        made.reset(**{**row, "env_id": "Pixelis/Other-v0"})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, int),
        ({"type": ["string", "null"]}, str | None),
        ({"enum": [1, 2]}, int),
        ({"enum": [1, "a"]}, int | str),
        ({"type": "string", "enum": ["a"]}, str),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, int | None),
        ({"oneOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "boolean"}]}, list[int] | bool),
        ({}, Any),
        (True, Any),
        ({"anyOf": [{"type": "integer"}, {}]}, Any),
    ],
)
def test_a_schema_as_a_type(schema, expected):
    parameters = {"properties": {"at": schema}, "required": ["at"]}
    tool = {"name": "look", "description": "Look.", "parameters": parameters}
    assert tool_method(tool, lambda *_: None).__annotations__ == {"at": expected}
