"""Finding what a run left on disk: its settings, its newest checkpoint, its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pixelis.agents.checkpoint import latest_checkpoint, step_of, verify_checkpoint
from pixelis.agents.run_folder import RunFolder

ADAPTER, PROGRESS = "adapter", "progress.json"
"""What a checkpoint calls the folder of the adapter and the file that says how far the run was."""


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


def newest_adapter(path: str | Path) -> tuple[Path, int]:
    """Return the adapter folder of a run's newest checkpoint and its step.

    Raises:
        CheckpointError: there is none, or it is corrupt.
    """
    checkpoint = checkpoint_of(path)
    return checkpoint / ADAPTER, step_of(checkpoint)


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
