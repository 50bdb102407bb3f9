"""Weights & Biases and trackio in their offline modes: what they keep is read back from their files.

Each run is a process of its own: the trackers start processes and threads that outlive a training.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pixelis.agents.run_files.about import read_about
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.runs.sinks.trackers import imported
from pixelis.errors import MissingDependencyError

ROOT = Path(__file__).parents[4]
TRAIN = """
import sys
from pixelis.cli.train import main
sys.exit(main(sys.argv[1:]))
"""
ENV = "toy_env:Toy/Echo-v0"
pytestmark = pytest.mark.slow
Train = Callable[..., tuple[Path, str]]


@pytest.fixture
def train(letter_model: Path, tmp_path: Path) -> Train:
    """Return a function that trains in a process and gives the run's folder and what was printed."""

    def train_run(*words: object, resume: bool = False, **environment: str) -> tuple[Path, str]:
        folder = tmp_path / "run"
        new = ["--env", ENV, "--model", letter_model, "--groups", 4, "--group-size", 4, "--max-new-tokens", 2]
        new += ["--lr", 0.01, "--eval-episodes", 0, "--checkpoint-every", 2, "--output", folder]
        first = ["--resume", folder] if resume else new
        paths = [ROOT, ROOT / "tests/agents/rl", *sys.path]
        known = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
        done = subprocess.run(
            [sys.executable, "-c", TRAIN, *map(str, [*first, *words])],
            env={
                **known,
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                "OMP_NUM_THREADS": "1",
                "HOME": str(tmp_path),  # no key of a person's
                "TRACKIO_DIR": str(tmp_path / "trackio"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        return folder, done.stdout + done.stderr

    return train_run


def wandb_records(folder: Path) -> Iterator[Any]:
    """Yield the records of the only offline run of a folder, from W&B's own file (LevelDB's log format)."""
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    data, place, whole = path.read_bytes(), 7, b""
    while place < len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # full, or the last part
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


def wandb_rows(folder: Path) -> list[dict[str, Any]]:
    found = []
    for record in wandb_records(folder):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            found.append(
                {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}
            )
    return found


def trackio_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each run in trackio's database."""
    found: dict[str, list[dict[str, Any]]] = {}
    with sqlite3.connect(folder / "pixelis.db") as database:
        for name, step, metrics in database.execute(
            "SELECT run_name, step, metrics FROM metrics ORDER BY step, id"
        ):
            found.setdefault(name, []).append({**json.loads(metrics), "step": step})
    database.close()
    return found


def known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_both_keep_what_the_file_has_and_the_numbers_are_those_of_a_run_without(train: Train, tmp_path: Path):
    folder, said = train(
        "--steps", 4, "--log-to", "wandb,trackio", "--samples-every", 2, WANDB_MODE="offline"
    )
    rows = read_metrics(folder / "metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    told = wandb_rows(folder)
    assert [row["step"] for row in told] == [1, 2, 3, 4]
    for found, row in zip(told, known(rows), strict=True):
        assert {name: found[name] for name in row} == pytest.approx(row)
    for name in ("histograms/rewards/bins", "samples/episode/path"):
        assert [row["step"] for row in told if name in row] == [1, 2, 4]
    (begun,) = (each.run for each in wandb_records(folder) if each.WhichOneof("record_type") == "run")
    assert (begun.run_id, begun.project, begun.display_name) == (read_about(folder)["id"], "pixelis", "run")
    settings = {each.key: json.loads(each.value_json) for each in begun.config.update}
    assert (
        settings["lr"] == 0.01 and settings["trained_parameters"] == read_about(folder)["trained_parameters"]
    )
    ((name, local),) = trackio_rows(tmp_path / "trackio").items()
    assert name == f"run-{read_about(folder)['id']}"
    for found, row in zip(local, known(rows), strict=True):
        assert {each: found[each] for each in row} == pytest.approx(row)
    assert "cannot keep up" not in said and "takes no more metrics" not in said

    numbers = comparable_metrics(folder / "metrics.jsonl")
    folder.rename(tmp_path / "with")
    plain, _ = train("--steps", 4)
    assert comparable_metrics(plain / "metrics.jsonl") == numbers


def test_a_run_that_goes_on_is_the_same_run_there(train: Train, tmp_path: Path):
    folder, _ = train("--steps", 2, "--log-to", "trackio")
    train("--steps", 4, resume=True)
    (rows,) = trackio_rows(tmp_path / "trackio").values()
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert [row["step"] for row in read_metrics(folder / "metrics.jsonl")] == [1, 2, 3, 4]


def test_without_a_key_it_is_told_once_and_the_run_goes_on(train: Train):
    folder, said = train("--steps", 3, "--log-to", "wandb", WANDB_MODE="online")
    assert said.count("Weights & Biases takes no more metrics") == 1, said
    assert "type wandb login, or set WANDB_MODE=offline" in said
    assert [row["step"] for row in read_metrics(folder / "metrics.jsonl")] == [1, 2, 3]


def test_a_database_that_cannot_be_made_ends_no_run(train: Train, tmp_path: Path):
    """trackio says so itself."""
    (tmp_path / "trackio").write_text("a file stands where the folder should be")
    folder, said = train("--steps", 3, "--log-to", "trackio")
    assert "could not be persisted" in said
    assert [row["step"] for row in read_metrics(folder / "metrics.jsonl")] == [1, 2, 3]


def test_a_package_that_is_missing_is_named_with_how_to_get_it(monkeypatch):
    for name, how in (("wandb", r"pip install 'pixelis\[wandb\]'"), ("trackio", r"--no-deps trackio==")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingDependencyError, match=f"log_to {name} needs {name} .*{how}"):
            imported(name)
