"""The gradient noise scale, from gradients of micro-batches."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.optimisation.noise_scale import (
    MUCH,
    PATIENCE,
    Contributions,
    NoiseScale,
    estimates,
    squared_norm,
)


def drawn(signal, noise, sizes, generator, width=200):
    """Return what `estimates` takes of a batch whose episodes' gradients are ``signal`` plus noise."""
    total = sum(sizes)
    mean = torch.full((width,), signal / math.sqrt(width), dtype=torch.float64)
    sums = [size * mean + math.sqrt(size) * noise_of(width, noise, generator) for size in sizes]
    parts = [(float((each / total).square().sum()), size) for each, size in zip(sums, sizes, strict=True)]
    return parts, float((torch.stack(sums).sum(0) / total).square().sum())


def noise_of(width, noise, generator):
    return noise / math.sqrt(width) * torch.randn(width, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("sizes", [[8, 8, 8, 8], [8, 8, 8, 3], [1, 1]])
def test_both_estimates_are_unbiased(sizes):
    generator = torch.Generator().manual_seed(0)
    found = torch.tensor([estimates(*drawn(2.0, 5.0, sizes, generator)) for _ in range(400)])
    assert found[:, 0].mean() == pytest.approx(4.0, rel=0.1)  # |G|² = 2²
    assert found[:, 1].mean() == pytest.approx(25.0, rel=0.1)  # tr Σ = 5²


def test_two_micro_batches_by_hand():
    # one episode each, gradients 3 and 1: mean 2, so |g_B|² = 4; mean of 9 and 1 is 5
    # |G|² = (2 * 4 - 1 * 5) / 1 = 3 (that is 3 * 1), tr Σ = (5 - 4) / (1 - 1/2) = 2
    assert estimates([(1.5**2, 1), (0.5**2, 1)], 4.0) == pytest.approx((3.0, 2.0))


def test_one_micro_batch_says_nothing():
    scale = NoiseScale()
    assert estimates([(4.0, 8)], 4.0) is None
    assert scale.note([(4.0, 8)], 4.0) is None and scale.note([], 0.0) is None


def test_what_each_backward_adds_is_told_apart():
    weights = torch.nn.Parameter(torch.zeros(2))
    idle = torch.nn.Parameter(torch.zeros(2))
    split = Contributions([weights, idle])
    for slope, episodes in ((3.0, 4), (-1.0, 2)):
        (slope * weights.sum()).backward()
        split.add(episodes)
    assert split.parts == [(18.0, 4), (2.0, 2)]
    assert squared_norm([weights, idle]) == 8.0


def test_the_scale_is_in_episodes_and_goes_on_exactly():
    generator = torch.Generator().manual_seed(1)
    batches = [drawn(2.0, 10.0, [8] * 4, generator) for _ in range(200)]
    one, two = NoiseScale(), NoiseScale()
    found = [one.note(*batch) for batch in batches]
    assert found[-1] == pytest.approx(25.0, rel=0.4)  # 10² / 2²
    for batch in batches[:100]:
        two.note(*batch)
    three = NoiseScale()
    three.load_state_dict(two.state_dict())
    assert [three.note(*batch) for batch in batches[100:]] == found[100:]


@pytest.mark.parametrize(("signal", "told"), [(4.0, 0), (0.0, 1)])
def test_advice_is_given_once_where_a_batch_is_all_noise(signal, told, caplog):
    generator, scale, value = torch.Generator().manual_seed(2), NoiseScale(), None
    for _ in range(PATIENCE + 10):
        value = scale.note(*drawn(signal, 4.0, [8] * 4, generator))
    assert caplog.text.count("nearly all noise") == told
    assert value is None or (value < MUCH * 32) == (told == 0)


def test_a_task_that_is_nearly_learnt_has_little_signal_and_needs_no_advice(caplog):
    generator, scale = torch.Generator().manual_seed(3), NoiseScale()
    for number in range(2 * PATIENCE):
        scale.note(*drawn(4.0 if number < PATIENCE else 0.0, 4.0, [8] * 4, generator))
    assert scale.note([], 0.0) == scale.note([], 0.0) is not None  # a step without an update
    assert "noise" not in caplog.text


def test_what_is_not_finite_is_passed_over():
    scale = NoiseScale()
    first = scale.note([(1.5**2, 1), (0.5**2, 1)], 4.0)
    assert scale.note([(math.nan, 1), (0.5**2, 1)], math.nan) == first == pytest.approx(2 / 3)
