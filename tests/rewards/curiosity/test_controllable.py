"""Gates and centring of state features."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.curiosity.controllable import CLOSED, ControllableFeatures


def one(index: int, value: float) -> torch.Tensor:
    vector = torch.zeros(768)
    vector[index] = value
    return vector


def test_features_are_centred_and_gated():
    features = ControllableFeatures(0.1, 0.0)
    features.mean = torch.full((768,), 2.0)
    features.log_gates[1] = math.log(0.25)
    values = features(torch.full((3, 768), 6.0))
    assert values.shape == (3, 768)
    assert values[0, :3].tolist() == pytest.approx([4.0, 1.0, 4.0])


def test_mean_is_that_of_all_states():
    features = ControllableFeatures(0.1, 0.0)
    features.count(torch.stack([one(0, 3.0), one(0, 5.0)]))
    features.count(one(0, 1.0)[None])
    assert features.mean[0].item() == pytest.approx(3.0)
    assert features.seen == 3


def test_first_step_has_the_size_of_the_learning_rate():
    # Adam's first step is the learning rate, whatever the gradient's size (arXiv:1412.6980, section 2.1).
    features = ControllableFeatures(0.1, 0.0)
    features.step(one(0, 1e-3) + one(1, -7.0))
    assert features.log_gates[:3].tolist() == pytest.approx([-0.1, 0.0, 0.0], abs=1e-4)


def test_gate_without_a_gradient_reopens():
    features = ControllableFeatures(0.1, 0.5)
    features.log_gates[3] = -2.0
    features.step(torch.zeros(768))
    assert features.log_gates[3].item() == pytest.approx(-1.0)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_gates_stay_between_closed_and_open(gradients: list[float]):
    features = ControllableFeatures(1.0, 0.01)
    for gradient in gradients:
        features.step(one(0, gradient))
    assert math.exp(CLOSED) <= features.gates[0].item() * 1.0001
    assert features.gates.max().item() <= 1.0
    assert features.gates[1].item() == 1.0


def test_state_goes_on_where_it_was():
    features = ControllableFeatures(0.1, 0.01)
    features.step(one(0, 1.0))
    features.count(one(2, 4.0)[None])
    other = ControllableFeatures(0.1, 0.01)
    other.load_state_dict(features.state_dict())
    for each in (features, other):
        each.step(one(0, -0.5))
        each.count(one(2, 1.0)[None])
    assert torch.equal(other.log_gates, features.log_gates)
    assert torch.equal(other.mean, features.mean)
