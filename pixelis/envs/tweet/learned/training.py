"""From preferences to a calibrated model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pixelis.envs.tweet.learned.calibration import (
    accuracy,
    calibration_error,
    fit_temperature,
    preference_loss,
)
from pixelis.envs.tweet.learned.features import PairFeatures
from pixelis.envs.tweet.learned.fitting import FitSettings, fit_head
from pixelis.envs.tweet.learned.model import PreferenceModel

Triple = tuple[str, str, str]
"""A tweet, the better reply, the worse one."""


def train_model(
    train: Sequence[Triple],
    dev: Sequence[Triple],
    features: PairFeatures,
    settings: FitSettings,
    *,
    role: str,
    encoder: str = "",
) -> PreferenceModel:
    """Return a model fitted to ``train``; when to stop, temperature and centre are those of ``dev``.

    Args:
        train: preferences to learn from.
        dev: others, of other tweets and authors.
        features: what the model sees.
        settings: of the fit.
        role: ``training`` or ``evaluation``.
        encoder: name of the features' encoder.
    """
    dev_sides = _both(dev, features)
    fitted = fit_head(*_both(train, features), dev_sides, settings)
    better, worse = (fitted.head(side) for side in dev_sides)
    temperature = fit_temperature(better - worse)
    facts: Mapping[str, Any] = {
        "pairs": len(train),
        "dev_pairs": len(dev),
        "epochs": fitted.epochs,
        "seed": settings.seed,
        "dev": margin_report(better - worse, temperature),
    }
    centre = float(np.median(np.concatenate([better, worse])))
    probe = features.probe().astype(np.float32).astype(np.float64)
    return PreferenceModel(fitted.head, temperature, centre, probe, role, features.name, encoder, facts)


def margin_report(margins: np.ndarray, temperature: float) -> dict[str, float]:
    """Return accuracy, loss in nats and calibration error of margins s(better) − s(worse), float [n].

    ``uncalibrated_error`` is the calibration error at temperature 1.
    """
    return {
        "accuracy": accuracy(margins),
        "loss": preference_loss(margins, temperature),
        "calibration_error": calibration_error(margins, temperature),
        "uncalibrated_error": calibration_error(margins),
    }


def _both(pairs: Sequence[Triple], features: PairFeatures) -> tuple[np.ndarray, np.ndarray]:
    better = features([(tweet, chosen) for tweet, chosen, _ in pairs])
    return better, features([(tweet, rejected) for tweet, _, rejected in pairs])
