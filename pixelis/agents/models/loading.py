"""Finding a model and loading it: a folder, a training run, a hub id, a PEFT adapter, or a name of our own.

Everything goes through transformers' Auto classes; names as ``pixelis-tiny`` and ``smollm2`` only stand for
folders. A model that cannot be had is one `ModelLoadError` that says what was tried and what to do, within
seconds.

Frozen weights can be loaded in 8 or 4 bits with bitsandbytes, which has kernels for CUDA only. 8 bit is
LLM.int8() (Dettmers et al., 2022, arXiv:2208.07339); 4 bit is NF4 with double quantisation, the base of QLoRA
(Dettmers et al., 2023, arXiv:2305.14314). The adapter that is trained on top stays in float32.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from pixelis.agents.models.model_note import ModelNote, read_note
from pixelis.agents.models.named_models import NAMED_MODELS, TINY_NAME
from pixelis.agents.models.processors import load_processor
from pixelis.agents.models.weight_types import weight_type
from pixelis.agents.run_files.saved_run import weights_of
from pixelis.errors import ConfigError, MissingDependencyError, ModelLoadError, PixelisError, suggest
from pixelis.rewards.text.quiet import quiet_libraries

HUB_TIMEOUT_SECONDS = 10.0
QUANTIZATIONS = ("none", "8bit", "4bit")
_QUANTISERS = ("bitsandbytes", "accelerate")
_ADAPTER_FILE = "adapter_config.json"
_FINGERPRINT_VALUES = 32


@dataclass(frozen=True)
class LoadedModel:
    """A model with what is needed to talk to it.

    Attributes:
        model: a transformers model, or a `peft.PeftModel` around one; in eval mode, on its device.
        processor: its processor (models with vision) or its tokenizer (text models).
        base_name: what the base was loaded from: a folder's absolute path, a hub id or one of `NAMED_MODELS`.
        note: what the run that trained it left with it.
    """

    model: Any
    processor: Any
    base_name: str
    note: ModelNote = field(default_factory=ModelNote)


def load_model(
    name: str | Path, *, device: str = "auto", dtype: str = "float32", quantization: str = "none"
) -> LoadedModel:
    """Load ``name``; see `pixelis.agents.models.policy.Policy.load` for the arguments.

    Raises:
        ModelLoadError: it is not there, is not a model, or the hub cannot be reached.
        ConfigError: unknown ``dtype``, ``device`` or ``quantization``, or quantised without CUDA.
        MissingDependencyError: a package is needed that is not installed; the message names it.
    """
    place = device_named(device)
    kind = weight_type(dtype, place)
    quantised = quantised_loading(quantization, kind, place) if quantization != "none" else {}
    folder = find_folder(name)
    if folder is not None and (folder / _ADAPTER_FILE).is_file():
        return _load_adapter(folder, place, dtype, quantization)
    source = str(folder.resolve()) if folder is not None else str(name)
    if folder is None:
        require_hub_model(source)
    with quiet_libraries(), _one_line_errors(source):
        model, processor = _load_base(source, kind, local=folder is not None, **quantised)
    base_name = str(name) if str(name) in NAMED_MODELS else source
    note = read_note(folder) if folder is not None else ModelNote()
    return LoadedModel((model if quantised else model.to(place)).eval(), processor, base_name, note)


def find_folder(name: str | Path) -> Path | None:
    """Return the folder ``name`` stands for, or None if it can only be a hub id.

    Raises:
        ModelLoadError: it is a path and there is no model there.
        MissingDependencyError: it is a name, and the package is missing that carries the model.
    """
    if str(name) in NAMED_MODELS:
        return NAMED_MODELS[str(name)]()
    path = Path(name).expanduser()
    if path.is_dir():
        path = weights_of(path) or path
        if not (path / "config.json").is_file() and not (path / _ADAPTER_FILE).is_file():
            raise ModelLoadError(
                f"expected a model folder with config.json or {_ADAPTER_FILE}, found neither in {str(path)!r}"
                "; give a run folder, or one that save_pretrained wrote"
            )
        return path
    if (
        isinstance(name, Path)
        or path.is_absolute()
        or str(name).startswith((".", "~"))
        or str(name).count("/") > 1
    ):
        raise ModelLoadError(f"expected a model folder, there is none at {str(name)!r}; check the path")
    return None


def require_hub_model(model_id: str) -> None:
    """Make sure that a hub model is cached or can be fetched, without waiting for retries.

    Raises:
        ModelLoadError: it is neither cached nor reachable, or the hub does not have it.
    """
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    near = difflib.get_close_matches(model_id, NAMED_MODELS, 1, 0.8)
    advice = f"did you mean {near[0]!r}?" if near else f"give a local folder, or {TINY_NAME} without a hub"
    try:
        if isinstance(huggingface_hub.try_to_load_from_cache(model_id, "config.json"), str):
            return
    except HFValidationError as error:
        raise ModelLoadError(f"{model_id!r} is neither a folder nor a valid hub id; {advice}") from error
    if constants.HF_HUB_OFFLINE:
        raise ModelLoadError(f"{model_id!r} is not in the local cache and HF_HUB_OFFLINE is set; {advice}")
    try:
        huggingface_hub.HfApi(endpoint=constants.ENDPOINT).model_info(model_id, timeout=HUB_TIMEOUT_SECONDS)
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "an error")
        raise ModelLoadError(
            f"the hub at {constants.ENDPOINT} answered {status} for {model_id!r}; {advice}"
        ) from error
    except Exception as error:  # whatever the HTTP client of the day raises when there is no network
        raise ModelLoadError(
            f"{model_id!r} is not a folder and the hub at {constants.ENDPOINT} cannot be reached"
            f" ({type(error).__name__}); {advice}"
        ) from error


def portable_name(base_name: str) -> str:
    """Return how an adapter should name its base: so that other machines understand it, where that can be.

    A model with a name of ours is named, one in the hub's cache by its id. Another folder of this machine has
    no name but its path.
    """
    path = Path(base_name)
    if base_name in NAMED_MODELS or not path.is_absolute():
        return base_name
    if path.name in NAMED_MODELS and path == NAMED_MODELS[path.name]().resolve():
        return path.name
    cached = [part for part in path.parts if part.startswith("models--")]
    return cached[-1].removeprefix("models--").replace("--", "/") if cached else base_name


def still_there(*names: str) -> str | Path:
    """Return the first of some models that is here: its folder, or its hub id; else the last name."""
    for name in names:
        with contextlib.suppress(ModelLoadError):
            return find_folder(name) or name
    return names[-1]


def quantised_loading(kind: str, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Return the keywords for ``from_pretrained`` that load a model quantised.

    Args:
        kind: ``8bit`` or ``4bit``.
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
    if device.type != "cuda":
        raise ConfigError(
            f"quantization {kind} needs a CUDA device and the device is {device.type}; "
            "use quantization none, or a machine with a CUDA GPU"
        )
    missing = [name for name in _QUANTISERS if find_spec(name) is None]
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


def frozen_fingerprint(model: torch.nn.Module) -> str:
    """Return the SHA-256 of the names and shapes of the frozen parameters and of 32 values of each.

    The values are spread evenly over each parameter. Two models whose weights differ in less than that have
    the same fingerprint; a model that was trained on, or begun from another seed, has another.

    Args:
        model: its trainable parameters (an adapter's) are left out.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        if parameter.requires_grad:
            continue
        flat = parameter.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _FINGERPRINT_VALUES)][:_FINGERPRINT_VALUES]
        digest.update(f"{name} {tuple(parameter.shape)}\n".encode())
        digest.update(sample.to("cpu", torch.float64).numpy().tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _one_line_errors(source: str) -> Iterator[None]:
    try:
        yield
    except PixelisError:
        raise
    except Exception as error:  # transformers, safetensors, tokenizers and peft each have their own classes
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelLoadError(f"cannot load a model from {source!r}: {lines[0]}") from error


def _load_base(source: str, dtype: torch.dtype, *, local: bool, **quantised: Any) -> tuple[Any, Any]:
    import transformers as hf

    config = hf.AutoConfig.from_pretrained(source, local_files_only=local)
    sees = type(config) in hf.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    model_class = hf.AutoModelForImageTextToText if sees else hf.AutoModelForCausalLM
    processor = load_processor(source, config, local=local)
    model = model_class.from_pretrained(source, dtype=dtype, local_files_only=local, **quantised)
    return model, processor


def _load_adapter(folder: Path, device: torch.device, dtype: str, quantization: str) -> LoadedModel:
    import peft

    with _one_line_errors(str(folder)):
        base_name = json.loads((folder / _ADAPTER_FILE).read_text(encoding="utf-8"))[
            "base_model_name_or_path"
        ]
    # An adapter of a named model may have been trained in another installation: its folder is then elsewhere.
    name = Path(str(base_name)).name
    moved = name in NAMED_MODELS and not os.path.isdir(str(base_name))
    if os.path.isabs(str(base_name)) and not moved and not os.path.isdir(str(base_name)):
        raise ModelLoadError(
            f"the base of the adapter in {str(folder)!r} is not here: its {_ADAPTER_FILE} names the folder"
            f" {str(base_name)!r}; write there where that model is now, or its hub id"
        )
    base = load_model(
        name if moved else base_name, device=str(device), dtype=dtype, quantization=quantization
    )
    with quiet_libraries(), _one_line_errors(str(folder)), _foreign_adapter(folder, base.base_name):
        model = peft.PeftModel.from_pretrained(base.model, str(folder), is_trainable=True)
        _check_adapter(model, folder)
    placed = model if quantization != "none" else model.to(device)
    return LoadedModel(placed.eval(), base.processor, base.base_name, read_note(folder))


@contextlib.contextmanager
def _foreign_adapter(folder: Path, base_name: str) -> Iterator[None]:
    """Say of what does not fit that the adapter belongs to another base; peft's own words say what."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Found missing adapter keys")  # else they stay random
            yield
    except (RuntimeError, UserWarning, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        detail = lines[1] if lines[0].endswith(":") and len(lines) > 1 else lines[0]
        raise ModelLoadError(
            f"the adapter in {str(folder)!r} does not fit {base_name!r}, the base that its {_ADAPTER_FILE}"
            f" names: {detail[:200]}; name the model it was trained on there, or train a new adapter"
        ) from error


def _check_adapter(model: Any, folder: Path) -> None:
    """Check that no weight of the adapter was left over, as peft passes over those in silence."""
    from safetensors import safe_open

    path = folder / "adapter_model.safetensors"
    if not path.is_file():  # an old adapter, in torch's own format
        return
    with safe_open(str(path), "pt") as file:
        saved = {name for name in file.keys() if ".lora_" in name}  # noqa: SIM118 (a file, not a dict)
    (adapter,) = model.active_adapters
    left = sorted(saved - {name.replace(f".{adapter}.", ".") for name, _ in model.named_parameters()})
    if left:
        raise ValueError(f"the base has no place for {len(left)} of its weights, the first is {left[0]}")


def device_named(name: str) -> torch.device:
    """Return the device that a setting names, of ``auto`` the fastest.

    Raises:
        ConfigError: there is none such.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"device must be auto, cpu or cuda, got {name!r}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {name!r} was asked for and no CUDA device is available; use auto or cpu")
    return device
