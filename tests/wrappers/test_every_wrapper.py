"""Each wrapper alone and in every order: direct, in a spec, by YAML, in and around both kinds of vector."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import yaml
from calling_env import CallingEnv
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from pixelis import wrappers
from pixelis.errors import ConfigError, WrapperOrderError
from pixelis.wrappers import read_trajectories, vector, wrap
from pixelis.wrappers.scoring.order import RIGHT_ORDER

TERMS = ("CuriosityReward", "CoherenceReward", "ToolPenalty")
EACH = (*TERMS, "RewardOrchestrator", "RecordTrajectory")
YAML = {
    "CuriosityReward": "{orchestrate: false, curiosity: {}}",
    "CoherenceReward": "{orchestrate: false, coherence: {}}",
    "ToolPenalty": "{orchestrate: false, penalty: {}}",
    "RewardOrchestrator": "{}",
    "RecordTrajectory": "{orchestrate: false, record: {folder: recordings}}",
}
ACTIONS = ("ZOOM:a READ_TEXT", "TRACK", "right")
PAID = {  # one good pair and a contradiction: mean -0.05; TRACK without a segment: -0.1
    "CoherenceReward": [0.0, 0.0, 1 - 0.05 * 0.05],
    "ToolPenalty": [0.0, -0.08 * 0.1, 1.0],
    "RewardOrchestrator": [0.0, 0.0, 1.0],
    "RecordTrajectory": [0.0, 0.0, 1.0],
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def settings(name) -> dict[str, Any]:
    return {"folder": "recordings"} if name == "RecordTrajectory" else {}


def put(name, env, home=wrappers):
    return getattr(home, name)(env, **settings(name))


def make_calling():
    return gym.make("Calling-v0", disable_env_checker=True)


def play(env) -> list[float]:
    """Return what an episode pays; of a vector, what it pays in each of its equal lanes."""
    env.reset(seed=0)
    lanes = getattr(env, "num_envs", 0)
    paid = [env.step((action,) * lanes if lanes else action)[1] for action in ACTIONS]
    env.close()
    if lanes:
        assert np.ptp(np.array(paid), axis=1).max() == 0
        return [float(rewards[0]) for rewards in paid]
    return paid


def by_spec(name):
    spec = copy.deepcopy(gym.spec("Calling-v0"))
    spec.additional_wrappers = (getattr(wrappers, name).wrapper_spec(**settings(name)),)
    return gym.make(spec)


def by_registration(name):
    gym.register(
        "CallingWrapped-v0",
        entry_point="calling_env:CallingEnv",
        additional_wrappers=(getattr(wrappers, name).wrapper_spec(**settings(name)),),
    )
    try:
        return gym.make("CallingWrapped-v0", disable_env_checker=True)
    finally:
        gym.registry.pop("CallingWrapped-v0")


WAYS: dict[str, Callable[[str], Any]] = {
    "registered": by_registration,
    "in a spec": by_spec,
    "YAML": lambda name: wrap(make_calling(), yaml.safe_load(YAML[name])),
    "in SyncVectorEnv": lambda name: SyncVectorEnv([lambda: put(name, make_calling())] * 2),
    "in AsyncVectorEnv": lambda name: AsyncVectorEnv([lambda: put(name, make_calling())] * 2),
    "around SyncVectorEnv": lambda name: put(name, SyncVectorEnv([make_calling] * 2), vector),
    "around AsyncVectorEnv": lambda name: put(name, AsyncVectorEnv([make_calling] * 2), vector),
    "YAML around a vector": lambda name: wrap(SyncVectorEnv([make_calling] * 2), yaml.safe_load(YAML[name])),
}


@pytest.mark.parametrize("name", EACH)
def test_alone(name):
    paid = play(put(name, make_calling()))
    if name == "CuriosityReward":
        assert paid[0] > 0 and paid[1] > 0 and 1 < paid[2] < 1.1
    else:
        assert paid == pytest.approx(PAID[name])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EACH)
def test_every_way_to_put_it_on_pays_the_same(name, way):
    alone = play(put(name, make_calling()))
    assert play(WAYS[way](name)) == pytest.approx(alone, rel=1e-6)
    if name == "RecordTrajectory":
        episodes = list(read_trajectories("recordings"))
        assert len(episodes) == (3 if "ector" in way else 2)
        assert {episode.total_reward for episode in episodes} == {1.0}


def allowed(order) -> bool:
    """Whether wrappers, the innermost first, make sense in this order."""
    top = order.index("RewardOrchestrator")
    return all(order.index(term) < top for term in TERMS) and order.index("RecordTrajectory") in (0, 4)


@pytest.mark.parametrize("home", [wrappers, vector], ids=["one env", "vector"])
def test_all_orders_of_all_five(home):
    totals = set()
    for order in itertools.permutations(EACH):
        env: Any = CallingEnv() if home is wrappers else SyncVectorEnv([CallingEnv])
        if allowed(order):
            for name in order:
                env = put(name, env, home)
            totals.add(tuple(play(env)))
        else:
            with pytest.raises(WrapperOrderError) as caught:
                for name in order:
                    env = put(name, env, home)
            assert str(caught.value).endswith(f"The right order is {RIGHT_ORDER}")
    assert len(totals) == 1  # the same bits in all twelve


def test_the_order_that_errors_name_is_right():
    inner, env = RIGHT_ORDER.removesuffix("env" + ")" * 5).split("(")[:5], make_calling()
    assert sorted(inner) == sorted(EACH)
    for name in reversed(inner):
        env = put(name, env)
    assert play(env)[:2] == [0.0, 0.0]


def test_other_wrappers_may_be_in_between():
    env = gym.wrappers.TransformReward(put("ToolPenalty", make_calling()), lambda reward: 10 * reward)
    env = put("CoherenceReward", gym.wrappers.OrderEnforcing(env))
    assert play(env) == pytest.approx([0.0, -0.08, 10 - 0.05 * 0.05])


def test_all_five_by_yaml():
    values = yaml.safe_load("{curiosity: {}, coherence: {}, penalty: {}, record: {folder: recordings}}")
    paid = play(wrap(make_calling(), values))
    (episode,) = read_trajectories("recordings")
    assert [step.reward for step in episode.steps] == paid
    assert [one["name"] for one in episode.env["wrappers"]] == [*TERMS, "RewardOrchestrator"]
    assert set(episode.steps[-1].info["reward_parts"]) == {"task", "curiosity", "coherence", "penalty"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("recordings", "record takes a mapping"),
        ({"images": True}, "record takes a mapping such as {folder: recordings}"),
        ({"folder": "x", "image": True}, "record has no setting 'image'. Did you mean 'images'?"),
        ({"folder": "x", "every": 0}, "RecordTrajectory: every must be an integer of at least 1, got 0"),
    ],
    ids=str,
)
def test_bad_settings_of_a_recorder_in_yaml(given, message):
    for env in (make_calling(), SyncVectorEnv([make_calling])):
        with pytest.raises(ConfigError) as caught:
            wrap(env, {"record": given})
        assert message in str(caught.value)
