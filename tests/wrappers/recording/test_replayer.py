"""A replay finds every difference and says where; a start that cannot be repeated is told."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from recorded_envs import WalkEnv, edit, record

from pixelis.errors import RecordingError
from pixelis.wrappers.recording.files import read_trajectories
from pixelis.wrappers.recording.record import RecordTrajectory
from pixelis.wrappers.recording.replay import Replayer, rewards_compared, version_changes


def check(episode, **keywords):
    with Replayer(**keywords) as replayer:
        return replayer.check(episode)


def first_step(change):
    return lambda row: change(row["steps"][0])


# The Echo env with two turns, seed 3, an action that is wrong each time.
TAMPERED = {
    "observation": (
        first_step(lambda step: step["observation"].update(text="x" * 200)),
        ("observation.text", "'" + "x" * 60 + "…'"),
    ),
    "reset": (lambda row: row["reset"]["observation"].update(text="zz"), ("observation.text", "'zz'")),
    "reward": (first_step(lambda step: step.update(reward=0.1)), ("reward", "0.1")),
    "type": (first_step(lambda step: step.update(reward=0)), ("reward", "0")),
    "terminated": (first_step(lambda step: step.update(terminated=True)), ("terminated", "true")),
    "truncated": (first_step(lambda step: step.update(truncated=True)), ("truncated", "true")),
    "call": (
        first_step(lambda step: step["info"]["tool_calls"][0].update(ok=True)),
        ("info.tool_calls[0].ok", "true"),
    ),
    "calls": (
        first_step(lambda step: step["info"].update(tool_calls=[])),
        ("info.tool_calls", "[]"),
    ),
    "more": (first_step(lambda step: step["info"].update(success=True)), ("info.success", "true")),
    "less": (first_step(lambda step: step["info"].pop("reward_terms")), ("info.reward_terms", "nothing")),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_differs_is_found_and_named(tmp_path, name):
    change, (path, expected) = TAMPERED[name]
    record(tmp_path, starts=[(3, None)], turns=2)
    (episode,) = edit(tmp_path, change)
    difference = check(episode)
    assert (difference.episode, difference.field, difference.expected) == (0, path, expected)
    assert difference.step == (0 if name == "reset" else 1)
    assert str(difference).startswith(f"episode 0, step {difference.step}, {path}: expected {expected}, got ")


def test_other_actions_seeds_and_keywords_are_differences(tmp_path):
    (episode,) = record(tmp_path, "CartPole-v1", [(1, None)])
    last = len(episode.steps)
    (other,) = edit(tmp_path, lambda row: row["steps"][-2].update(action=1 - row["steps"][-2]["action"]))
    assert check(other).step == last - 1
    (other,) = edit(tmp_path, lambda row: row["reset"].update(seed=2))
    found = check(other)
    assert (found.step, found.field) == (0, "observation") and found.expected != found.got
    (episode,) = record(tmp_path / "walk", "Recorded/Walk-v0")
    assert check(episode, make=lambda description: WalkEnv(pay=0.75)).field == "reward"
    assert check(episode, make=lambda description: gym.make("Recorded/Walk-v0")) is None


def test_randomness_that_no_seed_decides_is_found(tmp_path):
    (episode,) = record(tmp_path, "Recorded/Walk-v0", secret=True)
    assert (check(episode).step, check(episode).field) == (1, "observation")


def test_another_picture_is_told_by_its_hash(tmp_path):
    record(tmp_path, "Toy/Picture-v0")
    change = first_step(lambda step: step["observation"]["image"]["$image"].update(sha256="0" * 64))
    (episode,) = edit(tmp_path, change)
    found = check(episode)
    assert found.field == "observation.image"
    assert found.expected == "image [32, 32, 3] with SHA-256 000000000000…"


def test_long_texts_are_shown_where_they_part(tmp_path):
    (episode,) = record(tmp_path, "Pixelis/ZoomRead-v0", steps=1)
    text = episode.start.row["observation"]["text"]
    changed = text[:50] + "#" + text[51:]
    (episode,) = edit(tmp_path, lambda row: row["reset"]["observation"].update(text=changed))
    found = check(episode)
    assert found.expected == repr("…" + changed[20:80] + "…") and found.got == repr("…" + text[20:80] + "…")


def test_what_was_not_written_out_is_never_taken_for_the_same(tmp_path):
    record(tmp_path)
    change = first_step(lambda step: step["info"].update(reward_terms={"$tuple": [{"$opaque": "a.B"}]}))
    (episode,) = edit(tmp_path, change)
    assert "a.B, which was not written out" in check(episode).expected


def test_an_env_that_raises_is_a_difference(tmp_path):
    record(tmp_path, "CartPole-v1", [(1, None)])
    (episode,) = edit(tmp_path, first_step(lambda step: step.update(action=9)))
    found = check(episode)
    assert (found.step, found.field, found.expected) == (1, "step()", "a result")
    assert found.got.startswith("AssertionError: 9")
    (episode,) = edit(tmp_path, lambda row: row["reset"].update(options={"low": "x"}))
    assert check(episode).field == "reset()"


STARTS = {
    "none": ({"seed": None}, "had no seed, and its env's random state could not be read"),
    "generator": ({"seed": None, "rng": {"bit_generator": "os"}}, "random state is damaged"),
    "state": ({"seed": None, "rng": {"bit_generator": "PCG64", "state": 5}}, "random state is damaged"),
    "follows": ({"seed": None, "follows": 4}, "can only be replayed after episode 4"),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_cannot_be_repeated(tmp_path, name):
    start, message = STARTS[name]
    record(tmp_path)
    (episode,) = edit(tmp_path, lambda row: row["reset"].update(start))
    with pytest.raises(RecordingError, match=r"line 1 \(episode 0\)") as caught:
        check(episode)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_the_state_of_any_generator_is_repeated(tmp_path, name):
    env = RecordTrajectory(gym.make("Recorded/Walk-v0"), tmp_path)
    env.unwrapped.np_random = np.random.Generator(getattr(np.random, name)(5))
    env.reset()
    env.step(np.zeros(1, np.float32))
    env.close()
    (episode,) = read_trajectories(tmp_path)
    assert episode.start.rng["bit_generator"] == name
    assert check(episode) is None


def test_versions_that_changed_are_told(tmp_path):
    (episode,) = record(tmp_path)
    assert version_changes(episode) == "" and rewards_compared(episode)
    (episode,) = edit(tmp_path, lambda row: row["versions"].update(numpy="1.0"))
    assert version_changes(episode) == f"numpy 1.0 → {np.__version__}"
