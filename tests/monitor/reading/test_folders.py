"""Nothing outside the folder that was named can be opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixelis.errors import ConfigError
from pixelis.monitor.reading.folders import Outside, Root


@pytest.fixture
def root(tmp_path: Path) -> Root:
    inside = tmp_path / "runs" / "a"
    (inside / "trajectories").mkdir(parents=True)
    (inside / "metrics.jsonl").write_text("{}\n")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "metrics.jsonl").write_text("secret")
    return Root(tmp_path / "runs")


def test_a_file_inside_is_read(root: Root):
    with root.open("a", "metrics.jsonl") as file:
        assert file.read() == b"{}\n"


@pytest.mark.parametrize(
    "parts",
    [
        ("..", "secret"),
        ("a", "..", "..", "secret"),
        ("a", "../../secret"),
        ("a/../../secret",),
        ("", "secret"),
        (".", "a", "metrics.jsonl"),
        ("a", "metrics.jsonl\0"),
        ("a", "..\\..\\secret"),
    ],
)
def test_no_name_leads_out(root: Root, parts: tuple[str, ...]):
    with pytest.raises(Outside):
        root.open(*parts)


def test_links_are_not_followed(root: Root):
    (root.path / "a" / "config.yaml").symlink_to("../../secret")
    (root.path / "a" / "images").symlink_to("../../outside")
    (root.path / "b").symlink_to("../outside")
    for parts in (("a", "config.yaml"), ("a", "images", "metrics.jsonl"), ("b", "metrics.jsonl")):
        with pytest.raises(OSError):
            root.open(*parts)
        assert root.stat(*parts) is None
    assert root.names("b") == root.names("a", "images") == []
    assert "images" not in root.names("a")
    assert root.runs() == [("a",)]


def test_a_pipe_holds_nobody_up(root: Root):
    os.mkfifo(root.path / "a" / "log.txt")
    with pytest.raises(Outside):
        root.open("a", "log.txt")


def test_the_folder_named_may_be_a_link_and_may_be_a_run_itself(root: Root, tmp_path: Path):
    (tmp_path / "link").symlink_to(root.path / "a")
    assert Root(tmp_path / "link").runs() == [()]
    with Root(tmp_path / "link").open("metrics.jsonl") as file:
        assert file.read() == b"{}\n"


def test_a_folder_that_is_missing_is_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder at"):
        Root(tmp_path / "nothing")
