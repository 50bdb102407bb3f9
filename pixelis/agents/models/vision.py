"""What a frozen vision tower makes of images, computed once for each image."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

_PRECOMPUTED = "mm_encoder_outputs"


class ImageFeatures:
    """The images of segments as a model's forward takes them, encoded if that can be done beforehand.

    Encodings are kept as long as the pixel tensors they were made of, so what a rollout has looked at is not
    encoded again in training. They are only made when no parameter of the tower is trained.

    Args:
        base: the transformers model.
    """

    def __init__(self, base: Any) -> None:
        self._base = base
        self._known = WeakIdKeyDictionary()  # pixel tensor → encoding
        taken = inspect.signature(base.forward).parameters
        self._precomputes = _PRECOMPUTED in taken and hasattr(base, "get_image_features")

    def inputs(self, segments: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, Any] | None:
        """Return keyword arguments for the model's forward; None where it must be given the pixels.

        Args:
            segments: for each segment with images, its placed tensors by the model's own keywords.
        """
        if not self._precomputes or self._tower_is_trained():
            return None
        outputs = [self._encoded(images) for images in segments]
        return {_PRECOMPUTED: {"image": _joined(outputs)}}

    def _encoded(self, images: Mapping[str, torch.Tensor]) -> Any:
        key = images["pixel_values"]
        if key not in self._known:
            # never tensors of inference mode: training uses them again
            with torch.inference_mode(False), torch.no_grad(), _whole_floats(self._base.device):
                placed = {name: self._placed(value) for name, value in images.items()}
                self._known[key] = self._base.get_image_features(**placed, return_dict=True)
        return self._known[key]

    def _placed(self, value: torch.Tensor) -> torch.Tensor:
        weights = next(self._base.parameters())
        return value.to(weights.device, self._base.dtype if value.is_floating_point() else None)

    def _tower_is_trained(self) -> bool:
        inside = set(map(id, self._base.get_decoder().parameters()))
        head = self._base.get_output_embeddings()
        inside.update(map(id, head.parameters() if head is not None else ()))
        return any(each.requires_grad and id(each) not in inside for each in self._base.parameters())


@contextlib.contextmanager
def _whole_floats(device: torch.device) -> Iterator[None]:
    """Let a GPU's convolutions of float32 keep its 23 bits, and not ten of them as by default."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _joined(outputs: Sequence[Any]) -> Any:
    """Return one encoder output for the images of all; features are joined image by image, layer by layer."""
    first = outputs[0]
    if len(outputs) == 1:
        return type(first)(**first)
    parts: dict[str, Any] = {"pooler_output": _chained([each.pooler_output for each in outputs])}
    layers = [each.get("deepstack_features") for each in outputs]
    if layers[0] is not None:
        parts["deepstack_features"] = [_chained(layer) for layer in zip(*layers, strict=True)]
    return type(first)(**parts)


def _chained(features: Sequence[Any]) -> Any:
    if isinstance(features[0], torch.Tensor):
        return torch.cat(list(features))
    return [one for each in features for one in each]
