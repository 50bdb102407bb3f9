"""Messages between processes as bytes: JSON values, arrays and tensors, and never a pickle.

A message is in the safetensors format (https://huggingface.co/docs/safetensors), which holds numbers and text
and nothing that could run: the values are JSON in its header, see `pixelis.wrappers.recording.values`, the
arrays and tensors follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from pixelis.errors import TrainingError
from pixelis.wrappers.recording.values import decode, encode

_VALUES = "values"
_ARRAY = "array:"


def pack(value: Any, tensors: Mapping[str, torch.Tensor] | None = None) -> bytes:
    """Return a message.

    Args:
        value: JSON values, tuples, bytes and NumPy arrays, nested in lists and dicts. An array that comes
            twice is written once. Of other objects only the name of their class arrives.
        tensors: of any shape and type, by names of their own.
    """
    found: dict[str, torch.Tensor] = {}

    def keep(digest: str, array: np.ndarray) -> None:
        found[_ARRAY + digest] = torch.from_numpy(np.ascontiguousarray(array))

    values = json.dumps(_without_opaque(encode(value, limit=0, keep=keep)))
    for name, tensor in (tensors or {}).items():
        found[name] = tensor.detach().cpu().contiguous()
    return save(found, metadata={_VALUES: values})


def unpack(data: bytes) -> tuple[Any, dict[str, torch.Tensor]]:
    """Return what `pack` was given, tensors on the CPU.

    Raises:
        TrainingError: the bytes are no message.
    """
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        tensors = load(data)
        values = json.loads(header["__metadata__"][_VALUES])
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise TrainingError(
            f"another process sent {len(data)} bytes that are no message ({type(error).__name__}); start all "
            "processes anew, with one version of Pixelis"
        ) from error

    def array(about: Mapping[str, Any]) -> np.ndarray:
        return tensors[_ARRAY + about["sha256"]].numpy()

    value = decode(values, array)
    return value, {name: each for name, each in tensors.items() if not name.startswith(_ARRAY)}


def _without_opaque(value: Any) -> Any:
    """Return JSON with the class names of what cannot be written in the place of what stands for it."""
    if isinstance(value, list):
        return [_without_opaque(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"$opaque"}:
            return value["$opaque"]
        return {key: _without_opaque(each) for key, each in value.items()}
    return value
