"""The surrogates, case by case: value and gradient worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.losses.surrogate import SURROGATES, SurrogateConstants, SurrogateInputs

CONSTANTS = SurrogateConstants(
    epsilon_low=0.2, epsilon_high=0.3, dual_clip=3.0, sapo_positive=1.0, sapo_negative=2.0
)
LOGPROB = -2.0


def evaluate(name, ratio, advantage, constants=CONSTANTS):
    """Return the surrogate at one token, and its gradient with respect to the token's log-probability."""
    logprobs = torch.tensor([[LOGPROB]], dtype=torch.float64, requires_grad=True)
    log_ratio = logprobs - LOGPROB + math.log(ratio)
    mask = torch.ones(1, 1, dtype=torch.bool)
    result = SURROGATES[name](
        SurrogateInputs(log_ratio, torch.tensor([[advantage]], dtype=torch.float64), logprobs, mask),
        constants,
    )
    (gradient,) = torch.autograd.grad(result.loss.sum(), logprobs)
    return result, gradient.item()


# (ratio, advantage) -> loss, gradient, low clipped, high clipped; range 0.8 to 1.3
CLIP = [
    pytest.param(1.0, 2.0, -2.0, -2.0, 0, 0, id="on policy, good"),
    pytest.param(1.0, -2.0, 2.0, 2.0, 0, 0, id="on policy, bad"),
    pytest.param(1.5, 2.0, -2.6, 0.0, 0, 1, id="good and already far up: held at 1.3 x 2"),
    pytest.param(0.5, 2.0, -1.0, -1.0, 0, 0, id="good but less likely than before: pulled back, 0.5 x 2"),
    pytest.param(0.5, -2.0, 1.6, 0.0, 1, 0, id="bad and already far down: held at 0.8 x 2"),
    pytest.param(1.5, -2.0, 3.0, 3.0, 0, 0, id="bad but more likely than before: pushed down, 1.5 x 2"),
]


@pytest.mark.parametrize(("ratio", "advantage", "loss", "gradient", "low", "high"), CLIP)
@pytest.mark.parametrize("name", ["clip", "dual_clip"])
def test_clip_by_hand(name, ratio, advantage, loss, gradient, low, high):
    result, slope = evaluate(name, ratio, advantage)
    assert result.loss.item() == pytest.approx(loss)
    assert slope == pytest.approx(gradient)
    assert (result.clipped_low.item(), result.clipped_high.item()) == (low, high)


@pytest.mark.parametrize(
    ("name", "ratio", "advantage", "loss", "gradient", "high"),
    [
        pytest.param("clip", 5.0, -2.0, 10.0, 10.0, 0, id="clip: a bad token costs 5 x 2, without bound"),
        pytest.param("dual_clip", 5.0, -2.0, 6.0, 0.0, 1, id="dual clip: held at c |A| = 3 x 2"),
        pytest.param("dual_clip", 2.9, -2.0, 5.8, 5.8, 0, id="dual clip: 2.9 is below c, 2.9 x 2"),
        pytest.param("dual_clip", 5.0, 2.0, -2.6, 0.0, 1, id="dual clip: a good token as before, 1.3 x 2"),
        pytest.param("dual_clip", 5.0, 0.0, 0.0, 0.0, 0, id="dual clip: no advantage"),
    ],
)
def test_dual_clip_by_hand(name, ratio, advantage, loss, gradient, high):
    result, slope = evaluate(name, ratio, advantage)
    assert result.loss.item() == pytest.approx(loss)
    assert slope == pytest.approx(gradient)
    assert result.clipped_high.item() == high


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "high"),
    [
        # loss = -min(w, 1.3) A log pi with log pi = -2; gradient = -min(w, 1.3) A
        pytest.param(1.0, 2.0, 4.0, -2.0, 0, id="1 x 2 x 2"),
        pytest.param(0.5, 2.0, 2.0, -1.0, 0, id="0.5 x 2 x 2: no lower bound"),
        pytest.param(5.0, 2.0, 5.2, -2.6, 1, id="1.3 x 2 x 2: capped, and still a gradient"),
        pytest.param(5.0, -2.0, -5.2, 2.6, 1, id="a bad token likewise"),
        pytest.param(5.0, 0.0, 0.0, 0.0, 0, id="no advantage"),
    ],
)
def test_cispo_by_hand(ratio, advantage, loss, gradient, high):
    result, slope = evaluate("cispo", ratio, advantage)
    assert result.loss.item() == pytest.approx(loss)
    assert slope == pytest.approx(gradient)
    assert result.clipped_low is None and result.clipped_high.item() == high


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
    [
        # loss = -(4/t) s(t (w - 1)) A; gradient = -4 s (1 - s) w A. At w = 1, s = 1/2: 4 x 1/4 = 1.
        pytest.param(1.0, 2.0, -4.0, -2.0, id="on policy, good: 4/1 x 1/2 x 2"),
        pytest.param(1.0, -2.0, 2.0, 2.0, id="on policy, bad: 4/2 x 1/2 x 2"),
        # s(1 x 2) = 0.880797, s (1 - s) = 0.104994: 4 x 0.880797 x 2 and 4 x 0.104994 x 3 x 2
        pytest.param(3.0, 2.0, -7.046376, -2.519845, id="good and far up: damped from 6"),
        # s(2 x 2) = 0.982014, s (1 - s) = 0.017663: 2 x 0.982014 x 2 and 4 x 0.017663 x 3 x 2
        pytest.param(3.0, -2.0, 3.928055, 0.423905, id="bad and far up: damped more, by t = 2"),
    ],
)
def test_sapo_by_hand(ratio, advantage, loss, gradient):
    result, slope = evaluate("sapo", ratio, advantage)
    assert result.loss.item() == pytest.approx(loss, rel=1e-6)
    assert slope == pytest.approx(gradient, rel=1e-5)
    assert result.clipped_low is None and result.clipped_high is None


@pytest.mark.parametrize("name", ["clip", "dual_clip", "cispo", "sapo"])
@settings(max_examples=20)
@given(advantage=st.floats(-5, 5))
def test_on_policy_every_surrogate_has_the_policy_gradient(name, advantage):
    _, slope = evaluate(name, 1.0, advantage)
    assert slope == pytest.approx(-advantage)


@settings(max_examples=50)
@given(ratio=st.floats(0.01, 100), advantage=st.floats(-5, 5))
def test_dual_clip_never_costs_more_than_clip_nor_more_than_its_bound(ratio, advantage):
    inner, outer = (evaluate(name, ratio, advantage)[0].loss.item() for name in ("clip", "dual_clip"))
    assert outer <= inner + 1e-12
    assert outer <= 3 * abs(advantage) + 1e-12


@settings(max_examples=50)
@given(ratio=st.floats(0.01, 1e6), advantage=st.floats(-5, 5))
def test_the_soft_gate_lies_between_0_and_4_over_t(ratio, advantage):
    result, slope = evaluate("sapo", ratio, advantage)
    bound = 4 if advantage > 0 else 2
    assert 0 <= -result.loss.item() * math.copysign(1, advantage) <= bound * abs(advantage) + 1e-12
    assert abs(slope) <= 2 * abs(advantage) + 1e-12


@pytest.mark.parametrize(
    "shapes", [((2, 3), (2,), (2, 3)), ((2, 3), (3, 1), (2, 3)), ((2, 3), (2, 1), (2, 4)), ((2,), (2,), (2,))]
)
def test_shapes_are_checked(shapes):
    log_ratio, advantages, logprobs = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match="must be"):
        SurrogateInputs(log_ratio, advantages, logprobs, logprobs.bool())


@pytest.mark.parametrize(
    ("name", "advantage", "gradient"),
    [
        ("clip", 1.0, 0.0),
        ("dual_clip", -1.0, 0.0),
        ("sapo", 1.0, 0.0),
        ("sapo", -1.0, 0.0),
        ("cispo", 1.0, -1.3),
    ],
)
def test_a_ratio_beyond_every_float_leaves_a_gradient_that_is_a_number(name, advantage, gradient):
    logprobs = torch.zeros(1, 1, requires_grad=True)  # float32, whose exponential ends at 88
    inputs = (logprobs + 100.0, torch.full((1, 1), advantage), logprobs, torch.ones(1, 1, dtype=torch.bool))
    (slope,) = torch.autograd.grad(SURROGATES[name](SurrogateInputs(*inputs), CONSTANTS).loss.sum(), logprobs)
    assert slope.item() == pytest.approx(gradient)
