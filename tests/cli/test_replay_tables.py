"""Episodes under other rewards: the summary by hand, the printed rows, and what is refused."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import gymnasium as gym
import pytest
import toy_env  # noqa: F401  # registers the toys
from rich.console import Console

from pixelis.cli import USER_MISTAKE, replay
from pixelis.cli.replay import rescored_table, summarise
from pixelis.wrappers import RecordTrajectory
from pixelis.wrappers.recording.rescore import Rescored


def row(success, old, new, **more) -> Rescored:
    values = {"episode": 3, "seed": 7, "finished": True, "images_from": None, "terms": {}, **more}
    steps = {"recorder": "r", "lane": 0, "steps": 2, "new_rewards": (new,), "parts": {}}
    return Rescored(success=success, old_return=old, new_return=new, **steps, **values)


def test_a_summary_by_hand():
    rows = [
        row(True, 1.0, 0.5, images_from="files"),
        row(True, 1.0, 0.25, images_from="env"),
        row(False, 0.0, 0.75, images_from="files"),
        row(False, 0.0, -1.0),
        row(None, 0.5, 9.0),  # neither failed nor succeeded
    ]
    assert summarise(rows) == {
        "episodes": 5,
        "old_mean": 0.5,
        "new_mean": 1.9,
        "best_failing": 0.75,
        "worst_succeeding": 0.25,
        "images_from_files": 2,
        "images_from_env": 1,
    }
    alone = summarise([row(True, 1.0, 1.0)])
    assert alone["best_failing"] is None and alone["worst_succeeding"] == 1.0


@pytest.mark.parametrize(
    ("returns", "mean"),
    [
        ((math.inf, 1.0), math.inf),
        ((math.inf, -math.inf), math.nan),
        ((math.nan, 1.0), math.nan),
        ((1e308, 1e308), 1e308),
    ],
)
def test_returns_that_are_not_finite_or_very_large_have_a_mean_too(returns, mean):
    found = summarise([row(True, one, one) for one in returns])
    assert found["old_mean"] == pytest.approx(mean, nan_ok=True)


def test_printed_rows():
    rows = [
        row(True, 1.0, 0.123456, terms={"task": 1.0, "coherence": -0.5}, images_from="files"),
        row(None, 0.0, 2.0, terms={"task": 0.0, "curiosity": 0.25}, seed=None, finished=False),
    ]
    out = io.StringIO()
    Console(file=out, width=200).print(rescored_table(rows, "mine"))
    lines = [line.strip("│┃").replace("┃", "│") for line in out.getvalue().splitlines()]
    printed = [[cell.strip() for cell in line.split("│")] for line in lines if line.count("│") > 3]
    assert printed == [
        [
            *("episode", "seed", "steps", "success", "old return", "new return", "task", "coherence"),
            "curiosity",
            "images",
        ],
        ["3", "7", "2", "yes", "1", "0.1235", "1", "-0.5", "–", "files"],
        ["3 (unfinished)", "–", "2", "–", "0", "2", "0", "–", "0.25", "not needed"],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a run or a recording before the flags"),
        (["--rescore", "r.yaml"], "give a run or a recording before the flags"),
        (["nowhere"], "nowhere"),
        (["empty", "--rows", "-1"], "rows must be an integer of at least 0, got -1"),
        (["empty"], "no .jsonl file in the folder 'empty'; give what RecordTrajectory wrote"),
        (["empty", "--rescore", "none.yaml"], "none.yaml"),
        (["empty", "--rescore", "stages.yaml"], "a recording has no training steps to change the weights by"),
        (["empty", "--output", "o.json"], "--output is the file of --rescore"),
        (["run", "--only", "failed", "--output", "o.json"], "--output is the file of --rescore"),
        (["empty", "--rescore", "r.yaml", "--only", "failed"], "leave out --only, or --rescore"),
        (["empty", "--rescore", "r.yaml", "--html", "x", "--fps", "2"], "leave out --html, --fps, or"),
        (["empty", "--rescore", "r.yaml", "--env-kwargs.turns", "2"], "leave out --env-kwargs, or"),
        (["run", "--rescore", "r.yaml"], "no such recording at 'run'"),
        (["run/trajectories/step-1.jsonl", "--rescore", "r.yaml"], "no such recording at 'run/traj"),
        (["table.transcripts.jsonl", "--rescore", "r.yaml"], "no such recording at 'table.tr"),
        (["nowhere", "--rescore", "r.yaml"], "no such recording at 'nowhere'"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "run" / "trajectories").mkdir(parents=True)
    for name in ("run/trajectories/step-1.jsonl", "table.transcripts.jsonl"):
        (tmp_path / name).write_text("")
    (tmp_path / "stages.yaml").write_text("curriculum: {stages: []}\n")
    assert replay.main(words) == USER_MISTAKE
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and message in error


def test_scores_under_other_rewards_do_not_replace_one_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    env = RecordTrajectory(gym.make("Toy/Echo-v0"), "taken")
    letter = env.reset(seed=1)[0]["text"]
    env.step(letter)
    env.close()
    for name, weight in {"a": 0.1, "b": 0.2}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.yaml").write_text(f"orchestrate: false\ncuriosity: {{weight: {weight}}}\n")
    for name, saved in {"a": "taken-r", "b": "taken-r-2"}.items():
        for _ in range(2):  # the same again takes its own place
            assert replay.main(["taken", "--rescore", f"{name}/r.yaml"]) == 0
            assert f"saved as runs/rescored/{saved}.json" in capsys.readouterr().out
    saved = sorted(Path("runs", "rescored").iterdir())
    weights = [json.loads(path.read_text())["rewards"]["curiosity"]["weight"] for path in saved]
    assert [path.name for path in saved] == ["taken-r-2.json", "taken-r.json"] and weights == [0.2, 0.1]
