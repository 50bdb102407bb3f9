"""``scripts/evaluate_agent.py`` from the outside: a run folder, a checkpoint's adapter, a plain model."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow

TOY = ("--env", "toy_env:Toy/Echo-v0", "--max-new-tokens", 1)


def test_a_run_folder_its_adapter_and_its_model(warm_run, letter_model, tmp_path):
    training = (
        "--model",
        letter_model,
        "--steps",
        60,
        "--lr",
        0.003,
        "--micro-batch-size",
        64,
        "--eval-episodes",
        0,
        "--output",
        "learnt",
    )
    code, _, err = warm_run("train_agent", *TOY, *training)
    assert code == 0, err
    adapter = "learnt/checkpoints/step-00000060/adapter"
    agents = f"learnt,{adapter},{letter_model}"
    words = ("--agent", agents, "--mode", "greedy", "--episodes", 60, "--output", "table.json")
    code, out, err = warm_run("evaluate_agent", *TOY, *words)
    assert code == 0, err
    table = json.loads((tmp_path / "table.json").read_text())
    rates = {row["agent"]: row["success_rate"] for row in table["rows"]}
    assert rates["learnt"] == rates[adapter] > rates[str(letter_model)] + 0.3
    assert "learnt" in out and "greedy" in out
