"""``replay.py`` on runs: what it lists and shows, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import pytest
import toy_env  # noqa: F401  # registers the toys

from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.transcripts import episode_row
from pixelis.cli import USER_MISTAKE, analyze, replay


def played(seed, member, *actions):
    runner = EpisodeRunner(gym.make("Toy/Echo-v0", turns=2), EpisodeRequest(seed, seed, member))
    runner.reset()
    for action in actions:
        runner.step(runner.observation["text"] if action is None else action)
    return episode_row(runner.episode)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a run: two seeds before and after, and a group of three."""
    monkeypatch.chdir(tmp_path)
    run = RunFolder.create("run", {"env": "toy_env:Toy/Echo-v0", "env_kwargs": {"turns": 2}})
    who = {"agent": "before", "mode": "greedy"}
    run.write_rows("evaluation-before", [who | played(seed, 0, "x", "x") for seed in (0, 1)])
    who = {"agent": "after", "mode": "greedy"}
    run.write_rows("evaluation-after", [who | played(seed, 0, None, None) for seed in (0, 1)])
    run.write_trajectories(1, [played(7, 0, None, None), played(7, 1, None, "x"), played(7, 2, "x", "x")])
    return run


def test_the_list_and_the_terminal(run, capsys):
    assert replay.main(["run"]) == 0
    out = capsys.readouterr().out
    assert "evaluation-before" in out and "step-00000001" in out and "0.33" in out
    assert replay.main(["run", "--terminal", "--file", "before", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("turn 1") == 1 and "before · greedy · seed 1 · member 0" in out and "failed" in out
    assert replay.main(["run/trajectories/step-00000001.jsonl", "--only", "succeeded"]) == 0
    assert "member 0" in (out := capsys.readouterr().out) and "member 1" not in out


def test_pages_of_groups_and_differences(run, capsys):
    assert replay.main(["run", "--html", "out/group.html", "--file", "step-1", "--group", "7"]) == 0
    page = Path("out/group.html").read_text()
    assert page.count("<article") == 3 and 'class="members"' in page
    words = ["run", "--html", "diff.html", "--file", "step-1", "--group", "7", "--members", "[0, 2]"]
    assert replay.main(words) == 0
    assert Path("diff.html").read_text().count('class="pair"') == 5  # heads, beginnings, two turns, ends
    words = ["run", "--html", "diff.html", "--file", "before", "--diff", run.trajectories.as_posix()]
    assert replay.main([*words[:-1], "run/trajectories/evaluation-after.jsonl"]) == 0
    page = Path("diff.html").read_text()
    assert "A: before · greedy · seed 0" in page and "B: after · greedy · seed 0" in page
    assert "<mark>" in page and "2 episodes are in diff.html" in capsys.readouterr().out


def test_a_folder_that_is_taken_away_while_it_is_read(run, capsys):
    path = run.trajectories / "evaluation-after.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert replay.main(["run", "--terminal"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and "half a line" in captured.err and "seed 0" in captured.out


def test_mistakes_are_one_line(run, capsys):
    Path("file").write_text("")
    mistakes = {
        ("run", "--file", "aftr", "--terminal"): "Did you mean 'after'?",
        ("run", "--group", "8"): "no episode of seed 8",
        ("run", "--file", "step-1", "--group", "7", "--seed", "7"): "names the seed of its episodes",
        ("run", "--file", "step-1", "--group", "7", "--members", "[0, 5]"): "has members [0, 1, 2], not [5]",
        ("run", "--diff", "run", "--group", "7"): "give one of them",
        ("run", "--members", "[0, 1]", "--terminal"): "give its seed with --group",
        ("run", "--seed", "99", "--terminal"): "there is no episode of seed 99 in evaluation-after",
        ("run", "--diff", "run"): "the two have no task in common",
        ("run", "--only", "failed"): "there is no episode that failed in evaluation-after",
        ("run", "--film", "x.mov"): "must be named .mp4 or .gif",
        ("run", "--film", "x.gif"): "no pictures to make a film of",
        ("nowhere", "--terminal"): "no run, file or folder at 'nowhere'",
        ("run", "--fps", "0"): "fps",
    }
    for words, message in mistakes.items():
        assert replay.main(words) == USER_MISTAKE, words
        error = capsys.readouterr().err
        assert message in error and error.startswith("error: ") and error.count("\n") == 1
    assert replay.main(["run", "--html", "file/x.html"]) == 1
    assert "cannot write to 'file/x.html'" in capsys.readouterr().err


def test_the_analysis_of_a_run(run, capsys):
    assert analyze.main(["run", "--output", "found", "--no-plot"]) == 0
    captured = capsys.readouterr()
    assert "run before greedy" in captured.out and "found/report.html" in captured.out and not captured.err
    found = json.loads(Path("found/analysis.json").read_text())
    assert found["subjects"]["run training"]["mistakes"]["compared"] == 2
    (comparison,) = found["comparisons"]
    success = comparison["differences"][0]
    assert (success["measure"], success["pairs"], success["difference"]) == ("success", 2, 1.0)
    page = Path("found/report.html").read_text()
    assert "Where episodes are lost" in page and "lost here:" in page and "<script" not in page
    assert len(Path("found/episodes.csv").read_text().splitlines()) == 8
    assert not Path("found/analysis.png").exists()


def test_mistakes_of_the_analysis_are_one_line(run, capsys):
    mistakes = {
        (): "give at least one run",
        ("run", "--phases", "aftr"): "Did you mean 'after'?",
        ("run", "--phases", "during"): "no episode of during in run",
        ("run", "nowhere"): "no run, file or folder at 'nowhere'",
        ("run", "--num-samples", "-1"): "num_samples",
    }
    for words, message in mistakes.items():
        assert analyze.main(words) == USER_MISTAKE, words
        error = capsys.readouterr().err
        assert message in error and error.startswith("error: ") and error.count("\n") == 1


def test_without_the_extra_the_rest_is_there(run, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert analyze.main(["run", "--output", "found"]) == 0
    assert capsys.readouterr().out.count("pixelis[analysis]") == 2
    page = Path("found/report.html").read_text()
    assert page.count("pixelis[analysis]") == 2 and "Where episodes are lost" in page
