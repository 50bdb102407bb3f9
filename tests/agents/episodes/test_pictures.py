"""Pictures are kept for people where they are asked for, one for each observation."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.runs.transcripts import episode_row


class Looking(gym.Env):
    """Shows one picture and draws over it: a new view with ``zoom``, the old one else; ``break`` raises."""

    observation_space = gym.spaces.Dict(
        {"text": gym.spaces.Text(9), "image": gym.spaces.Box(0, 255, (2, 2, 3), np.uint8)}
    )
    action_space = gym.spaces.Text(9)

    def reset(self, *, seed=None, options=None):
        self.picture = np.zeros((2, 2, 3), np.uint8)
        return {"text": "look", "image": self.picture}, {}

    def step(self, action):
        if action == "break":
            raise RuntimeError("broken")
        self.picture += action == "zoom"
        return {"text": "", "image": self.picture}, 0.0, False, False, {"view_changed": action == "zoom"}


@pytest.mark.parametrize("pictures", [True, False])
def test_one_for_each_observation_where_it_is_a_new_one(pictures: bool):
    runner = EpisodeRunner(Looking(), EpisodeRequest(0, pictures=pictures))
    runner.reset()
    for action in ("zoom", "wait", "zoom", "break"):
        runner.step(action)
    shown = [None if each is None else int(each.max()) for each in runner.episode.pictures]
    assert shown == ([0, 1, None, 2, None] if pictures else [])
    assert len(runner.episode.pictures) == (len(runner.episode.exchanges) + 1) * pictures


def test_a_row_without_any_picture_says_so():
    env = gym.make("Pixelis/Rows-v0", rows=[{"prompt": "a"}], reward=lambda row, text: 1.0)
    runner = EpisodeRunner(env, EpisodeRequest(0, pictures=True))
    runner.reset()
    assert runner.episode.pictures == [None]
    assert episode_row(runner.episode)["pictures"] == []
