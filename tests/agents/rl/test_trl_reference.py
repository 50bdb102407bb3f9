"""Numbers that TRL's own code produced.

``trl_reference.json`` was written by TRL 1.16.0 (``_generate_and_score_completions`` of ``GRPOTrainer`` and
``RLOOTrainer``, ``GRPOTrainer._compute_loss``), run by
``benchmarks/quality/trl_reference.py`` in an environment of its own. TRL is no dependency of Pixelis.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pixelis.agents.losses.advantages import group_advantages
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.correction import CORRECTIONS, log_weights
from pixelis.agents.losses.kl import episode_kl
from pixelis.agents.losses.loss import LossInputs, LossSettings, grpo_loss

REFERENCE = json.loads(Path(__file__).with_name("trl_reference.json").read_text())
AGGREGATION_OF = {
    "grpo": "sequence_mean",
    "sapo": "sequence_mean",
    "dapo": "token_mean",
    "cispo": "token_mean",
    "dr_grpo": "constant",
}
GIVEN = {key: torch.tensor(value) for key, value in REFERENCE["given"].items()}
MASK = GIVEN["mask"].bool()


def name_of(case):
    return "-".join(f"{key}={value}" for key, value in case.items() if not isinstance(value, (list, dict)))


def settings_of(case, **changes):
    """Return our settings for those of TRL."""
    surrogate = case["loss_type"] if case["loss_type"] in ("cispo", "sapo") else "clip"
    return LossSettings(
        surrogate="dual_clip" if "delta" in case else surrogate,
        aggregation=AGGREGATION_OF[case["loss_type"]],
        ratio=case.get("importance_sampling_level", "token"),
        beta=case["beta"],
        kl_ratio=case.get("use_bias_correction_kl", False),
        epsilon_low=case["epsilon"],
        # TRL's epsilon_high is for CISPO the cap itself, here it is how far the cap lies above 1
        epsilon_high=case["epsilon_high"] - (surrogate == "cispo"),
        dual_clip=case.get("delta", 3.0),
        sapo_positive=case.get("sapo_temperature_pos", 1.0),
        sapo_negative=case.get("sapo_temperature_neg", 1.05),
        **changes,
    )


def loss_of(settings, old, began=None):
    """Return our loss on the given numbers, and its gradient."""
    numbers = {key: GIVEN[key].double() for key in ("logprobs", "reference", "advantages")}
    logprobs = numbers["logprobs"].requires_grad_()
    counts = StepCounts(int(MASK.sum()), len(MASK), REFERENCE["max_completion_length"])
    result = grpo_loss(
        LossInputs(logprobs, old, numbers["advantages"], MASK, numbers["reference"], began), settings, counts
    )
    (gradient,) = torch.autograd.grad(result.loss, logprobs)
    return result, gradient.numpy()


def test_the_numbers_come_from_trl():
    assert REFERENCE["source"].startswith("TRL 1.16.0")
    counts = {key: len(REFERENCE[key]) for key in ("advantages", "losses", "corrections", "penalised")}
    assert counts == {"advantages": 12, "losses": 20, "corrections": 12, "penalised": 2}
    assert len({case["loss"] for case in REFERENCE["losses"] + REFERENCE["corrections"]}) == 32


@pytest.mark.parametrize("case", REFERENCE["advantages"])
def test_advantages(case):
    rewards = np.array([[np.nan if value is None else value for value in group] for group in case["rewards"]])
    np.testing.assert_allclose(
        group_advantages(rewards, case["scale"]), case["advantages"], rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("case", REFERENCE["losses"], ids=name_of)
def test_loss_and_gradient(case):
    settings = settings_of(case)
    result, gradient = loss_of(settings, GIVEN["old"].double())
    assert result.loss.item() == pytest.approx(case["loss"], rel=1e-6)
    np.testing.assert_allclose(gradient, case["gradient"], rtol=1e-5, atol=1e-8)
    logged = case["logged"]
    if settings.surrogate == "clip" and settings.ratio == "token":  # elsewhere TRL counts something else
        assert result.clipped_low / result.tokens == pytest.approx(logged["clip_ratio/low_mean"], rel=1e-6)
        assert result.clipped_high / result.tokens == pytest.approx(logged["clip_ratio/high_mean"], rel=1e-6)
    if case["beta"]:
        assert result.kl / result.tokens == pytest.approx(logged["kl"], rel=1e-6)


@pytest.mark.parametrize("case", REFERENCE["corrections"], ids=name_of)
def test_correction(case):
    level, _, cut = case["vllm_importance_sampling_mode"].partition("_")
    cap = case["vllm_importance_sampling_clip_max"]
    old, sampler = GIVEN["old"].double(), GIVEN["sampler"].double()
    weights = CORRECTIONS[cut](log_weights(old, sampler, MASK, level).exp(), cap)
    np.testing.assert_allclose(weights[MASK], np.array(case["weights"])[MASK.numpy()], rtol=1e-5)

    settings = settings_of(case, correction=cut, correction_level=level, correction_cap=cap)
    result, gradient = loss_of(settings, sampler, old)
    assert result.loss.item() == pytest.approx(case["loss"], rel=1e-5)
    np.testing.assert_allclose(gradient, case["gradient"], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("case", REFERENCE["penalised"], ids=name_of)
def test_kl_in_the_reward(case):
    lengths = torch.tensor(case["lengths"])
    inside = torch.arange(6)[None] < lengths[:, None]
    kl = episode_kl(GIVEN["old"].double(), GIVEN["reference"].double(), inside, "k1").numpy()
    rewards = np.array(case["rewards"]) - case["beta"] * kl
    np.testing.assert_allclose(
        group_advantages(rewards, "leave_one_out"), case["advantages"], rtol=1e-5, atol=1e-6
    )
