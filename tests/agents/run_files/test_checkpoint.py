"""Checkpoints are whole or not there: kills, full disks, folders that cannot be written, damaged files."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pixelis.agents.run_files.checkpoint import (
    checkpoint_name,
    discard_after,
    latest_checkpoint,
    list_checkpoints,
    save_checkpoint,
    save_named,
    step_of,
    verify_checkpoint,
)
from pixelis.errors import CheckpointError, OutputError


def writer(content: bytes):
    def write(folder: Path) -> None:
        (folder / "adapter").mkdir()
        (folder / "adapter" / "weights.bin").write_bytes(content)
        (folder / "progress.json").write_text("{}")

    return write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_checkpoint_can_be_found_and_verified(tmp_path):
    path = save_checkpoint(tmp_path / "new", 40, writer(b"abc"), keep=2)
    assert path == latest_checkpoint(tmp_path / "new")
    assert (path.name, step_of(path)) == ("step-00000040", 40)
    assert (path / "adapter" / "weights.bin").read_bytes() == b"abc"
    verify_checkpoint(path)


def test_only_the_newest_are_kept(tmp_path):
    for step in (0, 10, 20, 30):
        save_checkpoint(tmp_path, step, writer(b"x"), keep=2)
    assert names(tmp_path) == ["step-00000020", "step-00000030"]


def test_an_intact_checkpoint_of_the_same_step_is_kept_and_a_corrupt_one_replaced(tmp_path):
    path = save_checkpoint(tmp_path, 1, writer(b"first"), keep=2)
    save_checkpoint(tmp_path, 1, writer(b"second"), keep=2)
    weights = path / "adapter" / "weights.bin"
    assert weights.read_bytes() == b"first"
    weights.write_bytes(b"fi")
    save_checkpoint(tmp_path, 1, writer(b"third"), keep=2)
    assert weights.read_bytes() == b"third"


def test_later_checkpoints_can_be_discarded(tmp_path):
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, step, writer(b"x"), keep=5)
    discard_after(tmp_path, 1)
    assert names(tmp_path) == ["step-00000001"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda path: (path / "adapter" / "weights.bin").write_bytes(b"abd"),
            "weights.bin is not what was written",
        ),
        (
            lambda path: (path / "adapter" / "weights.bin").write_bytes(b""),
            "weights.bin is not what was written",
        ),
        (lambda path: (path / "progress.json").unlink(), "No such file"),
        (lambda path: (path / "manifest.json").unlink(), "manifest.json is missing"),
        (lambda path: (path / "manifest.json").write_text("{"), "manifest.json' is corrupt"),
        (lambda path: (path / "manifest.json").write_text("[]"), "not a JSON object"),
        (lambda path: (path / "manifest.json").write_text("{}"), "lists no files"),
    ],
)
def test_damage_is_found_and_told_in_one_line(tmp_path, damage, message):
    older = save_checkpoint(tmp_path, 1, writer(b"abc"), keep=2)
    damage(save_checkpoint(tmp_path, 2, writer(b"abc"), keep=2))
    with pytest.raises(CheckpointError, match=message) as caught:
        latest_checkpoint(tmp_path)
    assert f"go on from {older.name}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_with_a_name_is_kept_until_a_run_goes_back_to_before_it(tmp_path):
    save_checkpoint(tmp_path, 3, writer(b"abc"), keep=1)
    assert save_named(tmp_path, "a/b c", 3, writer(b"old")).name == "stage-a_b_c"
    named = save_named(tmp_path, "a/b c", 5, writer(b"new"))  # a later one takes its place
    save_checkpoint(tmp_path, 6, writer(b"abc"), keep=1)
    assert names(tmp_path) == ["stage-a_b_c", "step-00000006"]
    verify_checkpoint(named)
    assert step_of(named) == 5 and latest_checkpoint(tmp_path).name == "step-00000006"
    discard_after(tmp_path, 5)
    assert names(tmp_path) == ["stage-a_b_c"]
    discard_after(tmp_path, 4)
    assert names(tmp_path) == []


def test_one_with_a_name_survives_a_writer_that_fails(tmp_path):
    named = save_named(tmp_path, "full", 2, writer(b"old"))

    def broken(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device"):
        save_named(tmp_path, "full", 4, broken)
    verify_checkpoint(named)
    assert step_of(named) == 2
    (named / "manifest.json").write_text("{}")
    with pytest.raises(CheckpointError, match="has no step"):
        step_of(named)


def test_no_checkpoint(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CheckpointError, match="no checkpoint in"):
            latest_checkpoint(folder)
    with pytest.raises(CheckpointError, match="named step-NNNNNNNN"):
        step_of(tmp_path)


def test_a_writer_that_fails_leaves_the_older_checkpoint_alone(tmp_path):
    save_checkpoint(tmp_path, 1, writer(b"abc"), keep=1)

    def full(folder: Path) -> None:
        writer(b"half")(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match=r"No space left on device.*step-00000001 is intact"):
        save_checkpoint(tmp_path, 2, full, keep=1)
    assert names(tmp_path) == ["step-00000001"]
    verify_checkpoint(tmp_path / checkpoint_name(1))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="there is no earlier one"):
        save_checkpoint(tmp_path / "file", 1, writer(b"abc"), keep=1)


def test_a_folder_without_write_permission(read_only_folder):
    with pytest.raises(OutputError, match="Permission denied"):
        save_checkpoint(read_only_folder, 1, writer(b"abc"), keep=1)


def test_leftovers_of_killed_processes_are_no_checkpoints_and_are_swept(tmp_path):
    save_checkpoint(tmp_path, 1, writer(b"abc"), keep=2)
    for name in (".unfinished-00000002", ".deleting-step-00000000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").write_bytes(b"?")
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-00000001"]
    save_checkpoint(tmp_path, 2, writer(b"abc"), keep=2)
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


LIMITED = """
    import resource, sys
    from pathlib import Path
    from pixelis.agents.run_files.checkpoint import save_checkpoint
    from pixelis.agents.run_files.state_files import write_tensors
    from pixelis.errors import OutputError
    import torch

    folder = Path(sys.argv[1])
    def save(step, size):
        state = {"x": torch.zeros(size)}
        save_checkpoint(folder, step, lambda path: write_tensors(path / "a.pt", state), keep=1)

    save(1, 10)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    try:
        save(2, 100_000)
    except OutputError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no resource limits")
def test_a_file_that_may_not_grow(tmp_path):
    script = textwrap.dedent(LIMITED)
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert "File too large" in result.stdout and "step-00000001 is intact" in result.stdout
    verify_checkpoint(latest_checkpoint(tmp_path))


KILLED = """
    import sys
    from pathlib import Path
    from pixelis.agents.run_files.checkpoint import save_checkpoint

    def write(folder):
        for number in range(20):
            (folder / f"{number}.bin").write_bytes(bytes([number]) * 20_000)

    step = int(sys.argv[2])
    while True:
        save_checkpoint(Path(sys.argv[1]), step, write, keep=1)
        print(step, flush=True)
        step += 1
"""


@pytest.mark.slow
def test_sigkill_at_any_moment_leaves_an_intact_checkpoint(tmp_path):
    reached = 0
    for delay in (0.0, 0.004, 0.019):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), str(reached)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(3):
            reached = int(process.stdout.readline())
        try:
            process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()
        process.wait()
        assert step_of(latest_checkpoint(tmp_path)) >= reached
        reached = step_of(latest_checkpoint(tmp_path)) + 1
