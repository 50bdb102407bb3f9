"""``train_sft.py`` and ``expert_iteration.py`` from the outside: whole runs, Ctrl-C, kills."""

from __future__ import annotations

import itertools
import json
import shlex
import signal
from pathlib import Path

import pytest

from pixelis.agents.runs.metrics import comparable_metrics

pytestmark = pytest.mark.slow

SFT = ("--batch-size", 8, "--lr", 0.01, "--eval-episodes", 0, "--max-new-tokens", 3)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Many chats: after each letter of "abcdefgh" comes the next."""
    letters = "abcdefgh"
    lines = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]}
        for q, a in itertools.pairwise(letters)
    ]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines * 16))
    return tmp_path / "chats.jsonl"


def test_a_run_killed_and_one_interrupted_equal_one_that_was_not(
    warm_run, start, warm_start, wait_for_step, letter_model, chats, tmp_path
):
    words = (
        "--data",
        chats,
        "--model",
        letter_model,
        "--epochs",
        3,
        "--packing",
        *SFT,
        "--checkpoint-every",
        3,
    )
    code, out, err = warm_run("train_sft", *words, "--output", "whole")
    assert code == 0, err
    assert "held out: loss" in out and "the adapter, for --model: whole/adapter" in out
    metrics = tmp_path / "cut" / "metrics.jsonl"
    process = start("train_sft", *words, "--output", "cut")
    wait_for_step(process, metrics, 8)
    process.kill()
    process.communicate()
    process = warm_start("train_sft", "--resume", "cut")
    wait_for_step(process, metrics, 20)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    if process.returncode == 130:  # the signal came before the end
        command = shlex.split(out[out.index("resume with:") :].splitlines()[1])
        assert command[2:] == ["--resume", "cut"]
        code, out, err = warm_run("train_sft", *command[2:])
        assert code == 0, err
    assert "Traceback" not in err
    assert comparable_metrics(metrics) == comparable_metrics(tmp_path / "whole" / "metrics.jsonl")
    files = [tmp_path / name / "adapter" / "adapter_model.safetensors" for name in ("cut", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_sft_then_grpo_by_commands(warm_run, letter_model, tmp_path):
    env = ("--env", "toy_env:Toy/Echo-v0")
    letters = "abcd"
    chats = [
        {"messages": [{"role": "user", "content": a}, {"role": "assistant", "content": a}]} for a in letters
    ]
    (tmp_path / "echo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in chats * 20))
    words = ("--data", "echo.jsonl", *env, "--model", letter_model, "--epochs", 2, *SFT)
    code, _out, err = warm_run("train_sft", *words, "--eval-episodes", 30, "--output", "sft")
    assert code == 0, err
    saved = json.loads((tmp_path / "sft" / "evaluation.json").read_text())
    assert saved["after"][0]["success_rate"] > saved["before"][0]["success_rate"] + 0.3
    grpo = ("--model", "sft/adapter", "--groups", 2, "--group-size", 4, "--max-new-tokens", 2, "--steps", 2)
    code, _out, err = warm_run("train_agent", *env, *grpo, "--eval-episodes", 30, "--output", "grpo")
    assert code == 0, err
    begun = json.loads((tmp_path / "grpo" / "evaluation.json").read_text())["before"]
    assert begun[0]["success_rate"] == saved["after"][0]["success_rate"]


def test_expert_iteration_by_command(run, letter_model, tmp_path):
    words = ("--env", "toy_env:Toy/Echo-v0", "--model", letter_model, "--max-new-tokens", 1, "--lr", 0.003)
    code, out, err = run("expert_iteration", *words, "--steps", 3, "--eval-episodes", 0, "--output", "expert")
    assert code == 0, err
    assert "step 3/3" in out and "kept" in out
    assert (tmp_path / "expert" / "adapter" / "adapter_config.json").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --env"),
        (("--data", "none.jsonl"), "cannot read demonstrations"),
        (("--env", "Pixelis/ZoomRead-v0", "--epoch", 1), "Here it is --epochs"),
    ],
)
def test_a_mistake_is_one_line(words, message, warm_run, letter_model):
    code, out, err = warm_run("train_sft", *words, "--model", letter_model)
    assert code == 2 and message in err
    assert err.count("\n") == 1 and not out
