"""A run's model as a folder for other programs: the adapter merged into its base or alone, or all weights.

The folder appears whole or not at all, and nothing is ever written over.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError

from pixelis.agents.models.loading import (
    LoadedModel,
    load_model,
    portable_name,
    still_there,
)
from pixelis.agents.models.model_note import ModelNote, write_note
from pixelis.agents.models.processors import save_processor
from pixelis.agents.models.weight_types import DTYPES
from pixelis.agents.publish.language_stepper import CARD
from pixelis.agents.publish.model_card import model_card, read_facts
from pixelis.agents.run_files.checkpoint import step_of
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import ADAPTER, PROGRESS, checkpoint_of, run_path, trained_in
from pixelis.agents.run_files.state_files import read_json
from pixelis.agents.run_files.trained_settings import EXPORTED, played_settings
from pixelis.errors import ConfigError, OutputError
from pixelis.files import one_line
from pixelis.rewards.text.quiet import quiet_libraries

_ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        folder: where it is.
        step: the training step of the weights.
        size_bytes: size of all files.
        rank: of the LoRA adapter; None where all weights were trained.
        base_model: what the base was loaded from.
    """

    folder: Path
    step: int
    size_bytes: int
    rank: int | None
    base_model: str


def export_model(
    run: str | Path, output: str | Path, *, adapter_only: bool = False, dtype: str = "auto"
) -> Exported:
    """Write a run's model and its card.

    The merge W + (alpha / rank) B A is computed in float32, on the CPU, with weights that are not quantised.

    Args:
        run: a run folder (its newest checkpoint), or one of its checkpoints.
        output: a folder that does not exist yet.
        adapter_only: write the PEFT adapter as it was trained instead.
        dtype: type of the merged weights; ``auto`` for the one the run trained with.

    Raises:
        CheckpointError: there is no run or checkpoint, or it is corrupt.
        ConfigError: ``output`` exists, an unknown ``dtype``, or there is no adapter to write alone.
        ModelLoadError: the base model cannot be had.
        OutputError: the folder cannot be written; nothing is left of it.
    """
    target = Path(output)
    if dtype not in ("auto", *DTYPES):
        raise ConfigError(f"dtype must be one of auto, {', '.join(DTYPES)}, got {dtype!r}")
    check_free(target)
    checkpoint = checkpoint_of(run)
    folder, settings = RunFolder.open(run_path(run))
    trained = trained_in(checkpoint)
    if adapter_only and trained.name != ADAPTER:
        raise ConfigError(
            f"{str(run)!r} trained all weights, so there is no adapter to export; leave --adapter-only out"
        )
    if "agent" in settings:
        raise ConfigError(f"{str(run)!r} is a run of an agent without language (SB3): nothing to export")
    loaded = load_model(trained, device="cpu")
    adapted = trained.name == ADAPTER
    before = loaded.base_name if adapted else loaded.note.trained_from or loaded.base_name
    facts = read_facts(
        folder,
        settings,
        read_json(checkpoint / PROGRESS),
        before,
        sees_images=hasattr(loaded.processor, "image_processor"),
        model_class=type(loaded.model.get_base_model() if adapted else loaded.model).__name__,
        adapter_only=adapter_only,
    )
    kind = DTYPES[facts.config.dtype if dtype == "auto" else dtype]

    def write(place: Path) -> None:
        """Fill the folder."""
        if adapter_only:
            for name in _ADAPTER_FILES:
                shutil.copyfile(trained / name, place / name)
        else:
            _write_merged(loaded, kind, place)
        if loaded.note.system_prompt:
            write_note(place, ModelNote(loaded.note.system_prompt, portable_name(before)))
        (place / CARD).write_text(model_card(facts), encoding="utf-8")
        (place / EXPORTED).write_text(played_settings(settings), encoding="utf-8")

    rank = loaded.model.peft_config["default"].r if adapted else None
    size = appear(target, write)
    return Exported(target, step_of(checkpoint), size, rank, before)


def _write_merged(loaded: LoadedModel, dtype: torch.dtype, folder: Path) -> None:
    source = still_there(loaded.base_name, loaded.note.trained_from or loaded.base_name)
    with quiet_libraries():
        model = loaded.model
        whole = model.merge_and_unload(safe_merge=True) if hasattr(model, "merge_and_unload") else model
        whole.to(dtype).save_pretrained(str(folder))
        save_processor(loaded.processor, folder, source)


def check_free(target: Path) -> None:
    """Refuse a place where something is.

    Raises:
        ConfigError: there is.
    """
    if os.path.lexists(target):
        raise ConfigError(f"{str(target)!r} exists already and is not written over; choose another --output")


def appear(target: Path, write: Callable[[Path], None]) -> int:
    """Let ``write`` fill a folder beside the target, flush it and rename it; return its size in bytes.

    Raises:
        ConfigError: there is something at the target.
        OutputError: it cannot be written; nothing is left of it.
    """
    check_free(target)
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        write(unfinished)
        size = sum(_flush(path) for path in sorted(unfinished.rglob("*")) if path.is_file())
        os.rename(unfinished, target)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OutputError(
            f"cannot write to {str(target)!r}: {one_line(error)}; nothing is left of it; "
            "choose another --output or make room"
        ) from error
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return size


def _flush(path: Path) -> int:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return path.stat().st_size
