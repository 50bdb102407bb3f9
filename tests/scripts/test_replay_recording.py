"""``scripts/replay.py``: proof, first difference, other rewards, and mistakes in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gymnasium as gym
import pytest
import toy_env  # noqa: F401

from pixelis.cli import FAILED, USER_MISTAKE, replay
from pixelis.wrappers import RecordTrajectory
from pixelis.wrappers.recording.files import recording_files

HERE = Path(__file__).parent
LENGTH = """\
class Length:
    name = "length"
    def begin(self): return None
    def score(self, steps): return [len(step.action) / 20 for _, step in steps]
    def learn(self): return {}
    def state_dict(self): return {}
    def load_state_dict(self, state): pass
"""


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """Three episodes of two turns each: every letter right, the last episode's wrong, the third cut off."""
    monkeypatch.chdir(tmp_path)
    env = RecordTrajectory(gym.make("Toy/Echo-v0", turns=2), "taken")
    for seed, turns in ((1, 2), (2, 2), (None, 1)):
        letter = env.reset(seed=seed)[0]["text"]
        for _ in range(turns):
            letter = env.step(letter if seed == 1 else "nothing")[0]["text"]
    env.close()
    return str(recording_files("taken")[0])


@pytest.fixture
def rewards(tmp_path, monkeypatch):
    (tmp_path / "length_term.py").write_text(LENGTH)
    (tmp_path / "rewards.yaml").write_text("orchestrate: false\nlength_term:Length: {weight: 0.5}\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "rewards.yaml"
    sys.modules.pop("length_term", None)


def tamper(path, line=1):
    lines = Path(path).read_text().splitlines(keepends=True)
    row = json.loads(lines[line])
    row["steps"][0]["reward"] = 0.5
    lines[line] = json.dumps(row) + "\n"
    Path(path).write_text("".join(lines))


@pytest.mark.slow
def test_from_the_outside(recording, run):
    code, out, err = run("replay", recording)
    assert code == USER_MISTAKE and "give --env module:Toy/Echo-v0" in err and err.count("\n") == 1
    code, out, err = run("replay", recording, "--env", "toy_env:Toy/Echo-v0")
    assert (code, err) == (0, "")
    assert out == "3 episodes, 5 steps: the same observations, rewards, ends and tool calls\n"
    tamper(recording)
    code, out, err = run("replay", recording, "--env", "toy_env:Toy/Echo-v0")
    assert (code, err) == (FAILED, "")
    first, second, third = out.splitlines()
    assert first.endswith("line 2: episode 1, step 1, reward: expected 0.5, got 0.0")
    assert second == "1 episodes before it are the same; the rest was not replayed"
    assert third == "versions since the recording: unchanged"


def test_a_folder_and_half_a_last_line(recording, capsys):
    assert replay.main(["taken"]) == 0
    path = Path(recording)
    path.write_bytes(path.read_bytes()[:-9])
    assert replay.main(["taken"]) == 0
    captured = capsys.readouterr()
    assert "2 episodes, 4 steps: the same" in captured.out
    assert captured.err.startswith("warning: ") and "line 3 is half a line" in captured.err
    assert captured.err.count("\n") == 1


def test_other_rewards(recording, rewards, capsys):
    assert replay.main([recording, "--rescore", rewards, "--rows", "2"]) == 0
    out = capsys.readouterr().out
    assert "1 more episodes are in the file" in out and "not needed" in out
    (saved,) = Path("runs", "rescored").iterdir()
    assert f"saved as {saved}" in out
    table = json.loads(saved.read_text())
    assert table["rewards"] == {"orchestrate": False, "length_term:Length": {"weight": 0.5}}
    returns = [(row["old_return"], round(row["new_return"], 9)) for row in table["episodes"]]
    # two right letters pay 2 and have a character each; "nothing" has seven, and the third plays one turn
    assert returns == [(2.0, 2 + 0.5 * 2 / 20), (0.0, 0.5 * 14 / 20), (0.0, 0.5 * 7 / 20)]
    assert table["episodes"][0]["parts"]["task"] == {"raw": 2.0, "normalised": 2.0, "weighted": 2.0}
    assert table["episodes"][2]["parts"] == {}  # cut off
    summary = table["summary"]
    assert summary["old_mean"] == pytest.approx(2 / 3) and summary["new_mean"] == pytest.approx(2.575 / 3)
    assert summary["worst_succeeding"] == pytest.approx(2.05) and summary["best_failing"] == pytest.approx(
        0.35
    )
    assert replay.main([recording, "--rescore", rewards, "--output", "here/mine.json"]) == 0
    assert json.loads(Path("here", "mine.json").read_text())["episodes"] == table["episodes"]


def test_mistakes_are_one_line(recording, rewards, capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.jsonl").write_text("\n")
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "file").write_text("")
    files = {
        "none": "",
        "typo": "coherense: {}",
        "calls": "coherence: {weight: -1}",
        "stages": "coherence: {}\ncurriculum: steps",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    mistakes = {
        (): "give a run or a recording before the flags",
        ("nowhere.jsonl",): "no run, file or folder at 'nowhere.jsonl'",
        ("empty",): "no .jsonl file in the folder 'empty'",
        ("blank.jsonl",): "holds no episode",
        ("blank.jsonl", "--rescore", rewards): "holds no episode",
        (recording, "--env", "Pixelis/ZoomReed-v0"): "Did you mean 'Pixelis/ZoomRead-v0'?",
        (recording, "--rescore", "absent.yaml"): "there is none at 'absent.yaml'",
        (recording, "--rescore", "broken.yaml"): "'broken.yaml' is not YAML",
        (recording, "--rescore", "none.yaml"): "expected a mapping",
        (recording, "--rescore", "typo.yaml"): "Did you mean 'coherence'?",
        (recording, "--rescore", "calls.yaml"): "weight of coherence: expected a finite number of at least 0",
        (recording, "--rescore", "stages.yaml"): "leave out curriculum",
        (recording, "--rescor", "x"): "Did you mean '--rescore'?",
        (recording, "--rows", "-1"): "rows must be an integer of at least 0",
    }
    for words, message in mistakes.items():
        assert replay.main(words) == USER_MISTAKE
        captured = capsys.readouterr()
        assert (
            captured.err.startswith("error: ") and captured.err.count("\n") == 1 and message in captured.err
        )
    assert replay.main([recording, "--rescore", rewards, "--output", "file/x.json"]) == FAILED
    assert "cannot write to 'file/x.json'" in capsys.readouterr().err


def test_the_help_is_for_people(capsys):
    with pytest.raises(SystemExit):
        replay.main(["--help"])
    out = capsys.readouterr().out
    assert "of a run" in out and "--rescore" in out and "examples:" in out
    assert max(map(len, out.splitlines())) <= 110
