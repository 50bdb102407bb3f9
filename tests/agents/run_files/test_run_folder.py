"""The folder of a run."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from pixelis.agents.run_files.run_folder import RunFolder, free_run_path
from pixelis.errors import CheckpointError, ConfigError, OutputError
from pixelis.files import write_atomically, writing
from pixelis.wrappers.recording.images import ImageFolder


def test_settings_go_there_and_back(tmp_path):
    values = {"lr": 1e-05, "env_kwargs": {"reader": "truth"}, "minutes": None, "env": "Pixelis/ZoomRead-v0"}
    RunFolder.create(tmp_path / "deep" / "run", values)
    run, back = RunFolder.open(tmp_path / "deep" / "run")
    assert back == values and list(back) == list(values)
    assert run.checkpoints.is_dir() and run.trajectories.is_dir()


@pytest.mark.parametrize("trace", ["metrics.jsonl", "checkpoints/step-00000000/manifest.json"])
def test_a_run_is_never_overwritten(tmp_path, trace):
    RunFolder.create(tmp_path, {"lr": 1})
    (tmp_path / trace).parent.mkdir(exist_ok=True)
    (tmp_path / trace).touch()
    with pytest.raises(
        ConfigError, match=r"already holds a run; resume it with --resume .* or choose another --output"
    ):
        RunFolder.create(tmp_path, {"lr": 2})
    assert RunFolder.open(tmp_path)[1] == {"lr": 1}


def test_a_run_that_has_left_nothing_but_its_settings_may_begin_again(tmp_path):
    RunFolder.create(tmp_path, {"lr": 1})
    (tmp_path / "checkpoints" / ".unfinished-00000000").mkdir()
    RunFolder.create(tmp_path, {"lr": 2})
    assert RunFolder.open(tmp_path)[1] == {"lr": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "is missing"), ("a: [", "is damaged"), ("- 1", "expected a mapping"), ("", "expected a mapping")],
)
def test_what_is_no_run(tmp_path, text, message):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(CheckpointError, match=message):
        RunFolder.open(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot write to .*choose another --output"):
        RunFolder.create(tmp_path / "file" / "run", {})


def test_a_folder_without_write_permission(read_only_folder):
    with pytest.raises(OutputError, match="Permission denied"):
        RunFolder.create(read_only_folder / "run", {})


def test_trajectories(tmp_path):
    run = RunFolder.create(tmp_path, {})
    for step in (1, 10, 20):
        run.write_trajectories(step, [{"text": "é\n", "reward": 1.0}, {"text": "b", "reward": 0.0}])
    lines = (run.trajectories / "step-00000010.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0]) == {"text": "é\n", "reward": 1.0} and len(lines) == 2
    (run.trajectories / "notes.txt").write_text("mine")
    run.discard_after(10)
    assert sorted(path.name for path in run.trajectories.iterdir()) == [
        "notes.txt",
        "step-00000001.jsonl",
        "step-00000010.jsonl",
    ]


def test_the_log_takes_what_pixelis_says_while_it_is_open(tmp_path):
    run = RunFolder.create(tmp_path, {})
    with run.logging() as log:
        log.info("inside")
        logging.getLogger("pixelis.agents.rollout.sampling").warning("slow path")
    logging.getLogger("pixelis").error("outside")
    text = (tmp_path / "log.txt").read_text()
    assert "INFO inside" in text and "WARNING slow path" in text and "outside" not in text


def test_free_run_paths(tmp_path):
    first = free_run_path("Pixelis/ZoomRead-v0", "pixelis-tiny", 3, tmp_path)
    assert first == tmp_path / "zoomread-pixelis-tiny-seed3"
    first.mkdir()
    assert (
        free_run_path("toy:Pixelis/ZoomRead-v1", "models/pixelis-tiny", 3, tmp_path).name == f"{first.name}-2"
    )
    assert free_run_path("toy:Echo-v0", "a/b", 0, tmp_path).name == "echo-b-seed0"


def test_atomic_writes_leave_the_old_text_when_they_fail(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\udc80")
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]
    write_atomically(path, "new")
    assert path.read_text() == "new"


def test_writing_names_the_path_and_the_reason(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write to 'x': No space left on device"), writing("x"):  # type: ignore[arg-type]
        raise OSError(28, "No space left on device")


def test_pictures_are_kept_once_beside_the_episodes(tmp_path):
    """The monitor and a replay find them by what they show."""
    run = RunFolder.create(tmp_path / "run", {})
    picture = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)
    run.write_trajectories(1, [{"pictures": [picture, None, picture.copy()]}, {"pictures": [picture]}])
    lines = (run.trajectories / "step-00000001.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    about = rows[0]["pictures"][0]["$image"]
    assert rows[0]["pictures"] == [{"$image": about}, None, {"$image": about}]
    assert [path.name for path in (run.trajectories / "images").iterdir()] == [f"{about['sha256']}.png"]
    np.testing.assert_array_equal(ImageFolder(run.trajectories / "images").load(about), picture)
