"""The same turns are paid the same through another trainer's interface as by Gymnasium's."""

from __future__ import annotations

import json
import re

import gymnasium as gym
import pytest
import skyrl_gym
from recorded_episodes import ENVS, PLAYERS, natively

from pixelis.adapters.chat_env import OVER, ChatEnv, rows, text_of
from pixelis.adapters.skyrl import SkyRLEnv, register, skyrl_rows
from pixelis.adapters.trl import environment, pays, pays_in_all
from pixelis.errors import ConfigError, UnknownEnvError


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("env_id", ENVS)
def test_skyrl_pays_what_the_environment_pays(env_id: str, player: str):
    register()
    register()  # a second time changes nothing
    for seed in range(2):
        first, played = natively(env_id, player, seed)
        (row,) = skyrl_rows(env_id, [seed], ENVS[env_id])
        assert row["env_class"] == "pixelis" and row["prompt"][-1] == {"role": "user", "content": first}
        env = skyrl_gym.make("pixelis", env_config=None, extras=json.loads(json.dumps(row)))
        prompt, _ = env.init(row["prompt"])
        assert prompt == row["prompt"]
        for said, back, reward, done in played:
            output = env.step(said)
            assert (output["reward"], output["done"]) == (reward, done)
            assert output["observations"] == ([] if done else [{"role": "user", "content": back}])
        metrics = env.get_metrics()
        assert metrics["turns"] == len(played) and metrics["success"] in (0.0, 1.0)
        env.close()


@pytest.mark.parametrize("env_id", ["Pixelis/ZoomRead-v0", "Pixelis/SizeCompare-v0", "Pixelis/WebBrowse-v0"])
def test_trl_s_calls_and_last_turn_are_paid_what_the_environment_pays(env_id: str):
    """The oracle's calls one by one, as TRL makes them, natively and by methods: the same turn by turn."""
    made, beside = environment(env_id, ENVS[env_id])(), gym.make(env_id, **ENVS[env_id])
    for seed in range(3):
        first, played = natively(env_id, "oracle", seed)
        calls = re.findall(r"<tool_call>.*?</tool_call>", "".join(turn[0] for turn in played), re.DOTALL)
        assert made.reset(seed=seed, prompt="ignored", options="{}") == first
        beside.reset(seed=seed)
        total = 0.0
        for said in calls:
            observation, reward, *_ = beside.step(said)
            total += float(reward)
            call = json.loads(said[len("<tool_call>") : -len("</tool_call>")])
            assert getattr(made, call["name"])(**call["arguments"]) == observation["text"]
        final = "".join(re.split(r"<tool_call>.*?</tool_call>", played[-1][0], flags=re.DOTALL))
        if not made._chat.done:
            total += float(beside.step(final)[1])
        last = [{"role": "tool", "content": "x"}, {"role": "assistant", "content": final}]
        assert total > 0 and pays_in_all([last], [made]) == [pytest.approx(total)]
        assert pays_in_all([last], [made]) == [pytest.approx(total)]  # asked again it is not played again
        name = next(one for one in dir(made) if one.isupper())
        assert getattr(made, name)() == OVER


def test_pictures_are_parts_where_they_are_wanted():
    made = environment("Pixelis/ZoomRead-v0", {"reader": "truth"}, images=True)()
    first = made.reset(seed=0)
    assert [part["type"] for part in first] == ["image", "text"]  # type: ignore[index]
    seen = made.ZOOM(center=[0.5, 0.5], factor=2)  # type: ignore[attr-defined]
    assert seen[0]["image"].size == first[0]["image"].size  # type: ignore[index]
    assert seen[0]["image"].tobytes() != first[0]["image"].tobytes()  # type: ignore[index]
    bad = made.ZOOM(center="the middle")  # type: ignore[attr-defined]
    assert "is not of type 'array'" in bad[1]["text"]
    bad = made.ZOOM(nonsense=3)  # type: ignore[attr-defined]
    assert "'nonsense' was unexpected" in bad[1]["text"]


def test_the_schemas_that_trl_makes_of_the_methods_name_every_argument():
    from transformers.utils import get_json_schema

    made = environment("Pixelis/WebBrowse-v0")()
    tools = {tool["function"]["name"]: tool["function"] for tool in made._chat.tools}
    methods = {name for name in vars(type(made)) if not name.startswith("_")}
    assert methods == set(tools)
    for name, tool in tools.items():
        told = get_json_schema(getattr(made, name))["function"]
        assert told["description"] == tool["description"]
        assert set(told["parameters"]["properties"]) == set(tool["parameters"].get("properties", {}))
        assert set(told["parameters"].get("required", [])) == set(tool["parameters"].get("required", []))


@pytest.mark.parametrize("seed", range(3))
def test_one_turn_is_paid_what_the_environment_pays(seed: int):
    first, played = natively("Pixelis/ReasoningGym-v0", "oracle", seed)
    (row,) = rows("Pixelis/ReasoningGym-v0", [seed], {"task": "chain_sum"})
    assert row["prompt"] == [{"role": "user", "content": first}]  # no tools, so none are listed
    given = {name: [row[name]] * 2 for name in ("env_kwargs", "options")}
    said = [[{"role": "assistant", "content": played[0][0]}], "I do not know"]
    ids = ["Pixelis/ReasoningGym-v0"] * 2
    assert pays(completions=said, env_id=ids, seed=[seed] * 2, trainer_state=None, **given) == [1.0, 0.0]


def test_what_cannot_be_played_so_is_one_clear_error():
    with pytest.raises(ConfigError, match="has no tools, so TRL plays one turn"):
        environment("Pixelis/ReasoningGym-v0", {"task": "chain_sum"})
    with pytest.raises(ConfigError, match="env_id and seed, got none for seed"):
        SkyRLEnv(None, {"env_id": "Pixelis/CodeProblem-v0"})
    with pytest.raises(
        ConfigError, match="options of a 'pixelis' row must be a dict, or JSON of one, got '7'"
    ):
        SkyRLEnv(None, {"env_id": "Pixelis/CodeProblem-v0", "seed": 0, "options": "7"})
    with pytest.raises(UnknownEnvError, match="Did you mean"):
        ChatEnv("Pixelis/ZoomReed-v0")
    with pytest.raises(ConfigError, match="goes on after one turn"):
        pays(["?"], ["Pixelis/CodeProblem-v0"], ["{}"], [0], ["{}"])


def test_the_text_of_a_completion():
    assert text_of("plain") == "plain" and text_of([]) == ""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert text_of([{"role": "assistant", "content": "x"}, {"role": "assistant", "content": parts}]) == "ab"
    assert text_of([{"role": "assistant", "content": None}, {"role": "tool", "content": "y"}]) == ""
