"""Reading a model's tokenizer or processor, also where the packages for videos are missing.

Some processors (Qwen2-VL, Qwen2.5-VL, Qwen3-VL) come with a video part that needs torchvision. No
environment shows videos, so without torchvision that part is left out; what remains is transformers' own
class. Where a processor cannot do without, the error names the packages to install.
"""

from __future__ import annotations

import inspect
import json
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pixelis.errors import MissingDependencyError

_LOG = logging.getLogger(__name__)
_VIDEO_PART, _VIDEO_FILE, _PROCESSOR_FILE = (
    "video_processor",
    "video_preprocessor_config.json",
    "processor_config.json",
)
# Packages that transformers would name only after the first missing one is there.
_MORE_PACKAGES = {"SmolVLMProcessor": ("num2words",)}
_PACKAGES = ("torchvision", "num2words", "sentencepiece", "tiktoken")
_LOAD_ERRORS = (ImportError, OSError, ValueError)  # transformers raises each of them for a missing package


def load_processor(source: str, config: Any, *, local: bool) -> Any:
    """Return the processor of a model with vision, the tokenizer of a text model.

    Args:
        source: a folder or a hub id.
        config: the model's config.
        local: read local files only.

    Raises:
        MissingDependencyError: it needs packages that are not installed; they are named.
    """
    import transformers as hf

    if type(config) not in hf.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return hf.AutoTokenizer.from_pretrained(source, local_files_only=local)
    try:
        return hf.AutoProcessor.from_pretrained(source, local_files_only=local)
    except _LOAD_ERRORS as error:
        whole = _declared_class(source, config, local)
        if not _can_leave_videos_out(whole):
            _name_missing(source, whole, error)
            raise
    _LOG.info("without torchvision %s reads pictures and no videos", whole.__name__)
    try:
        return _without_videos(whole).from_pretrained(source, local_files_only=local)
    except _LOAD_ERRORS as error:
        _name_missing(source, whole, error)
        raise


def save_processor(processor: Any, folder: str | Path, source: str | Path) -> None:
    """Write a processor's files; a video part that was left out is copied from where it was loaded from.

    Args:
        processor: a processor or tokenizer.
        folder: where to.
        source: the folder or hub id that it was loaded from.

    Raises:
        OSError: a file cannot be written.
    """
    processor.save_pretrained(str(folder))
    if hasattr(processor, _VIDEO_PART):
        return
    if (file := _file(source, _VIDEO_FILE)) is not None:
        (Path(folder) / _VIDEO_FILE).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    written = Path(folder) / _PROCESSOR_FILE
    if (file := _file(source, _PROCESSOR_FILE)) is not None and written.is_file():
        whole = json.loads(file.read_text(encoding="utf-8"))
        if _VIDEO_PART in whole:
            values = {**json.loads(written.read_text(encoding="utf-8")), _VIDEO_PART: whole[_VIDEO_PART]}
            written.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _without_videos(whole: type[Any]) -> type[Any]:
    """Return a processor class without its video part, under the same name so that files stay the same."""

    def parts(cls: type[Any]) -> list[str]:
        return [name for name in whole.get_attributes() if name != _VIDEO_PART]

    return type(
        whole.__name__, (whole,), {"get_attributes": classmethod(parts), "__module__": whole.__module__}
    )


def _can_leave_videos_out(whole: type[Any]) -> bool:
    """Whether torchvision is missing and the class has a video part that may be None."""
    parameter = inspect.signature(whole.__init__).parameters.get(_VIDEO_PART)
    return not _installed("torchvision") and parameter is not None and parameter.default is None


def _declared_class(source: str, config: Any, local: bool) -> type[Any]:
    """Return the processor class that the files name, or the one that belongs to the architecture."""
    import transformers as hf
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

    for name in (_PROCESSOR_FILE, "preprocessor_config.json", "tokenizer_config.json"):
        file = _file(source, name, local=local)
        declared = json.loads(file.read_text(encoding="utf-8")).get("processor_class") if file else None
        if isinstance(found := getattr(hf, str(declared), None), type):
            return found
    mapped: Any = PROCESSOR_MAPPING[type(config)]
    return mapped


def _file(source: str | Path, name: str, *, local: bool = True) -> Path | None:
    from transformers.utils.hub import cached_file

    found = cached_file(
        str(source),
        name,
        local_files_only=local,
        _raise_exceptions_for_gated_repo=False,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    return Path(found) if found is not None else None


def _installed(package: str) -> bool:
    return find_spec(package) is not None


def _name_missing(source: str, whole: type[Any], error: Exception) -> None:
    """Raise an error that names the missing packages, if that is what an error is about."""
    wanted = [name for name in _PACKAGES if name in str(error).lower()]
    if _VIDEO_PART in inspect.signature(whole.__init__).parameters:
        wanted += ["torchvision", *_MORE_PACKAGES.get(whole.__name__, ())]
    missing = [name for name in dict.fromkeys(wanted) if not _installed(name)]
    if missing:
        raise MissingDependencyError(
            f"{whole.__name__} of {source!r} needs {' and '.join(missing)}, not installed here; "
            f"pip install {' '.join(missing)}"
        ) from error
