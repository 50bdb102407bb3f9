"""``scripts/compare_models.py`` from the outside: a run against the model it was made from."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow

ENV = "toy_env:Toy/Echo-v0"


def test_a_run_gains_over_its_model(run, warm_run, letter_model, tmp_path):
    task = ("--env", ENV, "--max-new-tokens", 1)
    training = ("--model", letter_model, "--steps", 40, "--lr", 0.003, "--eval-episodes", 0)
    training = (*training, "--micro-batch-size", 64)
    code, _, err = warm_run("train_agent", *task, *training, "--output", "learnt")
    assert code == 0, err
    code, out, err = run("compare_models", "--b", "learnt", "--episodes", 60, "--output", "compared.json")
    assert code == 0, err
    saved = json.loads((tmp_path / "compared.json").read_text())
    assert saved["settings"]["env"] == ENV and saved["settings"]["a"] == str(letter_model)
    assert [(row["agent"], row["mode"]) for row in saved["rows"]] == [
        (str(letter_model), "greedy"),
        ("learnt", "greedy"),
        (str(letter_model), "sampled"),
        ("learnt", "sampled"),
    ]
    before, after = (row["success_rate"] for row in saved["rows"][:2])
    greedy = saved["pairs"]["greedy"]
    assert greedy["pairs"] == 60 and greedy["difference"] == pytest.approx(after - before)
    assert greedy["difference"] > 0.3 and greedy["interval"][0] > 0 and greedy["p_value"] < 0.01
    tasks = [each for each in saved["tasks"] if each["mode"] == "greedy"]
    assert len(tasks) == 60 and sum(each["b"]["success"] for each in tasks) == round(60 * after)
    assert "only second" in out and "learnt minus" in out

    code, _, err = warm_run("compare_models", "--b", "learnt", "--env", "Pixelis/ZoomRead-v0")
    assert code == 2 and f"'learnt' was trained in {ENV}" in err
    code, _, err = warm_run("compare_models", "--b", "lernt", "--env", ENV)
    assert code == 2 and "Did you mean 'learnt'?" in err
