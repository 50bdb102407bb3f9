"""Rescoring pays, bit for bit, what wrappers of the same rewards pay a live env for the same episodes."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import yaml
from recorded_envs import play

from pixelis.cli import replay
from pixelis.rewards.stack.stack import build_stack
from pixelis.wrappers import RecordTrajectory, RewardOrchestrator, read_trajectories, rescore, wrap
from pixelis.wrappers.scoring.order import layers
from pixelis.wrappers.scoring.scoring import LEARN_EVERY, as_text

ALL = {"curiosity": {"fresh_size": 4}, "coherence": {"encoder": "hashed"}, "penalty": {}}
REWARDS = {
    "orchestrated": {**ALL, "warmup": 2},
    "each alone": {**ALL, "orchestrate": False},
    "z-scored task": {"penalty": {"weight": 0.5}, "warmup": 1, "normalise_task": True},
    "task only": {},
}
POLICIES = ("random", "oracle", "nothing", "random", "oracle", "random")


def play_zoom_read(env):
    """Return the rewards of an episode by each of ``POLICIES``; the second is cut off."""
    paid = []
    for seed, name in enumerate(POLICIES):
        policy = env.unwrapped.players()[name](env.unwrapped)
        observation, info = env.reset(seed=seed)
        paid.append([])
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            paid[-1].append(reward)
            over = terminated or truncated or seed == 1
    env.close()
    return paid


def make_zoom_read():
    return gym.make("Pixelis/ZoomRead-v0", reader="truth", max_turns=3, disable_env_checker=True)


def rescored(folder, values):
    return [list(row.new_rewards) for row in rescore(read_trajectories(folder), build_stack(values))]


@pytest.mark.parametrize("rewards", REWARDS)
def test_zoom_read_with_the_recorder_inside_and_outside(tmp_path, rewards):
    values = REWARDS[rewards]
    live = play_zoom_read(wrap(RecordTrajectory(make_zoom_read(), tmp_path / "inside", images=True), values))
    assert sum(map(len, live)) > len(live) and len({reward for paid in live for reward in paid}) > 1
    assert rescored(tmp_path / "inside", values) == live
    again = play_zoom_read(
        wrap(make_zoom_read(), {**values, "record": {"folder": str(tmp_path / "outside")}})
    )
    assert again == live
    outside = list(read_trajectories(tmp_path / "outside"))
    assert [[step.reward for step in episode.steps] for episode in outside] == live
    assert rescored(tmp_path / "outside", values) == live
    tasks = [row.terms["task"] for row in rescore(outside, build_stack({}))]
    bare = RecordTrajectory(make_zoom_read(), tmp_path / "bare")
    assert tasks == [sum(paid) for paid in play_zoom_read(bare)] and tasks[4] == 1.0


def test_a_recording_under_other_rewards_is_paid_what_those_pay(tmp_path):
    shaped = wrap(make_zoom_read(), {**REWARDS["orchestrated"], "record": {"folder": str(tmp_path)}})
    play_zoom_read(shaped)
    for name in ("each alone", "z-scored task"):
        assert rescored(tmp_path, REWARDS[name]) == play_zoom_read(wrap(make_zoom_read(), REWARDS[name]))


def test_through_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = REWARDS["orchestrated"]
    live = play_zoom_read(wrap(RecordTrajectory(make_zoom_read(), "taken"), values))
    Path("rewards.yaml").write_text(yaml.safe_dump(values))
    assert replay.main(["taken", "--rescore", "rewards.yaml", "--output", "new.json"]) == 0
    table = json.loads(Path("new.json").read_text())
    assert [row["new_rewards"] for row in table["episodes"]] == live
    assert {row["images_from"] for row in table["episodes"]} == {"env"}  # curiosity looks at pictures


def balance(env):
    """Return the rewards of two long episodes of CartPole, in which terms learn before the end."""
    paid = []
    for seed in (0, 1):
        observation, _ = env.reset(seed=seed)
        paid.append([])
        over = False
        while not over:
            action = np.int64(observation[2] + 0.2 * observation[3] > 0)
            observation, reward, terminated, truncated, _ = env.step(action)
            paid[-1].append(reward)
            over = terminated or truncated
    return paid


@pytest.mark.parametrize("orchestrate", [True, False])
def test_episodes_longer_than_a_lesson_and_an_env_without_words(tmp_path, orchestrate):
    values = {"curiosity": {"updates_per_batch": 2, "max_updates": 2}, "orchestrate": orchestrate}
    if orchestrate:
        values |= {"task_gap": 1.0, "limit": 1000.0}
    make = gym.make("CartPole-v1", max_episode_steps=LEARN_EVERY + 20)
    live = balance(wrap(RecordTrajectory(make, tmp_path), values))
    assert [len(paid) for paid in live] == [LEARN_EVERY + 20] * 2
    assert rescored(tmp_path, values) == live


def test_an_env_that_overwrites_its_action(tmp_path):
    values = {"curiosity": {"fresh_size": 1}, "orchestrate": False}
    env = wrap(RecordTrajectory(gym.make("Recorded/Walk-v0"), tmp_path), values)
    seen = play(env, [(1, None), (2, None), (None, None)])
    live = [item[1] for item in seen if isinstance(item, tuple)]
    assert [reward for paid in rescored(tmp_path, values) for reward in paid] == live
    assert len(set(live)) == len(live)


def test_actions_as_text_are_the_same_before_and_after_a_recording():
    assert as_text("ZOOM") == "ZOOM"
    assert as_text(np.int64(3)) == "3" and as_text(np.float32(0.1)) == str(float(np.float32(0.1)))
    assert as_text({"at": np.int64(1), "to": (np.bool_(True), [np.float64(0.5)])}) == (
        "{'at': 1, 'to': (True, [0.5])}"
    )
    assert as_text(np.array([1.0, 2.0], np.float32)) == "[1.0, 2.0]"
    many = np.zeros(2000)
    other = many.copy()
    other[1000] = 5  # NumPy's own text has three numbers of either end
    assert as_text(many) != as_text(other)


# ---------------------------------------------------------------------- the task's reward, wherever


@pytest.mark.parametrize(
    "build",
    [
        lambda env: env,
        lambda env: RewardOrchestrator(env, task_gap=1.0),
        lambda env: wrap(env, {"penalty": {}, "orchestrate": False}),
        lambda env: wrap(env, {"penalty": {}, "coherence": {}, "task_gap": 1.0}),
        lambda env: gym.wrappers.ClipReward(wrap(env, {"penalty": {}, "task_gap": 1.0}), max_reward=0.25),
        lambda env: gym.wrappers.TransformReward(env, float),
    ],
    ids=["bare", "orchestrator", "penalty", "both", "clipped outside", "a wrapper of Gymnasium"],
)
def test_the_recorded_task_reward_is_the_envs_own(tmp_path, build):
    env = RecordTrajectory(build(gym.make("Toy/Echo-v0", turns=3)), tmp_path)
    letter, own = env.reset(seed=3)[0]["text"], []
    for right in (True, False, True):
        letter = env.step(letter if right else "no")[0]["text"]
        own.append(float(right))
    env.close()
    (episode,) = read_trajectories(tmp_path)
    (row,) = rescore([episode], build_stack({"orchestrate": False}))
    assert list(row.new_rewards) == own and row.terms["task"] == 2.0
    ours = [layer for layer in layers(env) if getattr(layer, "reward_role", "recorder") != "recorder"]
    assert all(("reward_task" in step.info) == bool(ours) for step in episode.steps)


def test_the_task_reward_under_vector_wrappers(tmp_path):
    values = {"penalty": {}, "coherence": {}, "task_gap": 1.0, "record": {"folder": str(tmp_path)}}
    for mode in ("NextStep", "SameStep"):
        makers = [lambda: gym.make("Toy/Echo-v0", turns=2)] * 2
        envs = wrap(gym.vector.SyncVectorEnv(makers, autoreset_mode=mode), values)
        letters = envs.reset(seed=3)[0]["text"]
        letters = envs.step((letters[0], "no"))[0]["text"]
        envs.step((letters[0], letters[1]))
        envs.close()
    episodes = [episode for episode in read_trajectories(tmp_path) if episode.finished]
    tasks = [row.terms["task"] for row in rescore(episodes, build_stack({"task_gap": 1.0}))]
    assert [(e.lane, task) for e, task in zip(episodes, tasks, strict=True)] == [(0, 2.0), (1, 1.0)] * 2
