"""The model of what a step costs, by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # torch is imported


@pytest.fixture
def cost_model(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "speed"))
    import cost_model

    yield cost_model
    del sys.modules["cost_model"]


@pytest.fixture
def parts(cost_model):
    return cost_model.StepParts(play=8.0, learn=3.0, own=1.0, weights=2.0, episodes=4.0)


@pytest.mark.parametrize(
    ("workers", "learners", "more", "seconds"),
    [
        (1, 1, {}, 12.0),
        (4, 1, {}, 8 / 4 + 3 + 1),
        (4, 3, {}, 8 / 4 + 1 + 1),
        (4, 1, {"bandwidth": 6.0}, 8 / 4 + (2 * 4 + 4) / 6 + 4),
        (4, 1, {"ahead": True}, 4.0),  # learning takes longer
        (1, 1, {"ahead": True}, 8.0),  # playing does
        (4, 1, {"processors": 2.0}, 8 / 4 * 2 + 4),  # four on two: as fast as two
        (1, 1, {"ahead": True, "processors": 2.0}, 8.0),
        (2, 1, {"ahead": True, "processors": 2.0}, 4 * 1.5),  # three on two, all the time
        (4, 1, {"ahead": True, "processors": 2.0}, 2 * 2.5 + (4 - 2) * 1.0),  # five, then the learner alone
    ],
)
def test_seconds_of_a_step(parts, workers, learners, more, seconds):
    assert parts.seconds(workers, learners, **more) == pytest.approx(seconds)


def test_parts_are_medians_of_what_is_logged(cost_model):
    row = {"time/generation": 2.0, "time/env": 1.0, "time/rewards": 0.5, "time/update": 3.0}
    rows = [row | {"time/reference": 1.0, "time/step": step} for step in (9.0, 8.0, 20.0)]
    assert cost_model.StepParts.of(rows) == cost_model.StepParts(play=3.5, learn=4.0, own=1.5)


def test_a_thousand_workers_wait_for_their_weights(cost_model, parts):
    rows = cost_model.extrapolated(parts, worker_price=0.36, learner_price=3.6).splitlines()
    assert rows[2] == "| 1 | 1 | 12.00 | 8.00 | playing | 8.81 |"  # (.36 + 3.6) * 8.005 / 3.6
    assert "sending weights" in rows[-1]  # 2 MB to each of 1,000 by 1,250 MB/s is 1.6 s
