"""The number types that weights are held in, and which one suits a device.

bfloat16 halves memory and is faster where a device multiplies in it; a processor that does not, as many of
laptops and of the cloud, emulates it, tens of times slower than float32. Which it is, is measured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import torch

from pixelis.errors import ConfigError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO = "auto"
"""In place of one of them: bfloat16 where that is faster than float32, else float32."""
SIDE, DEVICE_SIDE, REPEATS = 256, 4096, 3
"""Of the square matrices that are multiplied to measure, on a CPU and elsewhere, where asking outlasts
a small one; and how often each product is taken."""
SLOW = 4.0
"""So many times slower than float32, a type that was asked for is warned of."""
_LOG = logging.getLogger(__name__)


def slowdown(dtype: torch.dtype, device: torch.device) -> float:
    """Return the time of a product in ``dtype`` ÷ that in float32, the least of `REPEATS` of each."""
    return _seconds(dtype, device) / _seconds(torch.float32, device)


def weight_type(
    name: str, device: torch.device, measure: Callable[[torch.dtype, torch.device], float] = slowdown
) -> torch.dtype:
    """Return the type that a setting stands for on a device; log a warning where it is emulated there.

    Args:
        name: a key of `DTYPES`, or ``auto``.
        device: where the weights are to be.
        measure: how many times slower than float32 a type is there.

    Raises:
        ConfigError: another name.
    """
    if name == AUTO:
        return torch.bfloat16 if measure(torch.bfloat16, device) < 1 else torch.float32
    if name not in DTYPES:
        raise ConfigError(f"dtype must be one of {', '.join((AUTO, *DTYPES))}, got {name!r}")
    times = 1.0 if name == "float32" else measure(DTYPES[name], device)
    if times > SLOW:
        _LOG.warning(
            "dtype %s is %.0f times slower than float32 on this %s, which emulates it: dtype auto chooses",
            *(name, times, "processor" if device.type == "cpu" else device.type),
        )
    return DTYPES[name]


def type_name(dtype: torch.dtype) -> str:
    """Return the key of `DTYPES` that stands for a type."""
    return next(name for name, each in DTYPES.items() if each == dtype)


def _seconds(dtype: torch.dtype, device: torch.device) -> float:
    side = SIDE if device.type == "cpu" else DEVICE_SIDE
    matrix, times = torch.ones(side, side, dtype=dtype, device=device), []
    for _ in range(1 + REPEATS):  # the first makes ready
        begun = time.perf_counter()
        product = matrix @ matrix
        product[0, 0].item()  # a GPU is waited for
        times.append(time.perf_counter() - begun)
    return min(times[1:])
