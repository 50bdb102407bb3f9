"""The main job in short: GRPO makes the shipped model read what it could not read before."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pixelis.agents.rl.run import train
from pixelis.agents.settings.rl import TrainConfig

CONFIG = Path(__file__).parents[2] / "configs" / "zoom_read.yaml"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_success_on_held_out_tasks_rises_by_at_least_fifteen_points(tmp_path: Path) -> None:
    settings = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    short = {"steps": 25, "minutes": None, "eval_episodes": 100, "output": str(tmp_path / "run")}
    short["baselines"] = False  # nobody looks at them here
    run = train(TrainConfig.from_mapping(settings | short))
    sampled = {phase: rows[1] for phase, rows in run.evaluations.items()}
    assert sampled["before"].mode == sampled["after"].mode == "sampled"
    assert sampled["before"].failed == sampled["after"].failed == 0
    assert sampled["after"].success_rate - sampled["before"].success_rate >= 0.15
