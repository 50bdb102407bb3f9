"""Every registered environment alike: the render modes it names work, all others are refused clearly."""

from __future__ import annotations

import importlib
import os

import cv2
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo

import pixelis  # noqa: F401
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS
from pixelis.errors import ConfigError

NEEDED = {
    "Pixelis/WebPage-v0": {"url": "https://example.org/"},
    "Pixelis/MiniWoB-v0": {"task": "click-dialog"},
}
OF_TEXT = ["Pixelis/CodeProblem-v0", "Pixelis/TweetReply-v0", "Pixelis/WebBrowse-v0"]
OF_PIXELS = [entry.id for entry in ENVIRONMENTS if ".pixel." in entry.entry_point]


def env_class(env_id):
    (entry,) = [entry for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS) if entry.id == env_id]
    module, _, name = entry.entry_point.partition(":")
    return getattr(importlib.import_module(module), name)


WRONG = ["rgb-array", "ANSI", "", "rgb_array_list", "x" * 100_000, 3, ["ansi"], True]


@pytest.mark.parametrize("mode", WRONG, ids=lambda mode: repr(mode)[:20])
@pytest.mark.parametrize("env_id", [entry.id for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS)])
def test_modes_that_are_not_there_are_refused_alike(env_id, mode):
    make = env_class(env_id)
    with pytest.raises(ConfigError, match=r"^render_mode must be one of .* or None, got ") as caught:
        make(**NEEDED.get(env_id, {}), render_mode=mode)
    assert repr(mode)[:40] in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("env_id", "mode"), [(one, "human") for one in OF_TEXT] + [(one, "ansi") for one in OF_PIXELS]
)
def test_modes_of_other_environments_are_refused_with_those_there_are(env_id, mode):
    make = env_class(env_id)
    with pytest.raises(ConfigError, match=f"^render_mode must be one of .*, got '{mode}'$") as caught:
        make(render_mode=mode)
    known = make().metadata["render_modes"]
    assert str(known) in str(caught.value) and mode not in known


@pytest.mark.parametrize("env_id", OF_TEXT)
def test_the_transcript_of_an_environment_of_text(env_id):
    env = gym.make(env_id, render_mode="ansi")
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    observation, _ = env.reset(seed=3)
    assert env.render() == observation["text"] + "\n"
    told = [observation["text"]]
    said = ["one\ntwo", "\x1b[2Jthree\u202e", "<answer>done</answer>"]
    for action in said:
        observation, reward, terminated, truncated, info = env.step(action)
        told.append(observation["text"])
        if terminated or truncated:
            break
    shown = env.render()
    assert shown.startswith(told[0] + "\n> one\n> two\n" + told[1] + "\n> \ufffd[2Jthree\ufffd\n")
    assert all(text in shown for text in told)
    ending = f"reward {reward:g}, success {info['success']}]\n"
    assert shown.endswith(("[ended: " if terminated else "[out of turns: ") + ending)
    env.reset(seed=4)
    assert "three" not in env.render()
    env.close()


@pytest.mark.parametrize("env_id", [entry.id for entry in ENVIRONMENTS])
def test_without_a_mode_nothing_is_rendered(env_id):
    env = env_class(env_id)()
    assert env.render() is None
    env.reset(seed=0)
    assert env.render() is None
    env.close()


@pytest.mark.parametrize("env_id", OF_PIXELS)
def test_a_video_is_recorded_and_read_back(env_id, tmp_path):
    env = gym.make(env_id, render_mode="rgb_array", reader="truth")
    env = RecordVideo(env, str(tmp_path / "video"), episode_trigger=lambda number: True)
    frames = []
    env.reset(seed=3)
    frames.append(env.render())
    for action in ("I look.", "<answer>3</answer>"):
        env.step(action)
        frames.append(env.render())
    env.close()
    (path,) = (tmp_path / "video").iterdir()
    video = cv2.VideoCapture(os.fspath(path))
    read = []
    while (found := video.read())[0]:
        read.append(cv2.cvtColor(found[1], cv2.COLOR_BGR2RGB))
    assert path.suffix == ".mp4" and video.get(cv2.CAP_PROP_FPS) == 2
    assert [one.shape for one in read] == [one.shape for one in frames]
    for one, frame in zip(read, frames, strict=True):
        assert np.abs(one.astype(int) - frame.astype(int)).mean() < 6  # H.264 loses a little
