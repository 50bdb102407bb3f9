"""What is evaluated and what it is called: the run's environment; held out only where something is."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from pixelis.agents.runs.metrics import comparable_metrics, read_metrics

pytestmark = pytest.mark.slow

ROWS, APART, ECHO = "row_env:Broken/Rows-v0", "row_env:Broken/Apart-v0", "toy_env:Toy/Echo-v0"
SMALL = ("--groups", 2, "--group-size", 2, "--steps", 1, "--eval-episodes", 0)


@pytest.fixture
def run(warm_run):
    """Commands begin with the libraries imported; ``start`` begins afresh."""
    return warm_run


@pytest.fixture
def trained(run, letter_model):
    """Return a function that trains for a step and returns the run's folder."""

    def train(output: str, *words: object, script: str = "train_agent") -> str:
        code, _, err = run(script, *SMALL, "--model", letter_model, "--output", output, *words)
        assert code == 0, err
        return output

    return train


def rows_of(path: Path) -> list[dict]:
    return json.loads(path.read_text())["rows"]


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_brings_its_environment_along(run, trained, tmp_path):
    own = (
        "--env",
        ROWS,
        "--env-kwargs.turns",
        3,
        "--difficulty",
        2,
        "--max-new-tokens",
        2,
        "--temperature",
        0.5,
    )
    trained("one", *own)
    words = ("--episodes", 3, "--mode", "greedy", "--output", "t.json")
    for agent in ("one", "oracle,mute,one", "one/checkpoints/step-00000001/adapter"):
        code, out, err = run("evaluate_agent", "--agent", agent, *words)
        assert code == 0, err
        assert "environment row_env:Broken/Rows-v0 from one" in out
        for row in rows_of(tmp_path / "t.json"):
            assert row["env_id"] == ROWS and row["mean_turns"] == 3.0
        settings = json.loads((tmp_path / "t.json").read_text())["settings"]
        assert (settings["difficulty"], settings["max_new_tokens"], settings["temperature"]) == (2, 2, 0.5)
        played = lines_of(tmp_path / "t.transcripts.jsonl")
        assert {each["task"]["difficulty"] for each in played} == {2}
    code, out, err = run(
        "evaluate_agent", "--agent", "one", *words, "--difficulty", 1, "--env-kwargs.turns", 2
    )
    assert code == 0, err
    assert "difficulty 1 from --difficulty (one has 2)" in out and "from --env-kwargs" in out
    assert [row["mean_turns"] for row in rows_of(tmp_path / "t.json")] == [2.0]
    code, out, err = run("evaluate_agent", "--agent", "one", *words, "--env", ECHO)
    assert code == 0, err
    assert f"environment {ECHO} from --env (one has {ROWS})" in out
    assert [row["mean_turns"] for row in rows_of(tmp_path / "t.json")] == [1.0]  # its keywords are Rows'


def test_other_kinds_of_run_do_too(run, start, trained, tmp_path):
    trained("expert", "--env", ROWS, "--env-kwargs.turns", 2, script="expert_iteration")
    sft = ("--env", ROWS, "--env-kwargs.turns", 2, "--demonstrations", 4, "--steps", 1, "--eval-episodes", 0)
    code, _, err = run(
        "train_sft",
        *sft,
        "--model",
        trained("base", "--env", ECHO) + "/checkpoints/step-00000001/adapter",
        "--output",
        "sft",
    )
    assert code == 0, err
    trained("rows", "--env", ROWS, "--env-kwargs.turns", 2)
    process = start("export_model", "--run", "rows", "--output", "exported")
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    small = ("--agent", "sb3-ppo", "--steps", 1, "--n-envs", 2, "--agent.n_steps", 4, "--batch-size", 8)
    lens = ("--env", "Pixelis/CountTiny-v0", "--env-kwargs.max_turns", 2, "--eval-episodes", 0)
    code, _, err = run("train_agent", *small, *lens, "--output", "small")
    assert code == 0, err
    for agent in ("expert", "sft", "sft/adapter", "exported"):
        words = ("--agent", agent, "--episodes", 2, "--mode", "greedy", "--output", f"{agent}.json")
        code, out, err = run("evaluate_agent", *words)
        assert code == 0, err
        assert f"environment {ROWS} from {agent}" in out
        assert rows_of(tmp_path / f"{agent}.json")[0]["mean_turns"] == 2.0
    code, out, err = run("evaluate_agent", "--agent", "small", "--episodes", 2, "--output", "small.json")
    assert code == 0, err
    assert "environment Pixelis/CountTiny-v0 from small" in out
    assert rows_of(tmp_path / "small.json")[0]["mean_turns"] <= 2.0


def test_runs_that_disagree_are_refused(run, trained):
    trained("one", "--env", ROWS, "--difficulty", 1)
    trained("two", "--env", ECHO)
    trained("three", "--env", ROWS, "--difficulty", 2)
    code, _, err = run("evaluate_agent", "--agent", "one,two", "--episodes", 2)
    assert code == 2 and "'one' was trained" in err and ROWS in err and ECHO in err and "--env" in err
    code, _, err = run("evaluate_agent", "--agent", "one,three", "--episodes", 2)
    assert code == 2 and "--difficulty" in err
    code, _, err = run("evaluate_agent", "--agent", "one,three", "--episodes", 2, "--difficulty", 0)
    assert code == 0, err


@pytest.mark.parametrize(
    ("env", "held_out"), [(ROWS, False), ("broken_env:Broken/Echo-v0", False), (APART, True)]
)
def test_held_out_is_said_only_where_it_is(run, letter_model, tmp_path, env, held_out):
    words = ("--env", env, "--model", letter_model, *SMALL[:-1], 3, "--max-new-tokens", 2, "--output", "out")
    code, out, err = run("train_agent", *words)
    assert code == 0, err
    code, _, err = run("export_model", "--run", "out", "--output", "exported")
    assert code == 0, err
    code, told, err = run("evaluate_agent", "--env", env, "--agent", "oracle", "--episodes", 3)
    assert code == 0, err
    texts = [
        out,
        told,
        (tmp_path / "out" / "log.txt").read_text(),
        (tmp_path / "exported" / "README.md").read_text(),
    ]
    for text in texts:
        assert ("same distribution, no split" in text.lower()) is not held_out, text
        assert ("held-out tasks" in text.lower().replace("for held-out tasks give", "")) is held_out, text
    if not held_out:
        assert "docs/guide/new_env.md" in out and "docs/guide/new_env.md" in told
    seeds = [row["seed"] for row in lines_of(tmp_path / "out" / "trajectories" / "evaluation-after.jsonl")]
    assert min(seeds) == (0 if held_out else 2**31)


def test_without_success_there_is_a_dash(run, letter_model, tmp_path):
    silent = ("--env", ROWS, "--env-kwargs.silent", "true")
    words = (
        "--model",
        letter_model,
        *SMALL[:-1],
        3,
        "--max-new-tokens",
        2,
        "--eval-every",
        1,
        "--output",
        "out",
    )
    code, out, err = run("train_agent", *silent, *words)
    assert code == 0, err
    assert "success –" in out and "0.000 (" not in out
    saved = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert {row["success_rate"] for row in saved["after"]} == {None}
    assert {row["interval"] for row in saved["after"]} == {None}
    row = read_metrics(tmp_path / "out" / "metrics.jsonl")[0]
    assert row["success/rate"] is None and "evaluation/success" not in row and row["evaluation/reward"] >= 0
    code, _, err = run("export_model", "--run", "out", "--output", "exported")
    card = (tmp_path / "exported" / "README.md").read_text()
    assert code == 0 and "| – |" in card and "0.000 (" not in card
    pair = ("--a", "mute", "--b", "oracle", "--episodes", 4, "--output", "c.json")
    code, out, err = run("compare_models", *silent, *pair)
    assert code == 0, err
    compared = json.loads((tmp_path / "c.json").read_text())
    assert compared["pairs"]["scripted"]["difference"] is None
    assert compared["pairs"]["scripted"]["reward_difference"] > 0 and "+0.000 (" not in out


def test_an_evaluation_that_is_interrupted_keeps_what_it_has(start, tmp_path):
    words = ("--env", ROWS, "--env-kwargs.slow", 0.05, "--agent", "oracle", "--episodes", 1000)
    process = start("evaluate_agent", *words, "--output", "new/t.json")
    deadline = time.monotonic() + 120
    while not (tmp_path / "new" / "t.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in err
    saved = json.loads((tmp_path / "new" / "t.json").read_text())
    (row,) = saved["rows"]
    assert saved["partial"] is True and row["planned"] == 1000 and 0 < row["episodes"] < 1000
    assert len(lines_of(tmp_path / "new" / "t.transcripts.jsonl")) == row["episodes"]
    assert "partial results" in out and f"{row['episodes']} of 1000" in out
    assert "oracle scripted" in out  # progress, also without a terminal


def test_a_whole_table_outlives_an_evaluation_that_is_cut_off(run, start, tmp_path):
    words = ("--env", ROWS, "--agent", "oracle", "--output", "t.json")
    code, out, err = run("evaluate_agent", *words, "--episodes", 40)
    assert code == 0 and json.loads((tmp_path / "t.json").read_text())["partial"] is False, err
    assert out.count("oracle scripted") >= 4 and "40/40" in out
    process = start("evaluate_agent", *words, "--episodes", 1000, "--env-kwargs.slow", 0.05)
    deadline = time.monotonic() + 120
    while not (tmp_path / "t.partial.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()  # not even time to say goodbye
    process.communicate()
    assert rows_of(tmp_path / "t.json")[0]["episodes"] == 40
    partial = json.loads((tmp_path / "t.partial.json").read_text())
    assert partial["partial"] is True and 0 < partial["rows"][0]["episodes"] < 1000


def test_a_place_that_cannot_be_written_is_told_before_anything_is_played(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    slow = ("--env", ROWS, "--env-kwargs.slow", 60, "--episodes", 5, "--output", "file/t.json")
    for words in (
        ("evaluate_agent", "--agent", "oracle"),
        ("compare_models", "--a", "mute", "--b", "oracle"),
    ):
        started = time.monotonic()
        code, _, err = run(*words, *slow)
        assert code == 1 and "cannot write to" in err and time.monotonic() - started < 55


def test_evaluation_during_training_changes_no_number_and_keeps_the_best(run, letter_model, tmp_path):
    words = ("--env", APART, "--model", letter_model, "--groups", 4, "--group-size", 4, "--max-new-tokens", 2)
    words = (*words, "--lr", 0.01, "--checkpoint-every", 2, "--trajectories-every", 100)
    without = (*words, "--steps", 7, "--eval-episodes", 0, "--output", "without")
    code, _, err = run("train_agent", *without)
    assert code == 0, err
    code, _, err = run(
        "train_agent", *words, "--steps", 5, "--eval-every", 3, "--eval-episodes", 20, "--output", "with"
    )
    assert code == 0, err
    code, _, err = run("train_agent", "--resume", "with", "--steps", 7)
    assert code == 0, err
    plain = comparable_metrics(tmp_path / "without" / "metrics.jsonl")
    measured = comparable_metrics(tmp_path / "with" / "metrics.jsonl")
    bare = [{k: v for k, v in row.items() if not k.startswith("evaluation/")} for row in measured]
    assert bare == plain
    at = {row["step"]: row for row in measured if "evaluation/success" in row}
    assert list(at) == [3, 5, 6, 7]
    for row in at.values():
        assert row["evaluation/success_low"] <= row["evaluation/success"] <= row["evaluation/success_high"]
    best = json.loads((tmp_path / "with" / "best" / "evaluation.json").read_text())
    assert best["success_rate"] == max(row["evaluation/success"] for row in at.values())
    assert at[7]["evaluation/best_step"] == best["step"]
    assert f"step {best['step']}" in (tmp_path / "with" / "best" / "README.md").read_text()
    assert best["interval"][0] < best["success_rate"] <= best["interval"][1]
    code, _, err = run(
        "evaluate_agent", "--agent", "with/best", "--mode", "greedy", "--episodes", 20, "--output", "b.json"
    )
    assert code == 0, err
    assert rows_of(tmp_path / "b.json")[0]["success_rate"] == best["success_rate"]
    for folder in ("with", "without"):
        assert lines_of(tmp_path / folder / "trajectories" / "step-00000007.jsonl")
    assert lines_of(tmp_path / "with" / "trajectories" / "evaluation-step-00000003.jsonl")[0]["text"]
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(tmp_path / "with" / "tensorboard"))
    board.Reload()
    assert {"evaluation/success", "evaluation/success_low", "evaluation/success_high"} <= set(
        board.Tags()["scalars"]
    )
