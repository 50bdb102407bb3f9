"""``train_agent.py --agent sb3-…`` and ``evaluate_agent.py`` on what it trained, as a person runs them."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.runs.metrics import read_metrics

SMALL = (
    *("--env", "Pixelis/SizeCompare-v0", "--difficulty", 0, "--env-kwargs.max_turns", 2),
    *("--n-envs", 2, "--agent.n_steps", 4, "--batch-size", 4, "--agent.epochs", 1),
    *("--channels", 2, "--features", 8),
    *("--eval-episodes", 2, "--output", "run"),
)


@pytest.mark.slow
def test_train_resume_and_evaluate(warm_run, tmp_path):
    code, out, err = warm_run("train_agent", "--agent", "sb3-ppo", *SMALL, "--steps", 1)
    assert code == 0, err
    assert "greedy: success" in out and "env steps 8" in out
    code, out, err = warm_run("train_agent", "--resume", "run", "--steps", 2)
    assert code == 0, err
    assert [row["step"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [1, 2]
    words = (
        "--env",
        "Pixelis/SizeCompare-v0",
        "--agent",
        "run,random",
        "--episodes",
        2,
        "--output",
        "e.json",
    )
    code, out, err = warm_run("evaluate_agent", *words)
    assert code == 0, err
    rows = json.loads((tmp_path / "e.json").read_text())["rows"]
    assert [(row["agent"], row["mode"]) for row in rows] == [
        *(("run", "greedy"), ("run", "sampled")),
        ("random", "scripted"),
    ]


def test_an_unknown_agent_is_one_line(warm_run):
    code, _, err = warm_run("train_agent", "--agent", "sb3-a2c")
    assert code == 2
    assert err.startswith(
        "error: agent must be one of sb3-ppo, sb3-dqn, sb3-grpo, got 'sb3-a2c'. Did you mean"
    )
    assert err.count("\n") == 1
