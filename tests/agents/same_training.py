"""Whether two runs are one, up to the rounding of sums."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.runs.metrics import comparable_metrics

APART = {"policy/mismatch", "policy/chi_squared", "policy/noise_scale", "tokens/trained"}
"""Of rounding alone, or of the split into micro-batches."""


def assert_same_training(one: Path, other: Path, weights_apart: float = 1e-4) -> None:
    """Check that two runs are the same up to the rounding of sums."""
    rows = [comparable_metrics(folder / "metrics.jsonl") for folder in (one, other)]
    assert len(rows[0]) == len(rows[1]) > 0
    for expected, found in zip(*rows, strict=True):
        assert expected.keys() == found.keys()
        for name in expected.keys() - APART:
            is_number = isinstance(expected[name], (int, float))
            near = pytest.approx(expected[name], rel=1e-3, abs=1e-5) if is_number else expected[name]
            assert found[name] == near, name
    weights = [
        load_file(latest_checkpoint(folder / "checkpoints") / "adapter" / "adapter_model.safetensors")
        for folder in (one, other)
    ]
    norms = [
        found[0]["policy/grad_norm"] for found in rows
    ]  # of the first step: the same weights, the same sum
    assert norms[1] == pytest.approx(norms[0], rel=1e-5)
    for name, expected in weights[
        0
    ].items():  # AdamW's first steps are signs: rounding of a gradient near 0 shows
        torch.testing.assert_close(weights[1][name], expected, rtol=0, atol=weights_apart)
