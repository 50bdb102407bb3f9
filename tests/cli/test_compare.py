"""``compare_models.py`` from the inside: what is played, and one line for every mistake."""

from __future__ import annotations

import json

import pytest
import yaml

from pixelis.cli import USER_MISTAKE, compare
from pixelis.cli.compare import CompareSettings, make_plan

ZOOM, COUNT = "Pixelis/ZoomRead-v0", "Pixelis/CountObjects-v0"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def leave_run(path, **settings):
    """Write what a run leaves of its settings."""
    (path / "checkpoints").mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump({"env": ZOOM, "env_kwargs": {}, **settings}))


MISTAKES = [
    (["--a", "oracle"], "--b must name what is compared"),
    (["--b", "pixelis-tiny"], "--env must be given"),
    (["--b", "oracle", "--env", ZOOM], "'oracle' is no adapter of another model, so --a must say"),
    (["--b", "oracel", "--env", ZOOM], "unknown agent 'oracel'"),
    (
        ["--b", "oracle", "--a", "oracle", "--env", "Pixelis/ZoomReed-v0"],
        "Did you mean 'Pixelis/ZoomRead-v0'?",
    ),
    (
        ["--b", "oracle", "--a", "oracle", "--env", ZOOM, "--difficulty", "0,x"],
        "integers separated by commas",
    ),
    (["--b", "oracle", "--a", "oracle", "--env", ZOOM, "--difficulty", "1,1"], "each difficulty once"),
    (["--b", "oracle", "--a", "oracle", "--env", ZOOM, "--difficulty", "0,9"], "from 0 to 4, got 9"),
    (["--b", "runs/one", "--env", COUNT], "'runs/one' was trained in Pixelis/ZoomRead-v0"),
    (["--b", "runs/one"], "no checkpoint in"),
    (["--b", "runs/on", "--env", ZOOM], "there is no run at 'runs/on'. Did you mean 'runs/one'?"),
    (["--b", "nowhere/one", "--env", ZOOM], "HF_HUB_OFFLINE"),
    (["--b", "runs/one", "--epsiodes", "9"], "Did you mean '--episodes'?"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistakes(capsys, tmp_path, words, message):
    leave_run(tmp_path / "runs" / "one")
    assert compare.main(words) == USER_MISTAKE
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


def test_runs_of_two_environments(capsys, tmp_path):
    leave_run(tmp_path / "one")
    leave_run(tmp_path / "two", env=COUNT)
    assert compare.main(["--a", "one", "--b", "two"]) == USER_MISTAKE
    assert "'one' was trained in Pixelis/ZoomRead-v0, and the comparison is in" in capsys.readouterr().err


def test_the_run_says_what_is_played_unless_the_words_do(tmp_path):
    leave_run(
        tmp_path / "run", env_kwargs={"max_turns": 3}, difficulty=2, max_new_tokens=20, dtype="bfloat16"
    )
    plan = make_plan(CompareSettings(b="run"))
    assert (plan.env.id, plan.env.max_turns, plan.difficulties) == (ZOOM, 3, (2,))
    assert (plan.max_new_tokens, plan.dtype) == (20, "bfloat16")
    words = {"env_kwargs": {"max_turns": 5}, "difficulty": "0,1", "max_new_tokens": 7, "dtype": "float32"}
    plan = make_plan(CompareSettings(b="run", **words))
    assert (plan.env.max_turns, plan.difficulties) == (5, (0, 1))
    assert (plan.max_new_tokens, plan.dtype) == (7, "float32")


def test_two_scripted_policies_over_two_difficulties(tmp_path, capsys):
    words = ["--a", "random", "--b", "oracle", "--env", "Pixelis/WebBrowse-v0", "--difficulty", "0,1"]
    assert compare.main([*words, "--episodes", "21", "--output", "out/compared.json"]) == 0
    saved = json.loads((tmp_path / "out" / "compared.json").read_text())
    first, second = saved["rows"]
    assert (second["success_rate"], second["mode"]) == (1.0, "scripted")
    pair = saved["pairs"]["scripted"]
    assert pair["only_a"] == pair["neither"] == 0 and pair["both"] + pair["only_b"] == 21
    assert pair["difference"] == pytest.approx(1 - first["success_rate"])
    seeds = [task["seed"] for task in saved["tasks"]]
    assert seeds == [*range(0, 21, 2), *range(1, 21, 2)]  # difficulties in turn
    shown = capsys.readouterr().out
    assert "oracle minus random" in shown and "saved as" in shown
