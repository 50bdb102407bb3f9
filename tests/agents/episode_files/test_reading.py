"""Files of episodes as a real run, a recorder and accidents leave them."""

from __future__ import annotations

import json
import os

import gymnasium as gym
import pytest
import toy_env  # registers the toys

from pixelis.agents.episode_files import reading
from pixelis.agents.episode_files.choosing import group_of, pair_of, read_named
from pixelis.agents.episode_files.reading import find_files, read_file
from pixelis.agents.rl.run import train
from pixelis.errors import RecordingError
from pixelis.wrappers import RecordTrajectory


@pytest.fixture
def run(toy_config):
    """A whole run: evaluated, trained, evaluated."""
    config = toy_config(steps=2, eval_episodes=3, trajectories_every=1, env_kwargs={"turns": 2})
    return train(config).folder


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_tells_who_said_what_when(run):
    files = find_files(run.path)
    names = ["evaluation-before", "step-00000001", "step-00000002", "evaluation-after"]
    assert [file.name for file in files] == names
    assert [file.step for file in files] == [None, 1, 2, None] and files[0].run == run.path
    read = read_file(files[1])
    assert not read.problems and len(read.episodes) == 4
    for member, episode in enumerate(read.episodes):
        assert episode.member == member and episode.turn_count == len(episode.turns) == 2
        assert episode.asked in toy_env.LETTERS and all(
            turn.heard in toy_env.LETTERS for turn in episode.turns
        )
        shown = [episode.asked, episode.turns[0].heard]
        hits = [turn.action.startswith(letter) for turn, letter in zip(episode.turns, shown, strict=True)]
        assert [turn.reward for turn in episode.turns] == [float(hit) for hit in hits]
        assert [call["ok"] for turn in episode.turns for call in turn.calls] == hits
        assert all(turn.logprob < 0 and 1 <= turn.tokens <= 2 for turn in episode.turns)
        assert episode.success == all(hits) and episode.env_id == "Toy/Echo-v0"
    assert {(each.agent, each.mode) for each in read_file(files[0]).episodes} == {
        ("before", "greedy"),
        ("before", "sampled"),
    }


def test_what_a_person_means(run):
    assert read_named(run.path)[0].name == "evaluation-after"
    assert read_named(run.path, "step-2")[0].name == "step-00000002"
    before, after = (read_named(run.path, name)[1].episodes for name in ("before", "after"))
    one, other = pair_of(before, after)
    assert one.seed == other.seed and one.mode == other.mode
    assert len(group_of(before, one.seed)) == 2
    with pytest.raises(RecordingError, match="Did you mean 'after'"):
        read_named(run.path, "aftr")
    with pytest.raises(RecordingError, match=f"no episode of seed 5; there are seeds .* {one.seed}"):
        group_of(before, 5)
    with pytest.raises(RecordingError, match="in common"):
        pair_of(before, read_named(run.path, "step-1")[1].episodes)


def test_accidents_are_told_and_the_rest_is_read(run, monkeypatch):
    path = run.trajectories / "step-00000001.jsonl"
    rows = rows_of(path)
    old = {name: value for name, value in rows[0].items() if name not in ("exchanges", "asked", "options")}
    broken = {**rows[1], "reward": float("nan"), "success": "yes", "tool_calls": "none", "seed": [1]}
    lines = [
        json.dumps(old),
        "",
        "[1]",
        '{"a": 1}',
        json.dumps(broken),
        "x" * 6_000,
        json.dumps(rows[2])[:-9],
    ]
    path.write_text("\n".join(lines))
    monkeypatch.setattr(reading, "LONGEST_LINE", 5_000)
    read = read_file(find_files(path)[0])
    assert len(read.episodes) == 2
    first, second = read.episodes
    assert first.turns is None and first.text.startswith("<|user|>") and first.turn_count == 2
    assert second.reward is second.success is second.seed is None and second.calls == ()
    told = [
        "line 3 is no episode",
        "line 4 is no episode",
        "line 6 is longer",
        "line 7 is not JSON",
        "1 episodes",
    ]
    assert [word in problem for word, problem in zip(told, read.problems, strict=True)] == [True] * 5
    assert "half a line" in read.problems[3]


def test_what_is_gone_or_is_no_file(run, tmp_path):
    files = find_files(run.path)
    files[0].path.unlink()
    (problem,) = read_file(files[0]).problems
    assert "could not be read to its end: No such file" in problem
    os.mkfifo(run.trajectories / "step-00000009.jsonl")  # reading it would wait for ever
    assert len(find_files(run.path)) == 3
    for file in run.trajectories.iterdir():
        file.unlink()
    with pytest.raises(RecordingError, match=r"a run without episodes.*--trajectories-every"):
        find_files(run.path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match="is no run"):
        find_files(tmp_path / "empty")
    with pytest.raises(RecordingError, match="no run, file or folder"):
        find_files(tmp_path / "nowhere")


def test_a_recording_says_which_tools_look_at_pixels(tmp_path):
    env = RecordTrajectory(gym.make("Pixelis/ZoomRead-v0", reader="truth"), tmp_path / "taken")
    env.reset(seed=0)
    env.step("<answer>A1</answer>")
    env.close()
    (file,) = find_files(tmp_path / "taken")
    (episode,) = read_file(file).episodes
    assert episode.visual_tools is not None
    assert episode.visual_tools >= {"ZOOM", "READ_TEXT"} and "THINK" not in episode.visual_tools


def test_recordings_are_episodes_too(tmp_path):
    env = RecordTrajectory(gym.make("Toy/Picture-v0"), tmp_path / "taken", images=True)
    env.reset(seed=3)
    for _ in range(2):
        env.step("ab!")
    env.close()
    (file,) = find_files(tmp_path / "taken")
    (episode,) = read_file(file).episodes
    assert (episode.seed, episode.asked, episode.success) == (3, "turn 0", True)
    assert [(turn.action, turn.heard) for turn in episode.turns] == [("ab!", "turn 1"), ("ab!", "turn 2")]
    assert episode.reward == pytest.approx(4 / 3) and len(episode.pictures) == 3
    text = file.path.read_text()
    file.path.write_text(text.replace('"version":1', '"version":9'))
    (problem,) = read_file(file).problems
    assert "format version 9" in problem


def test_samples_of_agents_without_language(tmp_path):
    row = {
        "seed": 4,
        "task": {"id": "a"},
        "turns": ["3", "1"],
        "results": [{"tool": "LOOK", "text": "dark"}],
        "reward": 0.5,
        "success": False,
        "failure": None,
    }
    (tmp_path / "step-00000003.jsonl").write_text(json.dumps(row) + "\n")
    (episode,) = read_file(find_files(tmp_path / "step-00000003.jsonl")[0]).episodes
    assert (episode.turn_count, episode.text, episode.calls[0]["tool"]) == (2, "3\n1", "LOOK")
