"""The recorder of a whole vector writes what one on each env would, in every autoreset mode."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import recorded_envs  # noqa: F401
from toy_env import LETTERS

from pixelis.errors import ConfigError, OutputError, RecordingError
from pixelis.wrappers import RecordTrajectory
from pixelis.wrappers.recording.files import read_trajectories
from pixelis.wrappers.recording.replay import Replayer, rewards_compared
from pixelis.wrappers.vector import RecordTrajectory as VectorRecordTrajectory

KINDS = {"sync": gym.vector.SyncVectorEnv, "async": gym.vector.AsyncVectorEnv}
ENVS = {
    "Toy/Echo-v0": {"turns": 3},
    "Toy/Album-v0": {},
    "CartPole-v1": {},
    "FrozenLake-v1": {},
    "Recorded/Walk-v0": {},
}


def vector(kind, env_id, autoreset="NextStep", count=3, wrap=lambda env: env, **keywords):
    makers = [lambda: wrap(gym.make(env_id, disable_env_checker=True, **keywords))] * count
    return KINDS[kind](makers, autoreset_mode=autoreset)


def walk(envs, steps=12, **reset):
    """Step with the same random actions each time; with DISABLED reset what ended; close."""
    mode = envs.metadata["autoreset_mode"]
    envs.action_space.seed(3)
    seen = [envs.reset(**reset)[0]]
    for _ in range(steps):
        *result, _ = envs.step(envs.action_space.sample())
        seen.append(result)
        over = np.logical_or(result[2], result[3])
        if mode == gym.vector.AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    envs.close()
    return seen


def comparable(episode):
    return (episode.finished, episode.start.row, [(step.action, step.row) for step in episode.steps])


@pytest.mark.parametrize("autoreset", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize(
    ("kind", "env_id"), [*(("sync", env_id) for env_id in ENVS), ("async", "Toy/Echo-v0")]
)
def test_it_replays_changes_nothing_and_equals_recorders_on_each_env(tmp_path, kind, autoreset, env_id):
    bare = walk(vector(kind, env_id, autoreset, **ENVS[env_id]), seed=5)
    envs = VectorRecordTrajectory(vector(kind, env_id, autoreset, **ENVS[env_id]), tmp_path / "vector")
    np.testing.assert_equal(walk(envs, seed=5), bare)
    single = vector(
        "sync", env_id, autoreset, wrap=lambda env: RecordTrajectory(env, tmp_path / "each"), **ENVS[env_id]
    )
    walk(single, seed=5)

    episodes = list(read_trajectories(tmp_path / "vector"))
    assert len({episode.path for episode in episodes}) == 1 and {e.lane for e in episodes} == {0, 1, 2}
    assert sum(episode.finished for episode in episodes) >= 1
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * len(episodes)
    each = list(read_trajectories(tmp_path / "each"))
    assert len(each) == len(episodes)
    if env_id != "Recorded/Walk-v0":  # a vector turns its float64 into the float32 of its space
        mine = [comparable(episode) for episode in episodes]
        assert all(comparable(episode) in mine for episode in each)


def test_resets_by_list_and_none_and_in_the_middle(tmp_path):
    envs = VectorRecordTrajectory(vector("sync", "Toy/Echo-v0", turns=3), tmp_path)
    envs.reset(seed=[7, None, 9])
    envs.step(("a", "b", "c"))
    envs.reset()
    envs.step(("a", "b", "c"))
    envs.close()
    episodes = list(read_trajectories(tmp_path))
    assert [e.start.seed for e in episodes] == [7, None, 9, None, None, None]
    assert [e.start.rng is None for e in episodes] == [True, False, True, False, False, False]
    assert not any(e.finished for e in episodes) and [e.lane for e in episodes] == [0, 1, 2] * 2
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * 6


def test_with_same_step_an_episode_needs_the_one_before_it(tmp_path):
    walk(VectorRecordTrajectory(vector("sync", "Toy/Echo-v0", "SameStep", 1), tmp_path), 3, seed=5)
    first, second, third = read_trajectories(tmp_path)
    assert [one.start.follows for one in (first, second, third)] == [None, 0, 1]
    with Replayer() as replayer, pytest.raises(RecordingError, match="only be replayed after episode 0"):
        replayer.check(second)
    with Replayer() as replayer:
        assert [replayer.check(one) for one in (first, second, third)] == [None] * 3


def test_every_and_the_mode_it_does_not_go_with(tmp_path):
    walk(VectorRecordTrajectory(vector("sync", "Toy/Echo-v0", count=2), tmp_path, every=3), 7, seed=5)
    episodes = list(read_trajectories(tmp_path))
    assert [episode.episode for episode in episodes] == [0, 3, 6]
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * 3
    with pytest.raises(ConfigError, match="every must be 1 with autoreset mode SAME_STEP, got 2"):
        VectorRecordTrajectory(vector("sync", "Toy/Echo-v0", "SameStep"), tmp_path, every=2)


class Doubled(gym.vector.VectorRewardWrapper):
    """A vector wrapper that one env alone does not have."""

    def rewards(self, reward):
        return 2 * reward


def test_rewards_that_vector_wrappers_changed_are_recorded_and_not_compared(tmp_path):
    envs = VectorRecordTrajectory(Doubled(vector("sync", "Toy/Echo-v0", count=1)), tmp_path)
    letter = envs.reset(seed=5)[0]["text"][0]
    envs.step((letter,))
    envs.close()
    (episode,) = read_trajectories(tmp_path)
    assert letter in LETTERS and episode.total_reward == 2.0
    assert episode.env["vector"]["wrappers"] == ["Doubled"] and not rewards_compared(episode)
    with Replayer() as replayer:
        assert replayer.check(episode) is None


def test_a_vector_that_is_one_env_is_recorded_and_says_that_it_cannot_be_replayed(tmp_path):
    envs = gym.make_vec("CartPole-v1", 2, vectorization_mode="vector_entry_point")
    walk(VectorRecordTrajectory(envs, tmp_path), 30, seed=5)
    episodes = list(read_trajectories(tmp_path))
    assert len(episodes) >= 2
    with Replayer() as replayer, pytest.raises(RecordingError, match="no envs of its own"):
        replayer.check(episodes[0])


def test_a_lane_that_cannot_be_written_costs_the_others_nothing(tmp_path):
    envs = VectorRecordTrajectory(vector("sync", "Toy/Picture-v0"), tmp_path, images=True)
    envs.reset(seed=0)
    (tmp_path / "images").rename(tmp_path / "aside")
    (tmp_path / "images").write_text("in the way")
    with pytest.raises(OutputError, match=r"File exists|Not a directory"):
        envs.step(("a", "b", "c"))
    (tmp_path / "images").unlink()
    (tmp_path / "aside").rename(tmp_path / "images")
    envs.step(("a", "b", "c"))  # ends the episodes, none of which is whole
    envs.step(("a", "b", "c"))  # the next ones begin
    envs.step(("a", "b", "c"))
    envs.close()
    episodes = list(read_trajectories(tmp_path))
    assert [(e.lane, len(e.steps), e.finished) for e in episodes] == [(lane, 1, False) for lane in range(3)]
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * 3
