"""The table of runs by what sampled them, and how curves are smoothed."""

from __future__ import annotations

import pytest
import vllm_learning


def run(after):
    rates = {"before": (0.5, [0.4, 0.6]), "after": after}
    phases = {
        phase: {mode: {"success": value, "interval": interval} for mode in vllm_learning.MODES}
        for phase, (value, interval) in rates.items()
    }
    medians = {"policy/mismatch": 0.0000123, "time/generation": 3.0, "time/step": 4.25}
    return {**phases, "curve": {"success/rate": [0.5, 0.7]}, "medians": medians}


def test_the_table_by_hand():
    result = {"samplers": {"this process": {"1": run((0.9, [0.85, 0.95]))}, "vLLM": {}}}
    change = "0.500 (0.400–0.600) → **0.900 (0.850–0.950)**"
    assert vllm_learning.table(result).splitlines()[2:] == [
        f"| this process | 1 | {change} | {change} | 0.600 | 1.2e-05 | 4.2 |"
    ]


def test_means_of_five_steps_by_hand():
    assert vllm_learning.smoothed([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]) == pytest.approx(
        [1, 0.5, 1 / 3, 0.5, 0.6, 0.4]
    )
