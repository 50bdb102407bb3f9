"""States as vectors of 768 numbers: the default encoder, and encoders by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.features.function_encoder import FunctionEncoder, PretrainedEmbedding
from pixelis.rewards.features.image import PatchProjection, is_image, thumbnail
from pixelis.rewards.features.state_encoder import STATE_DIMS, Look, StateEncoder
from pixelis.rewards.features.text import hash_texts

_HALF = STATE_DIMS // 2
_PRETRAINED = {"sentence-transformer": "all-mpnet-base-v2", "clip": "clip-ViT-L-14"}


class HashedEncoder:
    """The default encoder: fixed, seeded and fast, the same in every process.

    Dimensions 0–383 are the text's hashed words and trigrams, 384–767 the picture's thumbnail (or, where
    there is no picture, numbers under ``value``) through a fixed random projection of each of 16 patches.
    What an observation does not have is zero. Called with an observation it returns float32 [768].

    Args:
        seed: of the hashes and projections.
        component: whose errors these are.
    """

    def __init__(self, seed: int = 0, component: str = "curiosity") -> None:
        self.name = f"hashed:{seed}"
        self._seed, self._component = seed, component
        self._patches = PatchProjection(_HALF, seed)

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the features, float32 [768], of an observation."""
        return self.encode([self.look(observation)])[0]

    def look(self, observation: Any) -> Look:
        """Return text and thumbnail (or numbers) of an observation.

        Args:
            observation: a mapping with ``text``, ``image`` or ``value``; or a string, picture or array.

        Raises:
            RewardError: it has none of them, or its numbers are not finite.
        """
        text, picture = self._parts(observation)
        digest = blake2b(
            b"" if text is None else b"t" + text.encode("utf-8", "surrogatepass"), digest_size=16
        )
        if picture is not None:
            digest.update(b"\xff" + picture.dtype.char.encode() + picture.tobytes())  # \xff is never in UTF-8
        return Look(digest.digest(), (text, picture))

    def encode(self, looks: Sequence[Look]) -> np.ndarray:
        """Return the features, float32 [n, 768], of looks of this encoder."""
        features = np.zeros((len(looks), STATE_DIMS), np.float32)
        seen = [look.seen for look in looks]
        texts = [row for row, (text, _) in enumerate(seen) if text is not None]
        features[texts, :_HALF] = hash_texts([seen[row][0] for row in texts], _HALF, self._seed)
        images = [row for row, (_, part) in enumerate(seen) if part is not None and part.ndim == 3]
        if images:
            features[images, _HALF:] = self._patches.images(np.stack([seen[row][1] for row in images]))
        for row, (_, part) in enumerate(seen):
            if part is not None and part.ndim == 1:
                features[row, _HALF:] = self._patches.numbers(part)
        return features

    def _parts(self, observation: Any) -> tuple[str | None, np.ndarray | None]:
        if not isinstance(observation, Mapping):
            observation = {"text" if isinstance(observation, str) else "value": observation}
        text, image, value = (observation.get(key) for key in ("text", "image", "value"))
        picture = value if image is None else image
        if text is None and picture is None:
            raise RewardError(
                f"{self._component}: expected an observation with text, image or value, got the keys "
                f"{sorted(map(str, observation))}; give encoder= a function of such observations"
            )
        if picture is None:
            return str(text), None
        if text is None and isinstance(picture, int | np.integer):
            return str(int(picture)), None  # a number that names a state is a word, not a size
        return None if text is None else str(text), self._picture(picture)

    def _picture(self, value: Any) -> np.ndarray:
        if is_image(value):
            return thumbnail(value)
        try:
            numbers = np.asarray(value, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with a gradient
            raise RewardError(
                f"{self._component}: expected a uint8 picture or numbers in the observation, got "
                f"{type(value).__name__}; give encoder= a function of such observations"
            ) from error
        if not np.isfinite(numbers).all():
            raise RewardError(f"{self._component}: the observation holds NaN or infinity; the env must not")
        return numbers


def make_encoder(encoder: Any, seed: int = 0, component: str = "curiosity") -> StateEncoder:
    """Return an encoder.

    Args:
        encoder: ``hashed``; ``sentence-transformer`` or ``clip``, with ``:model`` to name another than
            the usual one; a function of an observation; or a `StateEncoder`.
        seed: of the hashed encoder.
        component: whose errors these are.

    Raises:
        ConfigError: it is none of these.
        MissingDependencyError: a package is needed that is not installed; the message names the extra.
        ModelLoadError: a pretrained model cannot be loaded.
    """
    if callable(getattr(encoder, "look", None)) and callable(getattr(encoder, "encode", None)):
        return encoder
    if callable(encoder):
        return FunctionEncoder(encoder, component=component)
    kind, _, model = str(encoder).partition(":")
    if encoder == "hashed":
        return HashedEncoder(seed, component)
    if isinstance(encoder, str) and kind in _PRETRAINED:
        model = model or _PRETRAINED[kind]
        embedding = PretrainedEmbedding(model, pictures=kind == "clip", component=component)
        return FunctionEncoder(embedding, f"{kind}:{model}", component)
    raise ConfigError(
        f"{component}: unknown encoder {encoder!r}; take 'hashed', 'sentence-transformer[:model]', "
        "'clip[:model]', or a function from an observation to 768 numbers"
    )
