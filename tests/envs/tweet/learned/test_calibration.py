"""Losses, accuracies and calibration, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.tweet.learned.calibration import (
    accuracy,
    area_under_curve,
    calibration_error,
    fit_temperature,
    preference_loss,
    sigmoid,
)

MARGINS = st.lists(st.floats(-20, 20), min_size=1, max_size=30).map(np.array)


def test_the_sigmoid_of_ln_3_is_three_quarters_and_never_overflows():
    np.testing.assert_allclose(
        sigmoid(np.array([0, math.log(3), -math.log(3), 1e9, -1e9])), [0.5, 0.75, 0.25, 1, 0]
    )


def test_the_loss_is_minus_the_log_of_the_preferred_probability():
    margins = np.array([math.log(3), -math.log(3)])  # probabilities 3/4 and 1/4
    assert preference_loss(margins) == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 2)
    assert preference_loss(2 * margins, 2.0) == pytest.approx(preference_loss(margins))


def test_accuracy_counts_a_tie_half():
    assert accuracy(np.array([1.0, -1.0, 0.0, 2.0])) == (2 + 0.5) / 4


def test_the_temperature_of_constant_confidence_is_known():
    # Three of four margins of m are right: σ(m / T) = 3/4, so T = m / ln 3.
    margins = np.array([2.0, 2.0, 2.0, -2.0])
    assert fit_temperature(margins) == pytest.approx(2 / math.log(3), rel=1e-3)


@given(MARGINS)
def test_no_other_temperature_is_better(margins):
    best = preference_loss(margins, fit_temperature(margins))
    assert all(best <= preference_loss(margins, other) + 1e-6 for other in (0.011, 0.3, 1, 5, 99))


def test_the_calibration_error_of_two_bins_by_hand():
    # Confidence 3/4 twice, once right: gap |1/2 − 3/4|. Confidence 0.9 twice, both right: gap 0.1.
    margins = np.array([math.log(3), -math.log(3), math.log(9), math.log(9)])
    assert calibration_error(margins) == pytest.approx(0.5 * 0.25 + 0.5 * 0.1)


@given(MARGINS)
def test_the_calibration_error_is_a_share(margins):
    assert 0 <= calibration_error(margins) <= 1


def test_the_area_counts_pairs():
    assert area_under_curve(np.array([1.0, 3.0]), np.array([1.0, 2.0])) == (0.5 + 0 + 1 + 1) / 4
    assert math.isnan(area_under_curve(np.array([]), np.array([1.0])))
