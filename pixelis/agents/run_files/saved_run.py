"""Finding what a run left on disk: its settings, its newest checkpoint, its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pixelis.agents.run_files.checkpoint import (
    MANIFEST,
    latest_checkpoint,
    list_checkpoints,
    step_of,
    verify_checkpoint,
)
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.errors import ModelLoadError

ADAPTER, WEIGHTS, PROGRESS = "adapter", "model", "progress.json"
"""What a checkpoint calls the folder of the adapter, that of all weights, and the file of how far it was."""


def run_path(path: str | Path) -> Path:
    """Return the run folder of a run folder or of a checkpoint inside one."""
    path = Path(path)
    return path.parent.parent if path.parent.name == "checkpoints" else path


def settings_of(path: str | Path) -> dict[str, Any]:
    """Return the settings with which a run was started, its folder as ``output``.

    Raises:
        CheckpointError: there is no run at ``path``.
    """
    _, values = RunFolder.open(run_path(path))
    return {**values, "output": str(run_path(path))}


def is_run(path: str | Path) -> bool:
    """Return whether a folder is a training run's: it has the settings, and is no model's own folder."""
    path = Path(path)
    return (path / "config.yaml").is_file() and not (path / "config.json").is_file()


def trained_in(folder: Path) -> Path:
    """Return what a checkpoint or a run folder holds of the trained model: all weights, or the adapter."""
    return folder / WEIGHTS if (folder / WEIGHTS).is_dir() else folder / ADAPTER


def weights_of(path: str | Path) -> Path | None:
    """Return the folder of the trained weights of a run or of one of its checkpoints; None for other folders.

    Of a run it is that of the newest checkpoint. Where all weights were trained it is ``model`` in the run
    folder, a name that stays while checkpoints come and go, and where no checkpoint is left what the run
    folder itself holds.

    Raises:
        CheckpointError: the checkpoint is corrupt, or there is none.
        ModelLoadError: the run trained no language model.
    """
    path = Path(path)
    if not is_run(run_path(path)) or not (path == run_path(path) or (path / MANIFEST).is_file()):
        return None
    if "agent" in settings_of(path):
        raise ModelLoadError(
            f"{str(path)!r} is a run of an agent without language (SB3), which is no --model; "
            "evaluate_agent.py --agent plays it"
        )
    left = path == run_path(path) and trained_in(path).is_dir()
    if left and (trained_in(path).name == WEIGHTS or not list_checkpoints(path / "checkpoints")):
        return trained_in(path)
    return trained_in(checkpoint_of(path))


def newest_adapter(path: str | Path) -> tuple[Path, int]:
    """Return the folder of the trained weights in a run's newest checkpoint (`trained_in`), and its step.

    Raises:
        CheckpointError: there is none, or it is corrupt.
    """
    checkpoint = checkpoint_of(path)
    return trained_in(checkpoint), step_of(checkpoint)


def checkpoint_of(path: str | Path) -> Path:
    """Return the newest checkpoint of a run, or the one that is given, verified.

    Raises:
        CheckpointError: there is none, or it is corrupt.
    """
    root = run_path(path)
    folder, _ = RunFolder.open(root)
    if root == Path(path):
        return latest_checkpoint(folder.checkpoints)
    verify_checkpoint(Path(path))
    return Path(path)
