"""What is wrong with a reply, as a fitted model sees it: one probability for each kind of fault.

Each fault has a linear head on sentence vectors that the reward has anyway; beside them lie the vectors of
posts, with which a reply is compared to see whether it fits this tweet better than others
(docs/reference/tweet_reward.md). scripts/train_tweet_faults.py makes all of it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.envs.tweet.learned.calibration import sigmoid
from pixelis.errors import ModelLoadError, OutputError

FAULTS = ("abuse", "tone_deaf", "untrue", "off_topic", "stock")
"""Contempt for somebody, also in polite words; the wrong feeling; the voice of false claims; about something
else; sentences that fit under any tweet."""
NUMBERS = 13
"""Of `pair_numbers`."""
ENCODER = "all-MiniLM-L6-v2"
"""What the shipped heads were fitted with; rewards with another encoder have no faults."""
SHIPPED = Path(__file__).parent / "weights" / "faults"
PROBE = "The kettle is on and the rain can wait until tomorrow."
"""A sentence whose vector tells whether an encoder is the one that was fitted with."""
_VERSION = 2
_HEADS, _CARD = "heads.safetensors", "model.json"


def fault_features(tweets: np.ndarray, replies: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return [r, |t − r|, t ⊙ r, numbers], float64 [n, 3 d + 13].

    Args:
        tweets: unit vectors t, [n, d].
        replies: unit vectors r, [n, d].
        numbers: of `pair_numbers`, [n, 13].
    """
    return np.hstack([replies, np.abs(tweets - replies), tweets * replies, numbers])


def seen_columns(fault: str, width: int) -> np.ndarray:
    """Return which of the columns of `fault_features` a fault's head sees, bool [width].

    Tone needs both texts; whether a reply is off topic is told by the numbers (cosines, shared words) and no
    vector, so that it cannot learn topics; the others see the reply and the numbers, for stock sentences only
    the two cosines, or more words would pay.
    """
    dims = (width - NUMBERS) // 3
    seen = np.zeros(width, dtype=bool)
    seen[3 * dims :] = True
    if fault != "off_topic":
        seen[:dims] = True
    if fault == "tone_deaf":
        seen[:] = True
    if fault == "stock":
        seen[3 * dims + 2 :] = False
    return seen


@dataclass(frozen=True)
class FaultModel:
    """Linear heads, one for each fault.

    Attributes:
        weights: float64 [faults, 3 d + 13], in the order of `FAULTS`.
        bias: float64 [faults].
        probe: the encoder's vector of `PROBE`.
        posts: unit vectors of posts to compare a reply with, [m, d].
        encoder: its name.
        facts: what else is known: sizes, seed, measurements; for people.
    """

    weights: np.ndarray
    bias: np.ndarray
    probe: np.ndarray
    posts: np.ndarray
    encoder: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Return the probability of each fault, float64 [n, faults], of features [n, 3 d + 13]."""
        # Not a matrix product: its rounding depends on how many rows there are, and a score must not.
        return sigmoid(np.einsum("ni,fi->nf", features, self.weights) + self.bias)

    def specificity(self, replies: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        """Return to which share of the posts each reply is less near than to its own tweet, [n] in [0, 1].

        Under a tweet drawn from posts like these, a reply that has nothing to do with it has any share with
        the same probability, however near to all of them it is.

        Args:
            replies: unit vectors, [n, d].
            cosines: of each reply and its own tweet, [n].
        """
        # No matrix product: see `probabilities`.
        return (np.einsum("nd,md->nm", replies, self.posts) < cosines[:, None]).mean(axis=1)

    def check_encoder(self, vector: np.ndarray) -> None:
        """Check that an encoder's vector of `PROBE` is that of the encoder that the heads were fitted with.

        Raises:
            ModelLoadError: it is not.
        """
        if vector.shape != self.probe.shape or not np.allclose(vector, self.probe, atol=1e-3):
            raise ModelLoadError(
                f"expected the vectors of {self.encoder} that the fault heads were fitted to, got others; "
                "install the encoder's package afresh, or fit the heads again with "
                "scripts/train_tweet_faults.py"
            )


def save_faults(model: FaultModel, folder: Path) -> None:
    """Write a model's folder: ``heads.safetensors`` and ``model.json``, nothing pickled.

    Raises:
        OutputError: it cannot be written.
    """
    from safetensors.numpy import save

    tensors = {"weights": model.weights, "bias": model.bias, "probe": model.probe, "posts": model.posts}
    data = save({name: np.ascontiguousarray(one, np.float32) for name, one in tensors.items()})
    card = {
        "version": _VERSION,
        "faults": list(FAULTS),
        "encoder": model.encoder,
        "sha256": hashlib.sha256(data).hexdigest(),
        "facts": dict(model.facts),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _HEADS).write_bytes(data)
        text = json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / _CARD).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {folder} ({error}); name another folder") from None


def load_faults(folder: str | os.PathLike[str]) -> FaultModel:
    """Return the model of a folder that `save_faults` wrote.

    Raises:
        ModelLoadError: there is none, or it is damaged or of another version.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(folder)
    try:
        card = json.loads((path / _CARD).read_text(encoding="utf-8"))
        data = (path / _HEADS).read_bytes()
        same = card["version"] == _VERSION and tuple(card["faults"]) == FAULTS
        if not same or hashlib.sha256(data).hexdigest() != card["sha256"]:
            raise ValueError("another version, or not what its card says")
        tensors = {name: one.astype(np.float64) for name, one in load(data).items()}
        found = (tensors["weights"], tensors["bias"], tensors["probe"], tensors["posts"])
        if not all(np.isfinite(one).all() for one in found):
            raise ValueError("numbers that are not finite")
        return FaultModel(*found, str(card["encoder"]), dict(card["facts"]))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelLoadError(
            f"expected a folder with {_CARD} and {_HEADS}, as scripts/train_tweet_faults.py writes it, at "
            f"{str(path)!r} ({type(error).__name__}: {error}); fit or copy it again"
        ) from None


@functools.cache
def shipped_faults() -> FaultModel:
    """Return the model that comes with the package, loaded once in a process.

    Raises:
        ModelLoadError: its folder is damaged.
    """
    return load_faults(SHIPPED)
