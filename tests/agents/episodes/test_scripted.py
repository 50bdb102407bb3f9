"""Scripted players as agents."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import pytest

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import play_scripted, scripted_names
from pixelis.errors import ConfigError


def test_the_names_are_the_envs_own(letter_env: Callable[..., gym.Env], counting_env: Callable[..., gym.Env]):
    assert set(scripted_names(letter_env())) == {"nothing", "random", "oracle", "guess"}
    assert scripted_names(counting_env()) == ()


def test_a_transcript_holds_what_was_seen_and_said(letter_env: Callable[..., gym.Env]):
    transcript = play_scripted(letter_env(pictures=True), "oracle", EpisodeRequest(3, 1, 2))
    looking, answering = transcript.turns
    assert looking.text.startswith("Which letter is it?") and "LOOK" in looking.action
    letter = answering.text.removeprefix("It is ")
    assert answering.action == f"<answer>{letter}</answer>"
    assert looking.image is not None and answering.image is not None
    assert (looking.image.max(), answering.image.max()) == (0, 40)  # the picture of its own turn
    episode = transcript.episode
    assert (episode.seed, episode.group, episode.member) == (3, 1, 2)
    assert (episode.turns, episode.reward, episode.success, episode.segments) == (2, 1.0, True, [])
    assert [call["tool"] for call in episode.tool_calls] == ["LOOK"]
    assert [tool["function"]["name"] for tool in transcript.tools] == ["LOOK"]


def test_a_policy_that_says_nothing_is_truncated(letter_env: Callable[..., gym.Env]):
    episode = play_scripted(letter_env(), "nothing", EpisodeRequest(0)).episode
    assert (episode.turns, episode.truncated, episode.success, episode.reward) == (3, True, False, 0.0)


def test_an_unknown_policy_gets_a_suggestion(letter_env: Callable[..., gym.Env]):
    with pytest.raises(ConfigError, match=r"no scripted player 'orcale'\. Did you mean 'oracle'"):
        play_scripted(letter_env(), "orcale", EpisodeRequest(0))


def test_an_env_that_fails_ends_the_transcript(letter_env: Callable[..., gym.Env]):
    class Failing(letter_env):
        def step(self, action):
            raise RuntimeError("gone")

    transcript = play_scripted(Failing(), "oracle", EpisodeRequest(0))
    assert len(transcript.turns) == 1
    assert not transcript.episode.valid_for_training
