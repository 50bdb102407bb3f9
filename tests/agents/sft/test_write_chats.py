"""Episodes that were played become chats, and what is learnt from these is what was played."""

from __future__ import annotations

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import play_all
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.sft import demonstrations, load_chats
from pixelis.agents.sft.write_chats import ChatFile
from pixelis.errors import ConfigError, OutputError


def played(env_id: str, player: str, seeds) -> list:
    requests = [EpisodeRequest(seed, group, 0, {}, True) for group, seed in enumerate(seeds)]
    return [each.episode for each in play_all(env_id, requests, [player] * len(requests))]


@pytest.mark.parametrize(
    "env_id, model",
    [("Pixelis/ZoomRead-v0", "pixelis-tiny"), ("Pixelis/WebBrowse-v0", "pixelis-mini"),
     ("Pixelis/CodeProblem-v0", "pixelis-mini")],
)  # fmt: skip
def test_what_is_learnt_from_the_file_is_what_was_played(env_id, model, tmp_path):
    """Token for token, mask and picture, as if the player had demonstrated it."""
    policy, env = Policy.load(model, device="cpu"), TaskEnv.open(env_id, {}, {})
    with ChatFile(tmp_path / "chats.jsonl", env.tool_schemas) as chats:
        chats.take(played(env_id, "oracle", (1, 2, 3)))
    found = load_chats(tmp_path / "chats.jsonl", policy.chat)
    expected = demonstrations(policy.chat, env_id, "oracle", (1, 2, 3))
    assert chats.count == len(found) == len(expected) == 3
    for one, other in zip(found, expected, strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.loss_mask.tolist() == other.loss_mask.tolist()
        assert {name: value.tolist() for name, value in one.images.items()} == {
            name: value.tolist() for name, value in other.images.items()
        }


def test_separators_of_lines_that_are_none_in_json_stay_within_their_line(tmp_path):
    policy, odd = Policy.load("pixelis-mini", device="cpu"), "a\u2028b\u0085c\u2029d"
    episodes = played("Pixelis/CodeProblem-v0", "oracle", (1, 2))
    for episode in episodes:
        episode.exchanges[-1] = replace(episode.exchanges[-1], action=odd)
    with ChatFile(tmp_path / "chats.jsonl", ()) as chats:
        chats.take(episodes)
    found = load_chats(tmp_path / "chats.jsonl", policy.chat)
    assert len(found) == 2 and all(policy.chat.decode(each.tokens).count(odd) == 1 for each in found)


def test_what_failed_is_left_out_and_no_file_is_made_of_nothing(tmp_path):
    env = gym.make("Pixelis/CodeProblem-v0")
    env.close()
    with ChatFile(tmp_path / "chats.jsonl", ()) as chats:
        chats.take(played("Pixelis/CodeProblem-v0", "nothing", (1, 2)))
    assert chats.count == 0 and not list(tmp_path.iterdir())


def test_what_was_played_before_an_error_is_kept(tmp_path):
    path = tmp_path / "deep" / "chats.jsonl"
    with pytest.raises(KeyboardInterrupt), ChatFile(path, ()) as chats:
        chats.take(played("Pixelis/CodeProblem-v0", "oracle", (1,)))
        raise KeyboardInterrupt
    assert [json.loads(line)["messages"][-1]["role"] for line in path.read_text().splitlines()] == [
        "assistant"
    ]


def test_a_file_that_is_there_is_not_written_over(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text("mine\n")
    with pytest.raises(ConfigError, match="is there already"):
        ChatFile(path, ())
    assert path.read_text() == "mine\n"
    with pytest.raises(OutputError, match="--demonstrations"):
        ChatFile(path / "below", ())


def test_the_same_picture_is_one_file(tmp_path):
    episodes = played("Pixelis/ZoomRead-v0", "oracle", (1, 1))
    with ChatFile(tmp_path / "chats.jsonl", ()) as chats:
        chats.take(episodes)
    shown = {each.tobytes() for each in episodes[0].pictures[:-1] if isinstance(each, np.ndarray)}
    assert len(list((tmp_path / "chats.images").iterdir())) == len(shown) > 1
