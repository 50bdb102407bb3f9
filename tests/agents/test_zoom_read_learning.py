"""The main job in short: GRPO makes the shipped model read what it could not read before."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lasting import lasts

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.phases import play_phase
from pixelis.agents.settings.rl import TrainConfig

CONFIG = Path(__file__).parents[2] / "configs" / "zoom_read.yaml"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_success_on_held_out_tasks_rises_by_at_least_fifteen_points(tmp_path: Path) -> None:
    """Training ends early where its own tasks say that it is there; the held-out ones are asked once."""
    settings = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    short = {"steps": 25, "minutes": None, "eval_episodes": 100, "output": str(tmp_path / "run")}
    rates: list[float] = []
    with TrainingRun.start(TrainConfig.from_mapping(settings | short)) as run:
        (before,) = play_phase(run, "before", [("before", "sampled")])
        assert before.success_rate is not None
        enough = before.success_rate + 0.25
        run.train(
            on_step=lambda row: rates.append(row["success/rate"]),
            should_stop=lambda: lasts(rates, enough, 4),
        )
        (after,) = play_phase(run, "after", [("after", "sampled")])
    assert after.success_rate is not None
    assert before.mode == after.mode == "sampled"
    assert before.failed == after.failed == 0
    assert after.success_rate - before.success_rate >= 0.15
