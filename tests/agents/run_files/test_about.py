"""``about.json``: the version of the metrics, and what was counted at the start."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.about import ABOUT, METRICS_VERSION, read_about, write_about
from pixelis.agents.runs.learning_rate import count_parameters
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.errors import CheckpointError


def test_a_run_says_its_version_and_what_is_trained(toy_config):
    config = toy_config(steps=1)
    run = train(config)
    about = read_about(run.folder.path)
    assert list(about) == ["metrics_version", "traits", "id", "trained_parameters", "parameters"]
    assert about["metrics_version"] == METRICS_VERSION and len(about["id"]) == 8
    assert about["trained_parameters"] == sum(each.numel() for each in run.policy.trainable_parameters())
    assert about["parameters"] == count_parameters(run.policy.model)
    with TrainingRun.resume(run.folder.path, config.with_values(steps=2)) as resumed:
        resumed.train()
    assert read_about(run.folder.path) == about  # its name elsewhere stays the same


@pytest.mark.parametrize("left", [None, "{", "[1]"])
def test_a_run_of_before_there_was_such_a_file_is_read_and_goes_on(toy_config, left, tmp_path):
    config = toy_config(steps=4, checkpoint_every=2)
    whole = comparable_metrics(train(config.with_values(output=str(tmp_path / "whole"))).folder.metrics)
    run = train(config.with_values(steps=2))
    (run.folder.path / ABOUT).unlink()
    if left is not None:
        (run.folder.path / ABOUT).write_text(left)
    assert len(read_metrics(run.folder.metrics)) == 2
    with TrainingRun.resume(run.folder.path, config) as resumed:
        resumed.train()
    assert comparable_metrics(run.folder.metrics) == whole
    assert read_about(run.folder.path)["metrics_version"] == METRICS_VERSION


@pytest.mark.parametrize("version", [METRICS_VERSION + 1, "2"])
def test_metrics_of_a_newer_version_are_not_read_as_if_they_were_ours(tmp_path, version):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    (tmp_path / ABOUT).write_text(json.dumps({"metrics_version": version}))
    with pytest.raises(
        CheckpointError, match=f"are of version {version!r}, and this Pixelis reads version 1"
    ):
        read_metrics(tmp_path / "metrics.jsonl")
    with pytest.raises(CheckpointError, match="update Pixelis"):
        write_about(tmp_path, {})


def test_facts_are_added_to_those_that_are_there(tmp_path):
    write_about(tmp_path, {"id": "ab"})
    assert write_about(tmp_path, {"more": 1}) == {"metrics_version": METRICS_VERSION, "id": "ab", "more": 1}
