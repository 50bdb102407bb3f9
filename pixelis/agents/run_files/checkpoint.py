"""Checkpoints that are either whole or not there.

A checkpoint is a folder ``step-00000040``, or one with a name of its own such as ``stage-full``, which is
kept until a run goes back to before it. It is written under another name, its files are flushed to the disk,
a manifest with their digests is added, and only then is it renamed. A process that is killed, or a disk that
is full, at any moment leaves the previous checkpoints as they were.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from pixelis.agents.run_files.state_files import read_json, write_json
from pixelis.errors import CheckpointError, OutputError
from pixelis.files import one_line

MANIFEST = "manifest.json"
_NAME = re.compile(r"step-(\d{8})")
_NAMED = "stage-"
_UNFINISHED, _DOOMED = ".unfinished-", ".deleting-"
# What the writers below raise when a disk is full or a folder is not writable, each library in its own way.
_WRITE_ERRORS = (OSError, SafetensorError)


def checkpoint_name(step: int) -> str:
    """Return the folder name of a step's checkpoint."""
    return f"step-{step:08d}"


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the finished checkpoints of a folder, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())


def step_of(checkpoint: Path) -> int:
    """Return the step in a checkpoint's name, or in the manifest of one that has a name of its own.

    Raises:
        CheckpointError: it is not a checkpoint's name, or its manifest is damaged.
    """
    if match := _NAME.fullmatch(checkpoint.name):
        return int(match[1])
    if not checkpoint.name.startswith(_NAMED):
        raise CheckpointError(
            f"expected a checkpoint folder named step-NNNNNNNN or {_NAMED}NAME, got {str(checkpoint)!r}"
        )
    step = read_json(checkpoint / MANIFEST).get("step")
    if not isinstance(step, int):
        raise CheckpointError(f"{str(checkpoint / MANIFEST)!r} is corrupt: it has no step")
    return step


def save_checkpoint(folder: Path, step: int, write: Callable[[Path], None], *, keep: int) -> Path:
    """Write one checkpoint and delete the oldest ones; an intact one of the same step is kept as it is.

    Args:
        folder: where checkpoints live; made if missing.
        step: number of finished training steps.
        write: writes the files into the folder it is given.
        keep: how many checkpoints are left afterwards, at least 1.

    Returns:
        The finished checkpoint.

    Raises:
        OutputError: it could not be written; every older checkpoint is still there.
    """
    final = folder / checkpoint_name(step)
    if not _is_intact(final):
        _write(folder, final, step, write)
    for old in list_checkpoints(folder)[:-keep]:
        _delete(old)
    return final


def save_named(folder: Path, name: str, step: int, write: Callable[[Path], None]) -> Path:
    """Write a checkpoint ``stage-<name>`` in the place of an earlier one of that name; see `save_checkpoint`.

    Characters that file systems may not take become ``_``.

    Raises:
        OutputError: it could not be written; the one before is still there.
    """
    final = folder / (_NAMED + re.sub(r"[^\w.-]", "_", name))
    _write(folder, final, step, write)
    return final


def _write(folder: Path, final: Path, step: int, write: Callable[[Path], None]) -> None:
    unfinished = folder / f"{_UNFINISHED}{final.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        unfinished.mkdir()
        write(unfinished)
        _seal(unfinished, step)
        if final.exists():  # a corrupt one, or an earlier one of that name
            _delete(final)
        os.rename(unfinished, final)
        _flush(folder)
    except _WRITE_ERRORS as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OutputError(_cannot_save(folder, step, error)) from error


def discard_after(folder: Path, step: int) -> None:
    """Delete the checkpoints of later steps, so that a run that went back to ``step`` has one history."""
    for checkpoint in [*list_checkpoints(folder), *folder.glob(f"{_NAMED}*")]:
        if step_of(checkpoint) > step:
            _delete(checkpoint)


def verify_checkpoint(checkpoint: Path) -> None:
    """Check that every file of a checkpoint is there and unchanged.

    Raises:
        CheckpointError: naming the first file that is missing or altered.
    """
    if not (checkpoint / MANIFEST).is_file():
        raise CheckpointError(f"no checkpoint at {str(checkpoint)!r}: {MANIFEST} is missing")
    digests = read_json(checkpoint / MANIFEST).get("sha256")
    if not isinstance(digests, dict):
        raise CheckpointError(f"{str(checkpoint / MANIFEST)!r} is corrupt: it lists no files")
    for name, digest in digests.items():
        try:
            found = _digest(checkpoint / name)
        except OSError as error:
            raise CheckpointError(f"checkpoint {str(checkpoint)!r} is corrupt: {one_line(error)}") from error
        if found != digest:
            raise CheckpointError(
                f"checkpoint {str(checkpoint)!r} is corrupt: {name} is not what was written"
            )


def latest_checkpoint(folder: Path) -> Path:
    """Return the newest checkpoint of a folder, verified.

    Raises:
        CheckpointError: there is none, or the newest is corrupt (the message names the one before it).
    """
    found = list_checkpoints(folder)
    if not found:
        raise CheckpointError(f"no checkpoint in {str(folder)!r}; start a new run, or give the folder of one")
    try:
        verify_checkpoint(found[-1])
    except CheckpointError as error:
        older = f"; delete that folder to go on from {found[-2].name}" if len(found) > 1 else ""
        raise CheckpointError(f"{error}{older}") from error
    return found[-1]


def _seal(folder: Path, step: int) -> None:
    """Flush every file to the disk and add the manifest, last."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): _digest(path) for path in files}
    write_json(folder / MANIFEST, {"step": step, "sha256": digests})
    for path in [*files, folder / MANIFEST]:
        _flush(path)
    for path in [*(path for path in folder.rglob("*") if path.is_dir()), folder]:
        _flush(path)


def _flush(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # Windows cannot open a folder
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_intact(checkpoint: Path) -> bool:
    try:
        verify_checkpoint(checkpoint)
    except CheckpointError:
        return False
    return True


def _delete(checkpoint: Path) -> None:
    """Delete a checkpoint so that a kill half-way leaves no half of one under its name."""
    doomed = checkpoint.with_name(f"{_DOOMED}{checkpoint.name}")
    os.rename(checkpoint, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind."""
    for path in folder.iterdir():
        if path.name.startswith((_UNFINISHED, _DOOMED)):
            shutil.rmtree(path)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _cannot_save(folder: Path, step: int, error: Exception) -> str:
    left = list_checkpoints(folder)
    survivor = f"{left[-1].name} is intact" if left else "there is no earlier one"
    return (
        f"cannot save the checkpoint of step {step} in {str(folder)!r} ({one_line(error)}); {survivor}; "
        "make room or permission, then resume"
    )
