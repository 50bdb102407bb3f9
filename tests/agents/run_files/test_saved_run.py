"""Finding what a run left on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.agents.run_files.checkpoint import save_checkpoint
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import ADAPTER, checkpoint_of, newest_adapter, run_path, settings_of
from pixelis.errors import CheckpointError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with two checkpoints."""
    folder = RunFolder.create(tmp_path / "run", {"lr": 0.5, "output": "where it was first"})
    for step in (3, 12):
        save_checkpoint(folder.checkpoints, step, lambda path: (path / ADAPTER).mkdir(), keep=9)
    return folder.path


def test_a_checkpoint_names_its_run(run: Path):
    assert run_path(run / "checkpoints" / "step-00000003") == run == run_path(str(run))


def test_a_run_stands_for_its_newest_checkpoint_and_a_checkpoint_for_itself(run: Path):
    older, newest = run / "checkpoints" / "step-00000003", run / "checkpoints" / "step-00000012"
    assert (checkpoint_of(run), checkpoint_of(str(older))) == (newest, older)
    assert newest_adapter(run) == (newest / ADAPTER, 12)
    assert newest_adapter(older) == (older / ADAPTER, 3)


def test_the_settings_say_where_the_run_is_now(run: Path):
    assert settings_of(run) == settings_of(checkpoint_of(run)) == {"lr": 0.5, "output": str(run)}


def test_what_is_not_there_is_told(run: Path, tmp_path: Path):
    with pytest.raises(CheckpointError, match="no run at"):
        settings_of(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"no checkpoint at .*step-00000007': manifest\.json is missing"
    ):
        checkpoint_of(run / "checkpoints" / "step-00000007")
