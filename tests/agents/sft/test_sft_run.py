"""Whole SFT runs: they learn, they resume to the same numbers, they follow their curriculum."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pixelis.agents.models.policy import Policy
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.evaluation_file import read_evaluations
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun, fitting
from pixelis.errors import CheckpointError, ConfigError

CURRICULUM = {
    "one letter": {"mix": {0: 1.0}, "threshold": 0.9, "patience": 2},
    "two": {"mix": {0: 0.3, 1: 0.7}, "metric": "loss", "threshold": 0.3},
    "three": {"mix": {1: 0.5, 2: 0.5}},
}


def train(config: SftConfig, until: int | None = None) -> SftRun:
    """Train, or stop after the step ``until`` as Ctrl-C does."""
    with SftRun.start(config) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == until)
    return run


def resume(folder: Path) -> SftRun:
    with SftRun.resume(folder, SftConfig.from_mapping(settings_of(folder))) as run:
        run.train()
    return run


def test_an_oracle_is_learnt_and_the_adapter_plays(sft_config: Callable[..., SftConfig], letter_model: Path):
    changes = {"demonstrations": 200, "batch_size": 16, "env_kwargs": {"noise": 3}}
    config = sft_config(steps=None, epochs=8, eval_episodes=40, **changes)
    with SftRun.start(config) as run:
        assert run.evaluates
        run.evaluate("before")
        run.train()
        run.evaluate("after")
    before, after = (run.evaluations[phase][0].success_rate for phase in ("before", "after"))
    assert before < 0.4 and after > 0.9
    assert read_evaluations(run.folder.evaluation) == run.evaluations
    metrics = comparable_metrics(run.folder.metrics)
    assert run.trainer.total_steps == len(metrics) == 8 * 12  # 180 demonstrations are not held out
    assert metrics[0]["train/loss"] > 1.5 and metrics[-1]["held_out/loss"] < 0.1
    assert metrics[-1]["held_out/accuracy"] > 0.95
    assert metrics[-1]["train/epochs"] == pytest.approx(8)
    assert [row["step"] for row in metrics if "held_out/loss" in row][:2] == [3, 6]
    policy = Policy.load(run.adapter, device="cpu")
    assert policy.has_adapter and Path(policy.base_name) == letter_model


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"packing": True, "lora": {"dropout": 0.2}, "micro_batch_size": 3},
        {"diversity": {"measure": "ngrams", "weight": 0.5, "every": 2}},
        {"curriculum": {"stages": CURRICULUM, "rollback_tolerance": 0.0}, "steps": 12, "eval_every": 2},
    ],
)
def test_a_run_that_was_stopped_equals_one_that_was_not(
    changes: dict[str, object], sft_config: Callable[..., SftConfig], tmp_path: Path
):
    whole = train(sft_config(output=str(tmp_path / "whole"), **changes))
    stopped = train(sft_config(checkpoint_every=2, **changes), until=5)
    assert len(comparable_metrics(stopped.folder.metrics)) == 5
    again = resume(stopped.folder.path)
    assert comparable_metrics(again.folder.metrics) == comparable_metrics(whole.folder.metrics)
    files = [run.adapter / "adapter_model.safetensors" for run in (again, whole)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_stage_of_some_steps_is_left_after_them_however_seldom_it_is_measured(
    sft_config: Callable[..., SftConfig],
):
    stages = {"one letter": {"mix": {0: 1.0}, "steps": 3}, "both": {"mix": {0: 0.5, 1: 0.5}}}
    run = train(sft_config(curriculum={"stages": stages, "rollback_patience": 0}, steps=5, eval_every=20))
    assert [row["curriculum/stage"] for row in run.metrics] == [0, 0, 0, 1, 1]


@pytest.mark.slow
def test_the_curriculum_leads_from_easy_to_hard(sft_config: Callable[..., SftConfig]):
    stages = {"one letter": CURRICULUM["one letter"], "both": {"mix": {0: 0.3, 1: 0.7}}}
    changes = {
        "steps": 200,
        "eval_every": 10,
        "demonstrations": 300,
        "batch_size": 16,
        "env_kwargs": {"noise": 2},
    }
    run = train(sft_config(curriculum={"stages": stages, "rollback_patience": 0}, **changes))
    metrics = comparable_metrics(run.folder.metrics)
    curriculum = run.trainer.curriculum
    assert curriculum is not None
    ((switched, event, stage),) = curriculum.history
    assert (event, stage) == ("advance", 1) and switched >= 20  # a patience of two measurements
    assert [row["curriculum/stage"] for row in metrics] == [0] * switched + [1] * (200 - switched)
    before, after = metrics[switched - 1], metrics[-1]
    assert before["held_out/accuracy/level0"] >= 0.9 and after["held_out/accuracy/level0"] >= 0.9
    assert after["held_out/accuracy/level1"] > before["held_out/accuracy/level1"] + 0.08
    assert f"step {switched}: advance to stage 'both'" in (run.folder.path / "log.txt").read_text()


def test_a_chat_file_is_enough(sft_config: Callable[..., SftConfig], tmp_path: Path):
    file = tmp_path / "pairs.jsonl"
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")] * 8
    lines = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]} for q, a in pairs
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = train(sft_config(env=None, data=str(file), demonstrations=512, steps=40, held_out=0.0))
    assert run.env is None and not run.evaluates
    assert run.metrics[0]["train/loss"] > 1.5 and run.metrics[-1]["train/loss"] < 0.1
    with pytest.raises(ConfigError, match="give --env"):
        run.evaluate("after")

    file.write_text(file.read_text().replace('"b"', '"h"'))
    with pytest.raises(CheckpointError, match="the demonstrations are not those"):
        resume(run.folder.path)


def test_a_bad_file_leaves_no_folder_behind(sft_config: Callable[..., SftConfig], tmp_path: Path):
    file = tmp_path / "bad.jsonl"
    file.write_text("{}\n")
    config = sft_config(env=None, data=str(file), demonstrations=512)
    with pytest.raises(ConfigError, match="line 1"):
        SftRun.start(config)
    assert not Path(str(config.output)).exists()


def test_other_settings_are_refused_on_resume(sft_config: Callable[..., SftConfig]):
    run = train(sft_config(steps=1))
    with pytest.raises(CheckpointError, match=r"lr was 0\.01 and is 0\.5"):
        SftRun.resume(run.folder.path, sft_config(steps=1, lr=0.5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": None}, "give --env .* or --data"),
        ({"curriculum": {"stages": CURRICULUM}, "steps": None}, "give --steps"),
        ({"curriculum": {"stages": CURRICULUM}, "held_out": 0.0}, "--held-out above 0"),
        ({"curriculum": {"stages": {"a": {"mix": {0: 1}}, "b": {"mix": {1: 1}}}}}, "'a' can never be left"),
        ({"curriculum": {"stages": {"a": 3}}}, "stages.a must be a mapping of settings"),
        ({"held_out": 1.0}, "held_out must be a finite number of at least 0 and below 1"),
        ({"epoch": 1}, "Did you mean 'epochs'"),
    ],
)
def test_wrong_settings_are_refused(
    changes: dict[str, object], message: str, sft_config: Callable[..., SftConfig]
):
    with pytest.raises(ConfigError, match=message):
        sft_config(**changes)


def test_a_demonstrator_that_is_not_there_is_told(sft_config: Callable[..., SftConfig]):
    with pytest.raises(ConfigError, match="Did you mean 'oracle'"):
        SftRun.start(sft_config(demonstrator="orcale"))


def test_what_does_not_fit_into_the_context_is_left_out(caplog: pytest.LogCaptureFixture):
    from pixelis.agents.episodes.episode import Episode, Segment

    episodes = [Episode("", n, n, 0, [Segment.given([1] * n)]) for n in (3, 9, 5)]
    assert [episode.seed for episode in fitting(episodes, 5)] == [3, 5]
    assert "1 of 3 demonstrations are longer than the model's context of 5 tokens" in caplog.text
    assert fitting(episodes, None) == episodes


def test_without_an_output_the_folder_is_named_after_the_data(
    sft_config: Callable[..., SftConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    run = train(sft_config(output=None, steps=0))
    assert run.folder.path.as_posix().startswith("runs/sft-spell-letter_model")
    assert run.adapter.is_dir()
