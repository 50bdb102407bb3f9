"""A fitted preference model and its folder: ``head.safetensors`` and ``model.json``, nothing pickled."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.envs.tweet.learned.calibration import sigmoid
from pixelis.envs.tweet.learned.head import Head
from pixelis.errors import ModelLoadError, OutputError

ROLES = ("training", "evaluation")
_VERSION = 1
_HEAD, _CARD = "head.safetensors", "model.json"


@dataclass(frozen=True)
class PreferenceModel:
    """A head, and what its scores mean.

    Attributes:
        head: from features to a score.
        temperature: of `calibration.fit_temperature`.
        centre: score of a middling reply, the median over both sides of the dev pairs.
        probe: the features' `PairFeatures.probe` when the head was fitted.
        role: ``training``, or ``evaluation`` for a model that no policy is ever trained on.
        features: name of the features.
        encoder: name of the encoder; empty where there is none.
        facts: what else is known: sizes, seeds, measurements; for people.
    """

    head: Head
    temperature: float
    centre: float
    probe: np.ndarray
    role: str
    features: str
    encoder: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def probability(self, features: np.ndarray) -> np.ndarray:
        """Return σ((s − centre) / temperature), float64 [n] in [0, 1].

        The calibrated probability that a reader prefers the reply to a middling one.
        """
        return sigmoid((self.head(features) - self.centre) / self.temperature)

    def check_features(self, name: str, probe: np.ndarray, encoder: str) -> None:
        """Check that features are those that the head was fitted to.

        Raises:
            ModelLoadError: they are others, or of an encoder with other weights.
        """
        same_shape = name == self.features and probe.shape == self.probe.shape
        if not same_shape or not np.allclose(probe, self.probe, atol=1e-3):
            raise ModelLoadError(
                f"expected the features {self.features!r}{_of(self.encoder)} the reward model was fitted to, "
                f"got {name!r}{_of(encoder)}, which gives other vectors; fit the model again with "
                "scripts/train_tweet_reward.py"
            )


def _of(encoder: str) -> str:
    return f" of the encoder {encoder}" if encoder else ""


def save_model(model: PreferenceModel, folder: Path) -> None:
    """Write a model's folder, in the place of one that is there.

    Raises:
        OutputError: it cannot be written; a folder that was there is as it was.
    """
    from safetensors.numpy import save

    tensors = {"mean": model.head.mean, "scale": model.head.scale, "probe": model.probe}
    for number, (weights, bias) in enumerate(model.head.layers):
        tensors |= {f"weights_{number}": weights, f"bias_{number}": bias}
    data = save({name: np.ascontiguousarray(one, np.float32) for name, one in tensors.items()})
    card = {
        "version": _VERSION,
        "role": model.role,
        "features": model.features,
        "encoder": model.encoder,
        "temperature": model.temperature,
        "centre": model.centre,
        "sha256": hashlib.sha256(data).hexdigest(),
        "facts": dict(model.facts),
    }
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        (unfinished / _HEAD).write_bytes(data)
        text = json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False)
        (unfinished / _CARD).write_text(text + "\n", encoding="utf-8")
        if (folder / _CARD).is_file():
            shutil.rmtree(folder)
        os.rename(unfinished, folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OutputError(
            f"cannot write {folder} ({error}); name a folder that is free, or holds a reward model"
        ) from None


def load_model(folder: str | os.PathLike[str], role: str) -> PreferenceModel:
    """Return the model of a folder.

    Args:
        folder: as `save_model` wrote it.
        role: ``training`` or ``evaluation``, which it must have.

    Raises:
        ModelLoadError: there is none, it is damaged or of another version, or it has the other role.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(folder)
    try:
        card = json.loads((path / _CARD).read_text(encoding="utf-8"))
        data = (path / _HEAD).read_bytes()
    except (OSError, ValueError) as error:
        raise ModelLoadError(
            f"expected a folder with {_CARD} and {_HEAD}, as scripts/train_tweet_reward.py writes it, at "
            f"{str(path)!r}: {error}"
        ) from None
    if not isinstance(card, dict) or card.get("version") != _VERSION:
        raise ModelLoadError(f"expected version {_VERSION} of a reward model in {str(path)!r}; fit it again")
    if card.get("role") != role:
        raise ModelLoadError(_wrong_role(str(path), card.get("role"), role))
    if hashlib.sha256(data).hexdigest() != card.get("sha256"):
        raise ModelLoadError(f"{_HEAD} in {str(path)!r} is not what {_CARD} says it is; copy or fit it again")
    try:
        tensors = {name: one.astype(np.float64) for name, one in load(data).items()}
        return _model(card, tensors)
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise ModelLoadError(
            f"the reward model in {str(path)!r} is damaged ({type(error).__name__}: {error}); fit it again"
        ) from None


def _wrong_role(path: str, found: object, role: str) -> str:
    why = (
        "an evaluation reward says nothing any more once a policy was trained on it"
        if role == "training"
        else "what a policy is trained on cannot tell whether that went wrong"
    )
    return f"expected a model for {role} in {path!r}, got one for {found}; {why}; name the other folder"


def _model(card: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> PreferenceModel:
    count = sum(name.startswith("weights_") for name in tensors)
    layers = tuple((tensors[f"weights_{one}"], tensors[f"bias_{one}"]) for one in range(count))
    if not layers or not all(np.isfinite(one).all() for one in tensors.values()):
        raise ValueError("no layers, or numbers that are not finite")
    return PreferenceModel(
        Head(tensors["mean"], tensors["scale"], layers),
        float(card["temperature"]),
        float(card["centre"]),
        tensors["probe"],
        str(card["role"]),
        str(card["features"]),
        str(card["encoder"]),
        dict(card["facts"]),
    )
