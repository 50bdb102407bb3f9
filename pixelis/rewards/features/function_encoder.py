"""Encoders that are a function of one observation: one's own, and pretrained models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from pixelis.errors import MissingDependencyError, ModelLoadError, RewardError
from pixelis.rewards.features.state_encoder import STATE_DIMS, Look, check_features

Embed = Callable[[Mapping[str, Any]], Any]
"""From an observation to its embedding: 768 numbers."""


class FunctionEncoder:
    """Encodes with a function of one's own.

    Args:
        function: ``(observation) -> 768 numbers``, always the same for the same observation.
        name: what tells it from another; None: its module and name.
        component: whose errors these are.
    """

    def __init__(self, function: Embed, name: str | None = None, component: str = "curiosity") -> None:
        kind = function if hasattr(function, "__qualname__") else type(function)
        self.name = name or f"{kind.__module__}:{kind.__qualname__}"
        self._function, self._component = function, component

    def look(self, observation: Mapping[str, Any]) -> Look:
        """Return the observation with a digest of all that it holds."""
        digest = blake2b(digest_size=16)
        for part in _parts(observation):
            digest.update(part)
        return Look(digest.digest(), observation)

    def encode(self, looks: Sequence[Look]) -> np.ndarray:
        """Return the features, float32 [n, 768].

        Raises:
            RewardError: the function returned something else than 768 finite numbers.
        """
        rows = [
            check_features(self._function(look.seen), (STATE_DIMS,), self.name, self._component)
            for look in looks
        ]
        return np.stack(rows)


class PretrainedEmbedding:
    """Embeds with a sentence-transformers model: its text, and its picture where the model takes pictures.

    Args:
        model: for example ``all-mpnet-base-v2`` (texts) or ``clip-ViT-L-14`` (texts and pictures), or a
            folder; its embeddings must have 768 numbers.
        pictures: whether the model takes pictures.
        component: whose errors these are.

    Raises:
        MissingDependencyError: sentence-transformers is not installed.
        ModelLoadError: there is no such model, or it cannot be fetched.
    """

    def __init__(self, model: str, *, pictures: bool, component: str = "curiosity") -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependencyError(
                f"the encoder {model!r} needs sentence-transformers: pip install 'pixelis[text]'"
            ) from error
        try:
            self._model = SentenceTransformer(model)
        except (OSError, ValueError) as error:
            raise ModelLoadError(f"{component}: the encoder {model!r} cannot be loaded: {error}") from error
        self._pictures, self._component = pictures, component

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """Return the mean of the unit embeddings of text and picture, scaled to a mean square of about 1.

        Raises:
            RewardError: there is neither in the observation.
        """
        from PIL import Image

        parts: list[Any] = [str(observation["text"])] if "text" in observation else []
        if self._pictures and "image" in observation:
            parts.append(Image.fromarray(observation["image"]))
        if not parts:
            kinds = "text or image" if self._pictures else "text"
            raise RewardError(
                f"{self._component}: expected an observation with {kinds}, got the keys {sorted(observation)}"
            )
        embeddings = [self._model.encode(part, normalize_embeddings=True) for part in parts]
        return np.mean(embeddings, axis=0) * np.sqrt(STATE_DIMS)


def _parts(value: Any) -> list[Any]:
    """Return bytes and buffers that differ when two values differ: those of all that they hold."""
    head = f"\x00{type(value).__name__}\x00"
    if isinstance(value, Mapping):
        items = [item for key in sorted(value, key=str) for item in (key, value[key])]
    elif isinstance(value, list | tuple):
        items = list(value)
    else:
        return _leaf(head, value)
    return [f"{head}{len(items)}".encode(), *(part for item in items for part in _parts(item))]


def _leaf(head: str, value: Any) -> list[Any]:
    # Not by the text of an array or tensor: it leaves numbers out.
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        array = np.asarray(value)
        if not array.dtype.hasobject:
            marked = f"{head}{array.dtype.str}{array.shape}".encode()
            return [marked, np.ascontiguousarray(array).tobytes() if array.ndim == 0 else _buffer(array)]
    return [f"{head}{value}".encode("utf-8", "surrogatepass")]


def _buffer(array: np.ndarray) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
