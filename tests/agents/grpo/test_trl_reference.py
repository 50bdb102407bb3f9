"""Numbers that TRL's own code produced.

``trl_reference.json`` was written by TRL 1.16.0 (``GRPOTrainer._generate_and_score_completions`` for the
advantages, ``GRPOTrainer._compute_loss`` with ``use_bias_correction_kl=False`` for the losses and their
gradients), run by ``benchmarks/trl_reference.py`` in an environment of its own. TRL is no dependency of
Pixelis.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pixelis.agents.grpo.advantages import group_advantages
from pixelis.agents.grpo.aggregation import StepCounts
from pixelis.agents.grpo.loss import LossInputs, LossSettings, grpo_loss

REFERENCE = json.loads(Path(__file__).with_name("trl_reference.json").read_text())
AGGREGATION_OF = {"grpo": "sequence_mean", "dapo": "token_mean", "dr_grpo": "constant"}


def loss_name(case):
    return f"{case['loss_type']}-beta{case['beta']}"


def test_the_numbers_come_from_trl():
    assert REFERENCE["source"].startswith("TRL 1.16.0")
    assert len(REFERENCE["advantages"]) == 9 and len(REFERENCE["losses"]) == 6


@pytest.mark.parametrize("case", REFERENCE["advantages"])
def test_advantages(case):
    rewards = np.array([[np.nan if value is None else value for value in group] for group in case["rewards"]])
    np.testing.assert_allclose(
        group_advantages(rewards, case["scale"]), case["advantages"], rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("case", REFERENCE["losses"], ids=loss_name)
def test_loss_and_gradient(case):
    given = {key: torch.tensor(value) for key, value in REFERENCE["given"].items()}
    numbers = {key: given[key].double() for key in ("logprobs", "old", "reference", "advantages")}
    logprobs = numbers["logprobs"].requires_grad_()
    mask = given["mask"].bool()
    settings = LossSettings(
        aggregation=AGGREGATION_OF[case["loss_type"]],
        beta=case["beta"],
        epsilon_low=case["epsilon"],
        epsilon_high=case["epsilon_high"],
    )
    counts = StepCounts(int(mask.sum()), len(mask), REFERENCE["max_completion_length"])
    inputs = LossInputs(logprobs, numbers["old"], numbers["advantages"], mask, numbers["reference"])
    result = grpo_loss(inputs, settings, counts)
    result.loss.backward()

    assert logprobs.grad is not None
    assert result.loss.item() == pytest.approx(case["loss"], rel=1e-6)
    np.testing.assert_allclose(logprobs.grad.numpy(), case["gradient"], rtol=1e-5, atol=1e-8)
    logged = case["logged"]
    assert result.clipped_low / result.tokens == pytest.approx(logged["clip_ratio/low_mean"], rel=1e-6)
    assert result.clipped_high / result.tokens == pytest.approx(logged["clip_ratio/high_mean"], rel=1e-6)
    if case["beta"]:
        assert result.kl / result.tokens == pytest.approx(logged["kl"], rel=1e-6)
