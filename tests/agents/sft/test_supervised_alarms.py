"""Alarms of supervised runs: a rate that unlearns what is shown is told, stopped or lowered, and resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.run import SftRun
from pixelis.errors import TrainingError

Make = Callable[..., SftConfig]


@pytest.fixture(scope="module")
def taught(letter_model, tmp_path_factory) -> str:
    """A run that has learnt to spell, so that there is something to lose."""
    settings = {"batch_size": 8, "max_new_tokens": 5, "steps": 60, "lr": 0.01, "eval_episodes": 0}
    output = str(tmp_path_factory.mktemp("taught") / "run")
    SftRun.whole(
        SftConfig(
            env="spell_env:Toy/Spell-v0",
            model=str(letter_model),
            output=output,
            demonstrations=48,
            held_out=0.0,  # the toy has eight tasks, all of which it must know
            **settings,
        )
    )
    return output


@pytest.fixture
def ruin(taught: str) -> dict[str, Any]:
    """Settings by which it unlearns that again: the rate rises until it is a hundred times too high."""
    return {"model": taught, "steps": 24, "lr": 0.1, "held_out": 0.0, "warmup": 0.9}


def alarms(folder: RunFolder) -> list[str]:
    lines = folder.log.read_text().splitlines()
    return [line.split("WARNING ", 1)[1].split(";")[0] for line in lines if "WARNING" in line]


def test_a_run_that_learns_tells_none(sft_config: Make):
    run = SftRun.whole(sft_config(steps=24))
    rows = read_metrics(run.folder.metrics)
    assert rows[-1]["train/loss"] < 0.7 * rows[0]["train/loss"] and alarms(run.folder) == []
    assert [row["alarms/on"] for row in rows] == [0] * 24


def test_a_rate_that_ruins_it_is_told_and_is_reason_to_stop(sft_config: Make, ruin):
    config = sft_config(on_alarm="stop", **ruin)
    with SftRun.start(config) as run:
        run.complete()
        step = run.trainer.finished_steps
        assert [alarm.name for alarm in run.trainer.stopped_by] == ["loss above its start"]
    assert 10 <= step < 24
    rows = read_metrics(run.folder.metrics)
    first, last = (sum(row["train/loss"] for row in part) / 5 for part in (rows[:5], rows[-5:]))
    assert last > first + 0.5
    assert alarms(run.folder) == [
        f"ALARM: loss above its start (step {step}): the loss was {first:.3g} and is {last:.3g}"
    ]


def test_a_lowered_rate_is_resumed_to_the_same_numbers(sft_config: Make, ruin, tmp_path):
    settings = {**ruin, "on_alarm": "lower_lr"}
    plain = SftRun.whole(sft_config(output=str(tmp_path / "plain"), **ruin))
    whole = SftRun.whole(sft_config(output=str(tmp_path / "whole"), **settings))
    one, two = (comparable_metrics(run.folder.metrics) for run in (plain, whole))
    lowered = next(place for place, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    assert two[lowered]["train/lr"] == pytest.approx(one[lowered]["train/lr"] / 3)
    assert whole.trainer.rate == pytest.approx(0.1 * whole.trainer.alarms.rate_share)
    halves = sft_config(output=str(tmp_path / "halves"), **settings)
    with SftRun.start(halves) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == lowered + 1)
    with SftRun.resume(halves.output, halves) as run:
        assert run.trainer.rate == pytest.approx(0.1 / 3)
        run.train()
    assert comparable_metrics(run.folder.metrics) == two
    assert alarms(run.folder) == alarms(whole.folder)


def test_expert_iteration_lowers_its_rate_too_and_keeps_it(taught, tmp_path):
    """Rounds that learn everything that was played, at a rate that spoils it: from success to none."""
    settings = {
        "env": "spell_env:Toy/Spell-v0", "model": taught, "eval_episodes": 0, "max_new_tokens": 5,
        "groups": 4, "group_size": 4, "steps": 20, "lr": 0.05, "min_reward": -1.0, "select": "all",
        "on_alarm": "lower_lr", "output": str(tmp_path / "run"),
    }  # fmt: skip
    with ExpertRun.start(config := ExpertConfig(**settings)) as run:
        run.train()
        share = run.trainer.alarms.rate_share
    assert share < 1 and run.trainer.rate == pytest.approx(0.05 * share)
    assert any("on_alarm lower_lr" in line for line in alarms(run.folder))
    with ExpertRun.resume(config.output, config) as again:
        assert again.trainer.rate == run.trainer.rate


def test_a_warm_start_that_an_alarm_stops_is_no_start_of_anything(
    sft_config: Make, ruin, toy_config, tmp_path
):
    kept = ("env", "demonstrations", "batch_size", "max_new_tokens", "steps", "lr", "held_out", "warmup")
    values = sft_config(**ruin).to_mapping()
    lines = [f"{name}: {values[name]}" for name in kept]
    file = tmp_path / "warm.yaml"
    file.write_text("\n".join([*lines, "eval_episodes: 0", "on_alarm: stop"]) + "\n")
    config = toy_config(env="spell_env:Toy/Spell-v0", model=ruin["model"], warm_start=str(file))
    with pytest.raises(
        TrainingError, match=r"warm start in .* was stopped by an alarm \(loss above its start\)"
    ):
        TrainingRun.start(config)
