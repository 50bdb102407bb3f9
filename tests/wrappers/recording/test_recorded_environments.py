"""How a recorded env was made, and what a recording may not make."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import recorded_envs  # noqa: F401
from gymnasium.vector import SyncVectorEnv
from recorded_envs import WalkEnv

from pixelis.errors import RecordingError, UnknownEnvError
from pixelis.wrappers.recording.environments import describe_lanes, describe_spec, make_env

PLAIN = {"id": "CartPole-v1", "kwargs": {}, "max_episode_steps": 500, "wrappers": [], "obstacle": None}


class Unrecorded(gym.Wrapper):
    """A wrapper that does not tell its arguments."""


def test_the_same_env_is_made_again():
    env = gym.wrappers.ClipReward(gym.make("Recorded/Walk-v0", pay=2.0, max_episode_steps=5), max_reward=1)
    again = make_env(describe_spec(env.spec))
    assert again.unwrapped.pay == 2.0 and again.spec.max_episode_steps == 5
    assert [type(one) for one in (again, again.env)] == [type(one) for one in (env, env.env)]


def test_a_time_limit_that_was_taken_off_stays_off():
    description = describe_spec(gym.make("CartPole-v1", max_episode_steps=-1).spec)
    assert description["max_episode_steps"] is None
    assert make_env(description).spec.max_episode_steps is None


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (WalkEnv(), "was made without gymnasium.make"),
        (Unrecorded(gym.make("CartPole-v1")), "its wrapper Unrecorded is not a RecordConstructorArgs"),
        (
            gym.wrappers.TransformReward(gym.make("CartPole-v1"), abs),
            "TransformReward hold a builtins.builtin",
        ),
        (gym.make("Recorded/Walk-v0", pay=object()), "its keywords hold a builtins.object"),
    ],
    ids=["no spec", "unknown arguments", "function", "object"],
)
def test_an_env_that_cannot_be_made_again_says_why(env, why):
    description = describe_spec(env.spec)
    assert why in description["obstacle"]
    with pytest.raises(RecordingError, match="give Replayer a function that makes it") as caught:
        make_env(description)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "entry_point", ["os:system", "builtins:exec", "gymnasium:Env", "no_such_module:X", "x"]
)
def test_what_is_no_wrapper_is_not_called(entry_point):
    wrapper = {"name": "W", "entry_point": entry_point, "kwargs": {"command": "false"}}
    with pytest.raises(RecordingError, match=r"is no Gymnasium wrapper|cannot be imported"):
        make_env({**PLAIN, "wrappers": [wrapper]})


def test_an_unknown_id_and_the_module_that_registers_it():
    with pytest.raises(UnknownEnvError, match="give --env module:Nowhere/Env-v0"):
        make_env({**PLAIN, "id": "Nowhere/Env-v0"})
    env = make_env(
        {**PLAIN, "id": "Nowhere/Env-v0", "max_episode_steps": 9}, "recorded_envs:Recorded/Walk-v0"
    )
    assert isinstance(env.unwrapped, WalkEnv) and env.spec.max_episode_steps == 9
    with pytest.raises(RecordingError, match="cannot make env 'CartPole-v1' as it was recorded"):
        make_env({**PLAIN, "kwargs": {"wheels": 3}})


def test_a_replay_opens_no_window():
    description = describe_spec(gym.make("Pixelis/ZoomRead-v0", render_mode="rgb_array").spec)
    assert make_env(description).render_mode == "rgb_array"
    assert make_env({**description, "kwargs": {"render_mode": "human"}}).render_mode is None


def test_the_envs_of_vectors():
    by_hand = SyncVectorEnv([lambda n=n: gym.make("Recorded/Walk-v0", pay=n) for n in (1.0, 2.0)])
    lanes = describe_lanes(by_hand)
    assert [one["kwargs"] for one in lanes] == [{"pay": 1.0}, {"pay": 2.0}]
    assert lanes[0]["vector"] == {"autoreset": "NextStep", "wrappers": []}
    for mode in ("sync", "async"):
        made = gym.make_vec("Recorded/Walk-v0", 2, vectorization_mode=mode, pay=3.0)
        counted = gym.wrappers.vector.RecordEpisodeStatistics(made)
        lanes = describe_lanes(counted)
        assert lanes[1] == {
            "id": "Recorded/Walk-v0",
            "kwargs": {"pay": 3.0},
            "max_episode_steps": 12,
            "wrappers": [],
            "obstacle": None,
            "vector": {"autoreset": "NextStep", "wrappers": ["RecordEpisodeStatistics"]},
        }
        made.close()
    workers = gym.vector.AsyncVectorEnv([lambda: gym.make("Recorded/Walk-v0", pay=np.float64(1))] * 2)
    assert [one["kwargs"] for one in describe_lanes(workers)] == [{"pay": 1.0}] * 2
    workers.close()


def test_a_vector_that_has_no_envs_of_its_own_and_unnamed_wrappers():
    native = gym.make_vec("CartPole-v1", 2, vectorization_mode="vector_entry_point")
    assert "no envs of its own" in describe_lanes(native)[0]["obstacle"]
    wrapped = gym.make_vec("CartPole-v1", 2, vectorization_mode="async", wrappers=[Unrecorded])
    assert "only Python can name" in describe_lanes(wrapped)[0]["obstacle"]
    wrapped.close()
