"""Which encoder makes the relevance: MiniLM, words only, or one's own; loaded once, cached by text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from pixelis.errors import ConfigError, RewardError, suggest
from pixelis.rewards.curiosity.lru_cache import LRUCache
from pixelis.rewards.features.text import hash_texts

Embed = Callable[[Sequence[str]], np.ndarray]
"""From n texts to float [n, d], any d ≥ 1; rows need not have unit length."""

HASH_DIMS = 512


class HashedWords:
    """Compares words and runs of three bytes only: no model, and no idea of meaning.

    A reply without its tweet's words has nothing for it to compare: it tells off-topic replies no better than
    chance (docs/reference/tweet_reward.md), so it is a choice to make, never a fallback.
    """

    name = "hashed"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors, float32 [n, 512], of texts."""
        return hash_texts([text.casefold() for text in texts], HASH_DIMS)


ENCODERS = ("minilm", "hashed")
_LOCK = threading.RLock()  # of the process, so that a reward can be copied and pickled
_LOADED: dict[tuple[str, int], Embed] = {}


def _load(name: str, threads: int) -> Embed:
    """Return a shipped encoder, made by the first call in the process."""
    if (name, threads) not in _LOADED:
        if name == "hashed":
            _LOADED[name, threads] = HashedWords()
        else:
            from pixelis.rewards.text.minilm import MiniLM

            _LOADED[name, threads] = MiniLM(threads=threads)
    return _LOADED[name, threads]


class CachedEncoder:
    """Gives unit vectors of texts and keeps those used last, by a digest of the text.

    The model is loaded with the first text and shared by all encoders of the process. Threads may share one.

    Args:
        encoder: ``minilm``, ``hashed``, or a function `Embed`.
        capacity: texts whose vectors are kept; 384 numbers are 3 kB.
        threads: of MiniLM's runtime.

    Raises:
        ConfigError: there is no such encoder, or a number is below 1.
    """

    def __init__(self, encoder: str | Embed = "minilm", capacity: int = 4096, threads: int = 1) -> None:
        if not callable(encoder) and encoder not in ENCODERS:
            raise ConfigError(
                f"unknown encoder {encoder!r}.{suggest(str(encoder), ENCODERS)} A function takes n texts, "
                "and returns n vectors"
            )
        if threads < 1:
            raise ConfigError(f"threads: expected at least 1, got {threads}")
        self._encoder, self._threads = encoder, threads
        self._vectors: LRUCache[np.ndarray] = LRUCache(capacity)
        self.encoded = 0

    @property
    def name(self) -> str:
        """What the encoder is called in a score; a model that is not loaded yet is not loaded for it."""
        if callable(self._encoder):
            kind = self._encoder if hasattr(self._encoder, "__qualname__") else type(self._encoder)
            return getattr(self._encoder, "name", None) or f"{kind.__module__}:{kind.__qualname__}"
        return "all-MiniLM-L6-v2" if self._encoder == "minilm" else "hashed"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors, float64 [n, d]; zeros where the encoder sees nothing in a text.

        Raises:
            MissingDependencyError: the encoder's packages are not installed.
            RewardError: one's own encoder gave something else than a finite vector for each text.
        """
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        with _LOCK:
            kept = ((key, self._vectors.get(key)) for key in dict.fromkeys(keys))
            found = {key: vector for key, vector in kept if vector is not None}
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
            if new:
                for key, vector in zip(new, self._encode(list(new.values())), strict=True):
                    found[key] = vector
                    self._vectors.put(key, vector)
                self.encoded += len(new)
        return np.stack([found[key] for key in keys]) if keys else np.zeros((0, 1))

    def _encode(self, texts: list[str]) -> np.ndarray:
        embed = self._encoder if callable(self._encoder) else _load(self._encoder, self._threads)
        vectors = np.asarray(embed(texts), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise RewardError(
                f"encoder {self.name}: expected finite numbers of shape ({len(texts)}, d), got "
                f"{vectors.shape}"
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1)
