"""User's code that fails, by way of the commands: one line with its place, exit code 1, and a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixelis.agents.runs.metrics import read_metrics

pytestmark = pytest.mark.slow

BROKEN = ("--env", "broken_env:Broken/Echo-v0")
SMALL = ("--groups", 2, "--group-size", 2, "--max-new-tokens", 2, "--steps", 2, "--output", "out")
SOURCE = (Path(__file__).parent / "broken_env.py").read_text().splitlines()


@pytest.fixture
def run(warm_run):
    """Commands begin with the libraries imported; ``start`` begins afresh."""
    return warm_run


def line_of(comment: str) -> str:
    """Return ``broken_env.py:N`` of the line with a comment."""
    (number,) = [number for number, line in enumerate(SOURCE, 1) if line.endswith(f"# {comment}")]
    return f"broken_env.py:{number}"


def check_told(code: int, err: str, reason: str, comment: str, log: Path) -> None:
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 1 and len(lines) == 1, err
    assert reason in lines[0] and line_of(comment) in lines[0]
    assert "Traceback" not in err
    text = log.read_text()
    assert "Traceback" in text and reason in text


@pytest.mark.parametrize(
    ("fault", "reason", "comment"),
    [
        ("step", "RuntimeError: the wire is cut", "raised in step"),
        ("exit", "SystemExit: 3", "left in step"),
        ("reset", "KeyError: 'no row'", "raised in reset"),
        ("make", "OSError: no such camera", "raised while it is made"),
    ],
)
@pytest.mark.parametrize("episodes", [0, 4], ids=["in training", "in the evaluation before"])
def test_grpo_in_an_env_that_always_raises(run, letter_model, tmp_path, fault, reason, comment, episodes):
    words = ("--model", letter_model, "--eval-episodes", episodes, "--env-kwargs.fault", fault)
    code, out, err = run("train_agent", *BROKEN, *SMALL, *words)
    check_told(code, err, reason, comment, tmp_path / "out" / "log.txt")
    assert "nan" not in out


@pytest.mark.parametrize("fault", ["none", "nan", "inf", "text", "list"])
def test_a_reward_that_is_no_number_is_named(run, letter_model, tmp_path, fault):
    words = ("--model", letter_model, "--eval-episodes", 0, "--env-kwargs.fault", fault)
    code, _, err = run("train_agent", *BROKEN, *SMALL, *words)
    shown = {"none": "None", "nan": "nan", "inf": "inf", "text": "'1.0'", "list": "[1.0, 2.0]"}[fault]
    assert code == 1
    assert f"task: step returned the reward {shown}, expected a finite number" in err
    assert "broken_env.py:" in err


def test_ppo_and_agents_without_language(run, letter_model, tmp_path):
    words = ("--model", letter_model, "--eval-episodes", 0, "--env-kwargs.fault", "step")
    code, _, err = run("train_agent", *BROKEN, *SMALL, *words, "--algorithm", "ppo")
    check_told(code, err, "the wire is cut", "raised in step", tmp_path / "out" / "log.txt")
    for episodes in (0, 4):
        output = f"small{episodes}"
        small = ("--agent", "sb3-ppo", "--steps", 1, "--n-envs", 2, "--agent.n_steps", 8, "--batch-size", 8)
        lens = ("--env", "broken_env:Broken/Zoom-v0", "--eval-episodes", episodes, "--output", output)
        code, _, err = run("train_agent", *small, *lens)
        check_told(code, err, "the lens is broken", "raised in the lens", tmp_path / output / "log.txt")


def test_sft_and_expert_iteration(run, letter_model, tmp_path):
    words = (*BROKEN, "--model", letter_model, "--eval-episodes", 0, "--env-kwargs.fault", "step")
    code, _, err = run("train_sft", *words, "--demonstrations", 4, "--output", "sft")
    check_told(code, err, "the demonstrations failed", "raised in step", tmp_path / "sft" / "log.txt")
    code, _, err = run("expert_iteration", *words, *SMALL)
    check_told(code, err, "step 1 failed", "raised in step", tmp_path / "out" / "log.txt")
    clumsy = (*BROKEN, "--model", letter_model, "--demonstrator", "clumsy", "--output", "clumsy")
    code, _, err = run("train_sft", *clumsy, "--demonstrations", 4)
    check_told(code, err, "no finger left", "raised by the policy", tmp_path / "clumsy" / "log.txt")


def test_evaluate_and_compare(run, letter_model, tmp_path):
    words = (*BROKEN, "--episodes", 4, "--env-kwargs.fault", "step")
    code, _, err = run("evaluate_agent", *words, "--agent", f"oracle,{letter_model}", "--output", "t.json")
    check_told(code, err, "all 4 episodes", "raised in step", tmp_path / "t.log.txt")
    code, _, err = run("evaluate_agent", *words, "--agent", letter_model, "--output", "m.json")
    check_told(code, err, "the wire is cut", "raised in step", tmp_path / "m.log.txt")
    code, _, err = run("compare_models", *words, "--a", "mute", "--b", "oracle", "--output", "c.json")
    check_told(code, err, "the wire is cut", "raised in step", tmp_path / "c.log.txt")


def test_some_failing_episodes_are_told_and_counted(run, letter_model, tmp_path):
    words = ("--model", letter_model, "--eval-episodes", 6, "--env-kwargs.fault", "step")
    code, out, err = run(
        "train_agent",
        *BROKEN,
        *SMALL,
        *words,
        "--env-kwargs.every",
        3,
        "--groups",
        8,
        "--steps",
        1,
        "--seed",
        1,
    )
    assert code == 0, err
    warned = [line for line in out.splitlines() if line.startswith("warning: ")]
    assert warned and "RuntimeError: the wire is cut" in warned[0] and line_of("raised in step") in warned[0]
    assert "(+2 failed, 33%)" in out  # seeds from 2**31: two of six are divisible by 3
    row = read_metrics(tmp_path / "out" / "metrics.jsonl")[0]
    assert row["episodes/failed_share"] == row["episodes/invalid"] / 16 > 0
    saved = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert saved["before"][0]["failed"] == 2 and "the wire is cut" in saved["before"][0]["failure"]


TERM = ("--rewards.orchestrate", "false")


def test_a_reward_term_that_always_raises_ends_the_run(run, letter_model, tmp_path):
    words = ("--model", letter_model, "--eval-episodes", 0, *TERM)
    code, _, err = run("train_agent", *BROKEN, *SMALL, *words, "--rewards.broken_env:Shout", "{}")
    check_told(code, err, "ValueError: too loud", "raised in the term", tmp_path / "out" / "log.txt")


@pytest.mark.parametrize("gives", ["nan", "none", "text"])
def test_a_reward_term_without_numbers_is_named(run, letter_model, tmp_path, gives):
    words = ("--model", letter_model, "--eval-episodes", 0, *TERM)
    code, _, err = run(
        "train_agent", *BROKEN, *SMALL, *words, "--rewards.broken_env:Shout", f"{{gives: {gives}}}"
    )
    assert code == 1 and "shout: expected a finite number" in err and "broken_env.py:" in err


def test_a_reward_term_that_raises_at_times_fails_those_episodes_alone(run, letter_model, tmp_path):
    words = ("--model", letter_model, "--eval-episodes", 0, *TERM, "--groups", 8, "--steps", 1)
    code, out, err = run(
        "train_agent", *BROKEN, *SMALL, *words, "--rewards.broken_env:Shout", "{letters: ab}"
    )
    assert code == 0, err
    row = read_metrics(tmp_path / "out" / "metrics.jsonl")[0]
    assert 0 < row["episodes/invalid"] < 16 and row["episodes/invalid"] % 2 == 0  # a group has one letter
    assert "ValueError: too loud" in out


@pytest.mark.parametrize(
    ("words", "reason", "comment"),
    [
        (("--watch.scores.broken_env:Watcher", "{}"), "division by zero", "raised in the scorer"),
        (("--loss.surrogate", "broken_env:broken_surrogate"), "no such loss", "raised in the loss"),
    ],
    ids=["scorer", "loss"],
)
def test_other_functions_of_the_user(run, letter_model, tmp_path, words, reason, comment):
    common = ("--model", letter_model, "--eval-episodes", 0, "--groups", 8, "--group-size", 4)
    code, _, err = run("train_agent", *BROKEN, *SMALL, *common, *words)
    check_told(code, err, reason, comment, tmp_path / "out" / "log.txt")
