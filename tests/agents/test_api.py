"""``pixelis.agents.train`` and ``evaluate``: whole runs from Python, on own rows and in environments."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
import yaml
from letter_model import build_letter_model

from pixelis.agents import evaluate, train
from pixelis.agents.runs.evaluate import wilson_interval
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.cli.evaluate import main as evaluate_command
from pixelis.errors import CheckpointError, ConfigError

ROWS = [{"prompt": a + b, "answer": a} for a in "abcdefgh" for b in "abcd"]


def first_letter(row, text):
    return float(text == row["answer"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(build_letter_model(tmp_path_factory.mktemp("model")))


@pytest.fixture
def settings(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return {
        "model": model,
        "groups": 2,
        "group_size": 4,
        "max_new_tokens": 1,
        "beta": 0.0,
        "eval_episodes": 4,
    }


@pytest.mark.slow
def test_a_model_learns_from_own_rows(settings):
    rewards = []
    settings |= {"groups": 8, "group_size": 8, "steps": 30, "lr": 0.01, "eval_episodes": 0}
    run = train(
        rows=ROWS,
        reward=lambda row, text: float(text == row["answer"]),
        on_step=lambda row: rewards.append(row["reward/mean"]),
        **settings,
    )
    assert [row["reward/mean"] for row in run.metrics] == rewards and len(rewards) == 30
    assert sum(rewards[:3]) / 3 < 0.3 < 0.5 < sum(rewards[-5:]) / 5  # chance is 1/8


@pytest.mark.slow
def test_without_labels_members_come_to_agree(settings):
    settings |= {"groups": 8, "group_size": 8, "steps": 30, "lr": 0.01}
    rows = [{"prompt": row["prompt"]} for row in ROWS]
    run = train(rows=rows, rewards={"vote": {"threshold": 0.0}}, **settings)
    agreement = [row["vote/agreement"] for row in run.metrics]
    assert sum(agreement[:3]) / 3 < 0.65 < 0.9 < sum(agreement[-5:]) / 5, agreement
    assert {row["reward/mean"] for row in run.metrics} == {0.0}  # what nobody knows is not paid by the env
    assert (
        {row["vote/right"] for row in run.metrics} == {row["success/rate"] for row in run.metrics} == {None}
    )
    assert not run.evaluations["after"][0].says_success
    few = {**settings, "steps": 1, "max_new_tokens": 2, "lr": 1e-6}
    vote = {"kind": "choice", "choices": [*"abcdefgh"], "threshold": 0.0}
    (row,) = train(rows=rows, rewards={"vote": vote}, **few).metrics
    assert row["vote/answered"] > 0  # a letter and the end of the turn, which an untrained model seldom says
    with pytest.raises(ConfigError, match=r"reward is missing: .* or a vote"):
        train(rows=rows, **settings)


@pytest.mark.slow
def test_a_labelled_check_set_watches_a_vote(settings):
    """Sampled as in training, from the first step on; its interval counts each of its rows once."""

    def known(row, text):
        return float(text == row["answer"]) if "answer" in row else None

    held = [{**row, "prompt": f"Which, {row['prompt']}", "split": "test"} for row in ROWS[:3]]
    rows = [{"prompt": row["prompt"], "split": "train"} for row in ROWS] + held
    settings |= {"rewards": {"vote": {"threshold": 0.0}}, "eval_every": 2, "eval_episodes": 40}
    run = train(rows=rows, reward=known, steps=3, **settings)
    measured = {row["step"]: row for row in run.metrics if "evaluation/success" in row}
    assert list(measured) == [1, 2, 3]
    for row in measured.values():
        low, high = wilson_interval(row["evaluation/success"] * 3, 3)
        assert (row["evaluation/success_low"], row["evaluation/success_high"]) == pytest.approx((low, high))
    assert {row["success/rate"] for row in run.metrics} == {None}
    shown = [{"prompt": row["prompt"]} for row in ROWS[:1]]  # nothing is held out of one row
    with pytest.raises(ConfigError, match="eval_every 2 would check a vote on what it trains on"):
        train(rows=shown, steps=3, output="runs/other", **settings)


@pytest.mark.slow
def test_the_run_is_an_ordinary_one_and_goes_on_to_the_same_numbers(settings):
    def reward(row, text):
        return float(text == row["answer"])

    whole = train(rows=ROWS, reward=reward, steps=4, output="runs/whole", **settings)
    assert [set(each) for each in (whole.evaluations,)] == [{"before", "after"}]
    assert [row.mode for row in whole.evaluations["after"]] == ["greedy", "sampled"]
    kept = [json.loads(line) for line in Path("runs/whole/rows.jsonl").read_text().splitlines()]
    assert kept == ROWS
    half = train(rows=ROWS, reward=reward, steps=2, output="runs/half", **settings)
    with pytest.raises(ConfigError, match="already holds a run"):
        train(rows=ROWS, reward=reward, steps=2, output="runs/half", **settings)
    with pytest.raises(ConfigError, match="leave env= and rows= out"):
        train(resume="runs/half", rows=ROWS, reward=reward)
    again = train(resume=half.folder.path, reward=reward, steps=4)
    assert comparable_metrics(again.folder.metrics) == comparable_metrics(whole.folder.metrics)
    with pytest.raises(CheckpointError, match="belongs to other settings: seed was 0 and is 1"):
        train(resume="runs/half", reward=reward, seed=1)


@pytest.mark.slow
def test_a_function_that_can_be_imported_is_not_given_again(settings, tmp_path, monkeypatch, capsys):
    (tmp_path / "my_reward.py").write_text("def first(row, text):\n    return text == row['answer']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_reward

    run = train(rows=ROWS, reward=my_reward.first, steps=1, **settings)
    assert yaml.safe_load(run.folder.config.read_text())["env_kwargs"]["reward"] == "my_reward:first"
    assert str(run.folder.path) == "runs/rows-" + Path(settings["model"]).name + "-seed0"
    assert evaluate_command(["--agent", str(run.folder.path), "--episodes", "2"]) == 0
    assert "Pixelis/Rows-v0, held-out tasks" in capsys.readouterr().out
    assert len(train(resume=run.folder.path, steps=2).metrics) == 2
    sys.modules.pop("my_reward")


@pytest.mark.slow
def test_evaluation_of_a_policy_a_run_and_a_script(settings):
    run = train(rows=ROWS, reward=first_letter, steps=0, **settings)
    played = evaluate(run.policy, rows=ROWS, reward=first_letter, episodes=8, max_new_tokens=1)
    of_run = evaluate(str(run.folder.path), reward=first_letter, episodes=8)
    assert (played.success_rate, played.mode) == (of_run.success_rate, "greedy")
    script = evaluate("oracle", rows=ROWS, reward=first_letter, episodes=8)
    assert (script.success_rate, script.mode, script.episodes) == (1.0, "scripted", 8)
    seen = evaluate("oracle", env="Pixelis/ZoomRead-v0", env_kwargs={"reader": "truth"}, episodes=3)
    assert (seen.env_id, seen.success_rate) == ("Pixelis/ZoomRead-v0", 1.0)
    with pytest.raises(ConfigError, match="unexpected keyword argument 'episode'"):
        evaluate("oracle", env="Pixelis/ZoomRead-v0", episode=3)
    with pytest.raises(ConfigError, match="episodes must be an integer of at least 1, got 0"):
        evaluate("oracle", env="Pixelis/ZoomRead-v0", episodes=0)


@pytest.mark.slow
def test_training_in_an_environment_with_a_function_as_term(settings):
    def brief(step):
        return -len(step.action) / 10

    rewards = {"brief": brief, "task_gap": 1.0}
    run = train(env="toy_env:Toy/Echo-v0", steps=1, rewards=rewards, **settings)
    assert run.metrics[0]["rewards/brief/raw"] < 0
    kept = yaml.safe_load(run.folder.config.read_text())["rewards"]["brief"]
    assert kept["function"].startswith("given:")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": ROWS}, "reward is missing: own rows need a function"),
        ({"reward": first_letter}, "rows is missing: own rows need a function"),
        ({"rows": [], "reward": first_letter}, "rows is empty"),
        ({"rows": [{"text": "a"}], "reward": first_letter}, "row 1: field 'prompt' is missing"),
        ({"rows": ROWS, "reward": lambda row, text: math.nan}, r"a finite number.*got nan.*test_api.py:\d+"),
        ({"rows": ROWS, "reward": lambda row, text: "1.0 "}, r"a finite number.*'1.0 '.*test_api.py:\d+"),
        (
            {"rows": ROWS, "reward": lambda row, text: row["no"]},
            r"raised KeyError: 'no' \(.*test_api.py:\d+\)",
        ),
        ({"rows": ROWS, "reward": first_letter, "env": "Toy/Echo-v0"}, "rows are played in Pixelis/Rows-v0"),
        ({"rows": ROWS, "reward": first_letter, "step": 3}, "unknown setting 'step'. Did you mean 'steps'"),
    ],
)
def test_mistakes_are_told_before_a_file_is_written(given, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        train(**given)
    assert not list(tmp_path.iterdir())
