"""AdamW with warm-up, clipping, and a refusal to apply what is not finite."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.optimisation.optimiser import Optimiser, schedule
from pixelis.errors import TrainingError


def parameter():
    return torch.nn.Parameter(torch.tensor([1.0, -2.0]))


def step(optimiser, weights, gradient, loss=0.0):
    weights.grad = torch.tensor(gradient)
    return optimiser.step(loss)


def test_warm_up_is_linear():
    weights = parameter()
    optimiser = Optimiser([weights], lr=0.8, warmup_steps=3)
    rates = []
    for _ in range(5):
        rates.append(optimiser.lr)
        step(optimiser, weights, [1.0, 1.0])
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8])


def test_the_rate_falls_to_a_tenth_and_stays():
    # 1 - 0.9 n / 4 from n = 0, and half of the rate at n = 0 for a warm-up of one step
    shares = [schedule(done, warmup_steps=1, decay_steps=4) for done in range(7)]
    assert shares == pytest.approx([0.5, 0.775, 0.55, 0.325, 0.1, 0.1, 0.1])
    assert schedule(1000, 0, 0) == 1.0


@given(st.integers(0, 10_000), st.integers(0, 100), st.integers(0, 1000))
def test_the_rate_is_a_share(done, warmup_steps, decay_steps):
    assert 0.0 < schedule(done, warmup_steps, decay_steps) <= 1.0


def test_the_first_step_of_adam_by_hand():
    # m / (sqrt(v) + eps) is the gradient's sign, whatever its length
    weights = parameter()
    norm = step(Optimiser([weights], lr=0.1), weights, [3.0, -4.0])
    assert norm == pytest.approx(5.0)
    torch.testing.assert_close(weights.data, torch.tensor([0.9, -1.9]))


def test_the_gradient_is_clipped_by_norm():
    weights = parameter()
    step(Optimiser([weights], lr=0.1, max_grad_norm=0.5), weights, [3.0, -4.0])
    assert weights.grad is not None
    torch.testing.assert_close(weights.grad, torch.tensor([0.3, -0.4]))


@pytest.mark.parametrize(
    ("loss", "gradient"),
    [(math.nan, [1.0, 1.0]), (math.inf, [1.0, 1.0]), (0.0, [math.nan, 1.0]), (0.0, [math.inf, 0.0])],
)
def test_what_is_not_finite_is_skipped(loss, gradient):
    weights = parameter()
    optimiser = Optimiser([weights], lr=0.1, warmup_steps=1)
    step(optimiser, weights, gradient, loss)
    assert weights.tolist() == [1.0, -2.0]
    assert optimiser.skipped == 1
    assert optimiser.lr == pytest.approx(0.05)  # the warm-up waits too


def test_three_in_a_row_end_the_training():
    weights = parameter()
    optimiser = Optimiser([weights], lr=0.1)
    for loss in (math.nan, math.nan, 1.0, math.nan, math.nan):
        step(optimiser, weights, [1.0, 1.0], loss)
    with pytest.raises(TrainingError, match="3 times in a row"):
        step(optimiser, weights, [1.0, 1.0], math.nan)
    assert optimiser.skipped == 5


def test_the_state_goes_on_exactly():
    def run(optimiser, weights, steps):
        for number in steps:
            step(optimiser, weights, [math.sin(number), math.cos(number)])

    whole, half = parameter(), parameter()
    first = Optimiser([whole], lr=0.1, warmup_steps=4, weight_decay=0.1)
    run(first, whole, range(6))
    second = Optimiser([half], lr=0.1, warmup_steps=4, weight_decay=0.1)
    run(second, half, range(3))
    third = Optimiser([half], lr=0.1, warmup_steps=4, weight_decay=0.1)
    third.load_state_dict(second.state_dict())
    run(third, half, range(3, 6))
    assert half.tolist() == whole.tolist()
    assert third.lr == first.lr
