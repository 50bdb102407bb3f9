"""The head computes what is said, and fitting finds a preference that is there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pixelis.envs.tweet.learned.calibration import accuracy, preference_loss
from pixelis.envs.tweet.learned.fitting import FitSettings, fit_head
from pixelis.envs.tweet.learned.head import Head
from pixelis.errors import ConfigError


def test_a_head_of_two_layers_by_hand():
    layers = ((np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros(2)), (np.array([[2.0, 3.0]]), np.array([0.5])))
    head = Head(np.array([1.0, 1.0]), np.array([1.0, 2.0]), layers)
    # (3, 5) → (2, 2) → ReLU(2, −2) = (2, 0) → 4.5; (1, −3) → (0, −2) → (0, 2) → 6.5
    np.testing.assert_array_equal(head(np.array([[3.0, 5.0], [1.0, -3.0]])), [4.5, 6.5])


def test_a_score_does_not_depend_on_the_others_in_the_batch():
    rng = np.random.default_rng(0)
    head = Head(np.zeros(300), np.ones(300), ((rng.normal(size=(1, 300)), np.zeros(1)),))
    features = rng.normal(size=(40, 300))
    alone = [head(features[row : row + 1])[0] for row in range(40)]
    np.testing.assert_array_equal(head(features), alone)


def data(seed, n, noise=0.0):
    """Return better and worse features: the first of six decides, bent down above 1 so no line can."""
    rng = np.random.default_rng(seed)
    sides = rng.normal(size=(2, n, 6))
    worth = -np.abs(sides[..., 0] - 0.5) + noise * rng.normal(size=(2, n))
    first = (worth[0] > worth[1])[:, None]
    return np.where(first, sides[0], sides[1]), np.where(first, sides[1], sides[0])


def test_a_bent_preference_is_learnt_by_hidden_units_and_not_by_a_sum():
    train, dev, test = data(0, 800), data(1, 200), data(2, 500)
    shares = {}
    for hidden in (0, 16):
        fitted = fit_head(*train, dev, FitSettings(hidden=hidden, lr=0.01, weight_decay=0.01, epochs=30))
        shares[hidden] = accuracy(fitted.head(test[0]) - fitted.head(test[1]))
    assert shares[16] > 0.93
    assert shares[0] < 0.75


def test_the_pass_with_the_least_dev_loss_is_kept_and_fitting_ends_when_it_gets_no_better():
    train, dev = data(0, 60, noise=1.0), data(1, 100, noise=1.0)
    settings = FitSettings(hidden=32, lr=0.02, weight_decay=0.0, dropout=0.0, epochs=60, patience=4)
    fitted = fit_head(*train, dev, settings)
    assert len(fitted.dev_loss) == fitted.epochs + 4 < 60
    assert fitted.dev_loss[fitted.epochs - 1] == min(fitted.dev_loss)
    kept = preference_loss(fitted.head(dev[0]) - fitted.head(dev[1]))
    assert kept == pytest.approx(min(fitted.dev_loss), abs=1e-5)


def test_weight_decay_shrinks_the_weights():
    train, dev = data(0, 300), data(1, 100)
    norms = [
        np.linalg.norm(
            fit_head(*train, dev, FitSettings(hidden=0, lr=0.05, weight_decay=decay, epochs=5)).head.layers[
                0
            ][0]
        )
        for decay in (0.0, 5.0)
    ]
    assert norms[1] < 0.8 * norms[0]


def test_the_seed_decides_and_global_generators_are_left_alone():
    train, dev = data(0, 100), data(1, 50)
    state = torch.get_rng_state()
    heads = [fit_head(*train, dev, FitSettings(seed=seed, epochs=2)).head for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(heads[0].layers[0][0], heads[1].layers[0][0])
    assert not np.array_equal(heads[0].layers[0][0], heads[2].layers[0][0])


def test_a_feature_that_never_varies_does_no_harm():
    better, worse = data(0, 100)
    better[:, 5] = worse[:, 5] = 7.0
    head = fit_head(better, worse, (better, worse), FitSettings(epochs=2)).head
    assert head.scale[5] == 1.0 and np.isfinite(head(better)).all()


@pytest.mark.parametrize(
    "wrong", [{"hidden": -1}, {"lr": 0.0}, {"dropout": 1.0}, {"weight_decay": -0.1}, {"patience": 0}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ConfigError):
        FitSettings(**wrong)
