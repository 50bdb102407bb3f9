"""``RecordTrajectory``: what a line holds, on which envs, in which stacks."""

from __future__ import annotations

import copy
import json
import pickle
import platform

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image
from recorded_envs import play, record

import pixelis
from pixelis.errors import ConfigError
from pixelis.wrappers.recording.files import read_trajectories, recording_files
from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.record import RecordTrajectory
from pixelis.wrappers.recording.replay import Replayer
from pixelis.wrappers.recording.values import digest

STARTS = [(5, None), (None, None), (None, None), (9, None), (None, None)]


def test_a_line_by_hand(tmp_path):
    env = RecordTrajectory(gym.make("Toy/Echo-v0", turns=2), tmp_path)
    letters = [env.reset(seed=3)[0]["text"]]
    letters.append(env.step(letters[0] + "\ud800ß\n")[0]["text"])
    letters.append(env.step("wrong")[0]["text"])
    env.close()
    (path,) = recording_files(tmp_path)
    row = json.loads(path.read_bytes())
    assert row.pop("recorder") in path.name
    assert row == {
        "format": "pixelis-trajectory",
        "version": 1,
        "versions": {
            "pixelis": pixelis.__version__,
            "gymnasium": gym.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "env": {
            "id": "Toy/Echo-v0",
            "kwargs": {"turns": 2},
            "max_episode_steps": None,
            "wrappers": [],
            "obstacle": None,
            "traits": {"task_gap": None, "success_line": None, "tools": None, "frame_tools": []},
        },
        "episode": 0,
        "lane": 0,
        "length": 2,
        "return": 1.0,
        "finished": True,
        "reset": {
            "seed": 3,
            "options": None,
            "rng": None,
            "follows": None,
            "observation": {"text": letters[0]},
            "info": {"view_changed": False},
        },
        "steps": [
            {
                "action": letters[0] + "\ud800ß\n",
                "observation": {"text": letters[1]},
                "reward": 1.0,
                "terminated": False,
                "truncated": False,
                "info": {"reward_terms": {"echo": 1.0}, "tool_calls": [{"tool": "SAY", "ok": True}]},
            },
            {
                "action": "wrong",
                "observation": {"text": letters[2]},
                "reward": 0.0,
                "terminated": True,
                "truncated": False,
                "info": {
                    "reward_terms": {"echo": 0.0},
                    "tool_calls": [{"tool": "SAY", "ok": False}],
                    "success": False,
                },
            },
        ],
    }


ENVS = {
    "Toy/Echo-v0": {"turns": 3},
    "Toy/Album-v0": {},
    "CartPole-v1": {},
    "FrozenLake-v1": {},
    "Recorded/Walk-v0": {},
    "Recorded/Map-v0": {},
    "Pixelis/ZoomRead-v0": {"max_turns": 2},
}


@pytest.mark.parametrize("env_id", ENVS)
def test_every_episode_replays_and_recording_changes_nothing(tmp_path, env_id):
    bare = play(gym.make(env_id, **ENVS[env_id]), STARTS)
    seen = play(RecordTrajectory(gym.make(env_id, **ENVS[env_id]), tmp_path), STARTS)
    np.testing.assert_equal(seen, bare)
    episodes = list(read_trajectories(tmp_path))
    assert [episode.start.seed for episode in episodes] == [seed for seed, _ in STARTS]
    assert all((episode.start.rng is None) == (episode.start.seed is not None) for episode in episodes)
    assert all(episode.finished and episode.steps for episode in episodes)
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * len(STARTS)
    with Replayer() as replayer:  # and each alone, whatever came before it
        assert [replayer.check(episode) for episode in reversed(episodes)] == [None] * len(STARTS)


def test_reset_options_are_recorded_before_the_env_can_change_them(tmp_path):
    episodes = record(tmp_path, "Recorded/Walk-v0", [(1, {"at": [1.5]}), (None, {"at": [-1.5]})])
    assert [episode.start.options for episode in episodes] == [{"at": [1.5]}, {"at": [-1.5]}]
    actions = [step.action["$array"]["data"][0] for episode in episodes for step in episode.steps]
    assert 0 not in actions  # the env zeroes the array
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None, None]


def test_the_task_stands_once_and_calls_with_their_data(tmp_path):
    env = RecordTrajectory(gym.make("Pixelis/ZoomRead-v0"), tmp_path)
    policy = env.unwrapped.players()["oracle"](env.unwrapped)
    observation, info = env.reset(seed=1)
    result = env.step(policy.act(observation, info))
    result = env.step(policy.act(result[0], result[4]))
    env.close()
    (episode,) = read_trajectories(tmp_path)
    assert episode.start.row["info"]["task"] == info["task"]
    assert not any("task" in step.info for step in episode.steps)
    assert [call["tool"] for call in episode.steps[0].info["tool_calls"]] == ["ZOOM", "READ_TEXT"]
    assert episode.success is True and episode.total_reward == 1.0
    assert episode.steps[-1].info["reward_terms"] == {"task": 1.0}


def test_an_episode_that_is_cut_off_is_unfinished_and_one_without_a_step_left_out(tmp_path):
    env = RecordTrajectory(gym.make("CartPole-v1"), tmp_path)
    env.reset(seed=0)
    env.reset(seed=1)
    env.step(0)
    env.step(1)
    env.reset(seed=2)
    env.step(0)
    env.close()
    env.close()
    episodes = list(read_trajectories(tmp_path))
    told = [(e.episode, e.start.seed, len(e.steps), e.finished) for e in episodes]
    assert told == [(1, 1, 2, False), (2, 2, 1, False)]
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None, None]


def test_an_env_that_raises_leaves_the_steps_before_it(tmp_path):
    env = RecordTrajectory(gym.make("CartPole-v1"), tmp_path)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(AssertionError, match="invalid"):
        env.step(7)
    env.step(1)
    env.close()
    (episode,) = read_trajectories(tmp_path)
    assert [step.action for step in episode.steps] == [0, 1]


def test_every_third_episode(tmp_path):
    episodes = record(tmp_path, starts=[(seed, None) for seed in range(8)], settings={"every": 3})
    assert [(episode.episode, episode.start.seed) for episode in episodes] == [(0, 0), (3, 3), (6, 6)]


def test_rewards_that_are_no_numbers_are_recorded_as_they_came(tmp_path):
    for pay in (float("nan"), float("-inf")):
        folder = tmp_path / str(pay)
        (episode,) = record(folder, "Recorded/Walk-v0", pay=pay)
        assert repr(episode.steps[0].reward) == repr(pay)
        with Replayer() as replayer:
            assert replayer.check(episode) is None


# ---------------------------------------------------------------------- pictures


def test_pictures_are_stored_once_and_come_back_bit_for_bit(tmp_path):
    env = RecordTrajectory(gym.make("Toy/Picture-v0"), tmp_path, images=True)
    shown = []
    for _ in range(2):  # the same three pictures twice
        shown.append(env.reset(seed=4)[0]["image"])
        shown.extend(env.step("x")[0]["image"] for _ in range(2))
    env.close()
    names = {f"{digest(picture)}.png" for picture in shown}
    assert {path.name for path in (tmp_path / "images").iterdir()} == names and len(names) == 3
    episode = next(read_trajectories(tmp_path))
    about = episode.start.row["observation"]["image"]["$image"]
    assert about == {"sha256": digest(shown[0]), "dtype": "|u1", "shape": [32, 32, 3]}
    assert np.array_equal(ImageFolder(tmp_path / "images").load(about), shown[0])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_pictures_of_any_number_of_channels(tmp_path, channels):
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, channels), np.uint8)
    folder = ImageFolder(tmp_path)
    folder.save(digest(picture), picture)
    about = {"sha256": digest(picture), "shape": [5, 7, channels]}
    assert np.array_equal(folder.load(about), picture) and digest(picture) in folder


def test_without_images_there_is_no_folder(tmp_path):
    record(tmp_path, "Toy/Picture-v0")
    assert not (tmp_path / "images").exists()


# ---------------------------------------------------------------------- stacks, specs, vectors


def test_in_a_spec_through_pickle_json_and_make(tmp_path):
    spec = copy.deepcopy(gym.spec("Toy/Echo-v0"))
    spec.additional_wrappers = (RecordTrajectory.wrapper_spec(folder=str(tmp_path), every=2),)
    env = gym.make(pickle.loads(pickle.dumps(spec)), turns=2)
    again = gym.make(env.spec)
    assert isinstance(again, RecordTrajectory) and again.spec == env.spec
    play(env, [(1, None), (2, None), (3, None)])
    play(again, [(4, None)])
    assert sorted(episode.start.seed for episode in read_trajectories(tmp_path)) == [1, 3, 4]
    cart = gym.make(gym.spec("CartPole-v1"))
    written = RecordTrajectory(cart, tmp_path).spec.to_json()
    assert isinstance(gym.make(gym.envs.registration.EnvSpec.from_json(written)), RecordTrajectory)


def test_a_replay_does_not_record_again(tmp_path):
    inner = RecordTrajectory(gym.make("Toy/Echo-v0"), tmp_path / "inner")
    play(RecordTrajectory(inner, tmp_path / "outer"), [(1, None)])
    (episode,) = read_trajectories(tmp_path / "outer")
    with Replayer() as replayer:
        assert replayer.check(episode) is None
    assert len(recording_files(tmp_path / "inner")) == 1


def test_wrappers_below_are_recorded_and_replayed(tmp_path):
    env = gym.wrappers.ClipReward(gym.make("CartPole-v1", max_episode_steps=4), max_reward=0.25)
    play(RecordTrajectory(env, tmp_path), [(1, None), (None, None)])
    episodes = list(read_trajectories(tmp_path))
    assert episodes[0].env["wrappers"][0]["kwargs"] == {"min_reward": None, "max_reward": 0.25}
    assert episodes[0].env["max_episode_steps"] == 4 and episodes[0].total_reward == 1.0
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None, None]


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version.*")
@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "Toy/Echo-v0", "Pixelis/ZoomRead-v0"])
def test_gymnasiums_checker_finds_nothing(tmp_path, env_id):
    env = RecordTrajectory(gym.make(env_id, disable_env_checker=True), tmp_path, images=True)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("autoreset", ["NextStep", "SameStep"])
def test_a_recorder_on_each_env_of_a_vector(tmp_path, mode, autoreset):
    def make():
        return RecordTrajectory(gym.make("Toy/Echo-v0", turns=2), tmp_path)

    kind = {"sync": gym.vector.SyncVectorEnv, "async": gym.vector.AsyncVectorEnv}[mode]
    envs = kind([make] * 3, autoreset_mode=autoreset)
    envs.reset(seed=10)
    for _ in range(7):
        envs.step(("a", "b", "c"))
    envs.close()
    episodes = list(read_trajectories(tmp_path))
    assert len({episode.path for episode in episodes}) == 3
    finished = 3 * (3 if autoreset == "SameStep" else 2)
    assert sum(episode.finished for episode in episodes) == finished and len(episodes) == finished + 3
    with Replayer() as replayer:
        assert [replayer.check(episode) for episode in episodes] == [None] * len(episodes)


@pytest.mark.parametrize(
    "settings",
    [
        {"every": 0},
        {"every": True},
        {"every": 1.5},
        {"images": "yes"},
        {"max_bytes": 0},
        {"folder": ""},
        {"folder": 3},
    ],
    ids=str,
)
def test_settings_are_checked(tmp_path, settings):
    with pytest.raises(ConfigError, match=f"RecordTrajectory: {next(iter(settings))} must be"):
        RecordTrajectory(gym.make("CartPole-v1"), **{"folder": tmp_path, **settings})


def test_a_damaged_or_missing_picture_is_told(tmp_path):
    (episode,) = record(tmp_path, "Toy/Picture-v0", settings={"images": True})
    about = episode.start.row["observation"]["image"]["$image"]
    folder = ImageFolder(tmp_path / "images")
    path = folder.path / f"{about['sha256']}.png"
    Image.new("RGB", (32, 32)).save(path)
    with pytest.raises(pixelis.errors.RecordingError, match="is not what its name says"):
        folder.load(about)
    path.write_bytes(b"no picture")
    with pytest.raises(pixelis.errors.RecordingError, match="is damaged"):
        folder.load(about)
    path.unlink()
    with pytest.raises(pixelis.errors.RecordingError, match="there is no picture"):
        folder.load(about)
    with pytest.raises(pixelis.errors.RecordingError, match="64 hex digits"):
        folder.load({**about, "sha256": "../../secret"})
