"""Every configuration in ``configs/`` is one that the trainer accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.agents.grpo.term_rewards import build_rewards
from pixelis.cli import sft, train
from pixelis.envs.registration import check_env_id

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))


def test_there_is_one_for_the_main_job():
    assert "zoom_read.yaml" in [path.name for path in CONFIGS]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_it_is_accepted(path):
    read = sft.COMMAND.read if path.stem.endswith("_sft") else train.read_settings
    config, resume = read(["--config", str(path)])
    assert resume is None
    assert check_env_id(config.env) == config.env
    rewards = getattr(config, "rewards", {})  # agents without language have none
    assert (build_rewards(rewards) is not None) == ("rewards:" in path.read_text())
