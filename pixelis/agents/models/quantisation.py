"""Loading the frozen weights in 8 or 4 bits with bitsandbytes, which has kernels for CUDA only.

8 bit is LLM.int8() (Dettmers et al., 2022, arXiv:2208.07339); 4 bit is NF4 with double quantisation, the
base of QLoRA (Dettmers et al., 2023, arXiv:2305.14314). The adapter that is trained on top stays in float32.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from pixelis.errors import ConfigError, MissingDependencyError, suggest

QUANTIZATIONS = ("none", "8bit", "4bit")
_PACKAGES = ("bitsandbytes", "accelerate")


def quantised_loading(kind: str, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Return the keywords for ``from_pretrained`` that load a model quantised; empty for ``none``.

    Args:
        kind: one of `QUANTIZATIONS`.
        dtype: type of what is not quantised, and of the products in 4 bits.
        device: where the model will be; a quantised model cannot be moved later.

    Raises:
        ConfigError: unknown kind, or the device is not a CUDA device.
        MissingDependencyError: bitsandbytes or accelerate is not installed.
    """
    if kind not in QUANTIZATIONS:
        raise ConfigError(
            f"quantization must be one of {', '.join(QUANTIZATIONS)}, got {kind!r}."
            f"{suggest(kind, QUANTIZATIONS)}"
        )
    if kind == "none":
        return {}
    if device.type != "cuda":
        raise ConfigError(
            f"quantization {kind} needs a CUDA device and the device is {device.type}; "
            "use quantization none, or a machine with a CUDA GPU"
        )
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"quantization {kind} needs {' and '.join(missing)}, not installed here; "
            "pip install 'pixelis[quant]'"
        )
    return {
        "quantization_config": quantisation_config(kind, dtype),
        "device_map": {"": device.index if device.index is not None else torch.cuda.current_device()},
    }


def quantisation_config(kind: str, dtype: torch.dtype) -> Any:
    """Return transformers' settings for ``8bit`` or ``4bit``."""
    import transformers as hf

    if kind == "8bit":
        return hf.BitsAndBytesConfig(load_in_8bit=True)
    return hf.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
