"""The table of algorithms: how soon each got there, and means and ranges of its seeds."""

from __future__ import annotations

import algorithms


def curve(*success):
    return {"success/rate": list(success), "minutes": [0.5 * (at + 1) for at in range(len(success))]}


def run(before, after, success):
    rates = {"before": before, "after": after}
    phases = {phase: {mode: {"success": rate} for mode in algorithms.MODES} for phase, rate in rates.items()}
    return {**phases, "steps": len(success), "curve": curve(*success)}


def test_minutes_to_a_success_by_hand():
    assert algorithms.minutes_to(curve(0.6, 0.7, 0.8, 0.9, 0.9, 0.9)) == 3.0  # .78, then .84
    assert algorithms.minutes_to(curve(1.0, 1.0, 1.0, 1.0)) is None  # four steps are too few
    assert algorithms.minutes_to(curve(0.8, 0.8, None, 0.8, 0.8)) is None


def test_the_table_by_hand():
    seeds = {"1": run(0.5, 0.9, [0.8] * 5), "2": run(0.5, 0.7, [0.6] * 7)}
    told = algorithms.table({"environments": {"ZoomRead": {"algorithms": {"RLOO": seeds}}}}).splitlines()
    change = "0.500 → **0.800** (0.700–0.900)"
    assert told[2:] == [f"| ZoomRead | RLOO | 2 | 6 | {change} | {change} | 2.5, – |"]
