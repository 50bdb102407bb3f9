"""What goes into a checkpoint: JSON, tensors, and the state of the random generators.

Nothing is unpickled: tensors are read with ``torch.load(weights_only=True)``, which builds tensors and plain
data only.
"""

from __future__ import annotations

import io
import json
import pickle
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pixelis.errors import CheckpointError
from pixelis.files import one_line


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file; NaN and infinity are refused rather than written as something JSON does not have."""
    path.write_text(json.dumps(values, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        CheckpointError: it is missing or malformed.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{str(path)!r} is corrupt: {one_line(error)}") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{str(path)!r} is corrupt: it is not a JSON object")
    return values


def write_tensors(path: Path, state: Mapping[str, Any]) -> None:
    """Write nested dicts and lists of tensors and numbers, as ``torch.save`` does."""
    buffer = io.BytesIO()  # a full disk then raises OSError, whatever torch's own writer would do
    torch.save(dict(state), buffer)
    path.write_bytes(buffer.getbuffer())


def read_tensors(path: Path) -> dict[str, Any]:
    """Read what `write_tensors` wrote, with ``weights_only=True``; tensors arrive on the CPU.

    Raises:
        CheckpointError: it is missing or malformed, or holds more than tensors and plain data.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"{str(path)!r} is corrupt: {one_line(error)}") from error


def random_state() -> dict[str, Any]:
    """Return the state of every global generator (torch, CUDA, numpy, random) as tensors and plain data."""
    kind, words, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, state, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [kind, torch.from_numpy(np.asarray(words).astype(np.int64)), position, has_gauss, gauss],
        "python": [version, list(state), gauss_next],
    }


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Put every global generator back where `random_state` found it."""
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    kind, words, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, words.numpy().astype(np.uint32), position, has_gauss, gauss))
    version, words, gauss_next = state["python"]
    random.setstate((version, tuple(words), gauss_next))
