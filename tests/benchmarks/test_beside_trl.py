"""The table of learning beside TRL, by values worked out by hand."""

from __future__ import annotations

import beside_trl
import pytest


def curve(minutes: float, *success: float) -> list[dict[str, float]]:
    """Return a run whose steps took so long each."""
    return [{"minutes": minutes * (step + 1), "success": value} for step, value in enumerate(success)]


def test_steps_until_the_mean_of_five_is_reached():
    success = [0.5, 0.5, 0.5, 0.5, 0.5, 1, 1, 0]  # means of five: .5, .6, .7, .6
    steps = [beside_trl.steps_to(success, level) for level in (0.5, 0.6, 0.65, 0.7, 0.71)]
    assert steps == [5, 6, 7, 7, None]
    assert beside_trl.best(success) == pytest.approx(0.7)
    assert beside_trl.best(success[:2]) == 0.5  # fewer than five: all there are
    assert beside_trl.steps_to(success[:2], 0.1) is None


def test_a_row_is_compared_with_the_trl_of_its_seed_and_settings():
    held_out = {mode: {"success": 0.5, "interval": [0.4, 0.6]} for mode in ("sampled", "greedy")}
    slow = {"curve": curve(2, *[0.75] * 5, 0.8), "held_out": held_out}  # best: .76, of its last five
    fast = {"curve": curve(0.5, *[0.7] * 5, 1, 1), "held_out": held_out}  # .76 after six steps
    arms = {"ours, equal settings": {"1": fast, "2": fast}, "TRL, equal settings": {"1": slow}}
    lines = beside_trl.table({"arms": arms, "start": held_out}).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][2:6] == [
        "steps",
        "seconds a step",
        "minutes to its TRL's best",
        "episodes to 0.8 and 0.88",
    ]
    assert [row[:6] for row in cells[3:]] == [
        ["ours, equal settings", "1", "7", "30.0", "3.0", "448, never"],
        ["ours, equal settings", "2", "7", "30.0", "", "448, never"],
        ["TRL, equal settings", "1", "6", "120.0", "12.0", "never, never"],
    ]
