"""Observations, actions and options as JSON, and back, without a loss of a bit.

JSON values stand for themselves. Everything else is an object with one key that begins with ``$``:

| object | stands for |
|---|---|
| ``{"$array": {"dtype", "shape", "data"}}`` | an array, its numbers nested in lists |
| ``{"$array": {"dtype", "shape", "base64"}}`` | one whose numbers JSON does not have; little-endian bytes |
| ``{"$image": {"sha256", "dtype", "shape"}}`` | a picture, uint8 [H, W, 1, 3 or 4], by its `digest` |
| ``{"$digest": {"sha256", "dtype", "shape"}}`` | an array of more than ``limit`` numbers, by its `digest` |
| ``{"$float": "nan"}`` | ``nan``, ``inf`` or ``-inf`` |
| ``{"$tuple": […]}``, ``{"$bytes": base64}`` | a tuple, bytes |
| ``{"$dict": [[key, value], …]}`` | a dict whose keys are not all text, or begin with ``$`` |
| ``{"$opaque": "module.Class"}`` | an object of which only the type could be noted |

A NumPy scalar becomes the Python number it equals, and a path text.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pixelis.errors import RecordingError

ARRAY_LIMIT = 1_024  # numbers; at about 20 characters each that is 20 kB a step
_PLAIN_KINDS = "biuf"  # what an array may hold to be written: truth values, integers, floats


def is_picture(array: np.ndarray) -> bool:
    """Return whether an array is a picture: uint8 [H, W, C] with C of 1, 3 or 4, and not empty."""
    return array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] in (1, 3, 4) and array.size > 0


def digest(array: np.ndarray) -> str:
    """Return the SHA-256, as 64 hex digits, of an array's dtype, shape and little-endian bytes."""
    array = _little_endian(array)
    found = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    found.update(array.data)  # without a copy: a picture of 384 × 384 is 442 kB
    return found.hexdigest()


def encode(value: Any, limit: float = math.inf, keep: Callable[[str, np.ndarray], None] | None = None) -> Any:
    """Return a value as JSON.

    Args:
        value: anything; see the module's table.
        limit: arrays of more numbers than this, and pictures of any size, are given by their digest. With
            the default every array is written out, so that `decode` can give it back.
        keep: called with the digest and the array of everything that is given by its digest.
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"$float": str(number)}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray):
        return _encode_array(value, limit, keep)
    if isinstance(value, Mapping):
        return _encode_mapping(value, limit, keep)
    if isinstance(value, list):
        return [encode(each, limit, keep) for each in value]
    if isinstance(value, tuple):
        return {"$tuple": [encode(each, limit, keep) for each in value]}
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    return {"$opaque": f"{type(value).__module__}.{type(value).__qualname__}"}


def decode(value: Any, load: Callable[[Mapping[str, Any]], np.ndarray] | None = None) -> Any:
    """Return what `encode` was given.

    Args:
        value: JSON that `encode` made.
        load: gives the array of an ``$image`` or ``$digest``, by its sha256, dtype and shape.

    Raises:
        RecordingError: the value holds something that was not written out, or is malformed.
    """
    if isinstance(value, list):
        return [decode(each, load) for each in value]
    if not isinstance(value, dict):
        return value
    tag = tag_of(value)
    if tag is None:
        return {name: decode(each, load) for name, each in value.items()}
    content = value[tag]
    if tag == "$opaque":
        raise RecordingError(f"only the type of a value was recorded: {content}; it cannot be given back")
    if tag in ("$image", "$digest"):
        if load is None:
            raise RecordingError("an array was recorded by its digest alone; it cannot be given back")
        return load(content)
    try:
        return _DECODERS[tag](content, load)
    except RecordingError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"a recorded value is malformed: {tag} {str(content)[:80]}") from error


def tag_of(value: Any) -> str | None:
    """Return the ``$name`` of an object that stands for something else, or None."""
    if isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        if key.startswith("$"):
            return key
    return None


def opaque_type(value: Any) -> str | None:
    """Return the type of the first value in an encoded tree that was not written out, or None."""
    if isinstance(value, list):
        return next((found for each in value if (found := opaque_type(each))), None)
    if not isinstance(value, dict):
        return None
    if tag_of(value) == "$opaque":
        return str(value["$opaque"])
    return opaque_type(list(value.values()))


# ---------------------------------------------------------------------- private


def _little_endian(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _encode_array(
    array: np.ndarray, limit: float, keep: Callable[[str, np.ndarray], None] | None
) -> dict[str, Any]:
    if array.dtype.kind not in _PLAIN_KINDS:
        return {"$opaque": f"numpy.ndarray of {array.dtype}"}
    about = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}
    picture = is_picture(array)
    if limit != math.inf and (picture or array.size > limit):
        sha256 = digest(array)
        if keep is not None:
            keep(sha256, array)
        return {"$image" if picture else "$digest": {"sha256": sha256, **about}}
    exact = array.dtype.kind != "f" or (array.dtype.itemsize <= 8 and bool(np.isfinite(array).all()))
    if not exact or picture:
        return {"$array": {**about, "base64": base64.b64encode(_little_endian(array).tobytes()).decode()}}
    return {"$array": {**about, "data": array.tolist()}}


def _encode_mapping(
    value: Mapping[Any, Any], limit: float, keep: Callable[[str, np.ndarray], None] | None
) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {str(key): encode(each, limit, keep) for key, each in value.items()}
    return {"$dict": [[encode(key), encode(each, limit, keep)] for key, each in value.items()]}


def _decode_array(content: Mapping[str, Any], load: Any) -> np.ndarray:
    dtype, shape = np.dtype(content["dtype"]), tuple(content["shape"])
    if dtype.kind not in _PLAIN_KINDS:
        raise ValueError(dtype)
    if "base64" in content:
        return np.frombuffer(base64.b64decode(content["base64"]), dtype).reshape(shape).copy()
    return np.array(content["data"], dtype).reshape(shape)


_DECODERS: dict[str, Callable[[Any, Any], Any]] = {
    "$array": _decode_array,
    "$float": lambda content, load: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content],
    "$tuple": lambda content, load: tuple(decode(each, load) for each in content),
    "$bytes": lambda content, load: base64.b64decode(content),
    "$dict": lambda content, load: {decode(key, load): decode(each, load) for key, each in content},
}
