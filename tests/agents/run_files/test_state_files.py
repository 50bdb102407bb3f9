"""JSON, tensors and generator states that go to disk and back."""

from __future__ import annotations

import json
import pickle
import random

import numpy as np
import pytest
import torch

from pixelis.agents.run_files.state_files import (
    random_state,
    read_json,
    read_tensors,
    restore_random_state,
    write_json,
    write_tensors,
)
from pixelis.errors import CheckpointError
from pixelis.files import one_line


def test_json_goes_there_and_back_exactly(tmp_path):
    values = {"a": 0.1 + 0.2, "b": [1, None, "é"]}
    write_json(tmp_path / "a.json", values)
    assert read_json(tmp_path / "a.json") == values


def test_json_refuses_what_json_does_not_have(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"a": float("nan")})


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00"])
def test_damaged_json(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"a\.json' is corrupt"):
        read_json(tmp_path / "a.json")


def test_missing_files(tmp_path):
    with pytest.raises(CheckpointError, match="No such file"):
        read_json(tmp_path / "a.json")
    with pytest.raises(CheckpointError, match="No such file"):
        read_tensors(tmp_path / "a.pt")


def test_tensors_go_there_and_back_exactly(tmp_path):
    state = {"x": torch.randn(3), "nested": {"y": [torch.arange(2), 1.5, "s"]}}
    write_tensors(tmp_path / "a.pt", state)
    back = read_tensors(tmp_path / "a.pt")
    assert torch.equal(back["x"], state["x"]) and torch.equal(back["nested"]["y"][0], torch.arange(2))
    assert back["nested"]["y"][1:] == [1.5, "s"]


def test_damaged_tensors(tmp_path):
    write_tensors(tmp_path / "a.pt", {"x": torch.zeros(1000)})
    whole = (tmp_path / "a.pt").read_bytes()
    for damaged in (b"", b"nonsense", whole[: len(whole) // 2]):
        (tmp_path / "a.pt").write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"a\.pt' is corrupt"):
            read_tensors(tmp_path / "a.pt")


class Attack:
    """Would write a file when unpickled."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self):
        return (open, (self.target, "w"))


@pytest.mark.parametrize(
    "save",
    [
        lambda value, path: torch.save(value, path),
        lambda value, path: path.write_bytes(pickle.dumps(value, protocol=2)),
    ],
)
def test_nothing_is_unpickled(tmp_path, save):
    target = tmp_path / "attacked"
    save({"x": Attack(str(target))}, tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match="is corrupt"):
        read_tensors(tmp_path / "a.pt")
    assert not target.exists()


def test_the_generators_go_on_where_they_were(tmp_path):
    def draw():
        return [torch.rand(3).tolist(), np.random.rand(3).tolist(), np.random.randn(), random.random()]

    torch.manual_seed(1), np.random.seed(2), random.seed(3)
    np.random.randn()  # leaves a second Gaussian waiting
    write_tensors(tmp_path / "random.pt", random_state())
    expected = draw()
    draw()
    restore_random_state(read_tensors(tmp_path / "random.pt"))
    assert draw() == expected


def test_one_line():
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(ValueError()) == "ValueError"
    json.dumps(one_line(OSError(28, "No space left on device")))
