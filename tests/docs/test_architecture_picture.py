"""The picture of the architecture is what the imports say now."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _loaded(path: str):
    spec = importlib.util.spec_from_file_location(f"loaded_{Path(path).stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def draw():
    return _loaded("scripts/draw_architecture.py")


def test_the_committed_picture_is_up_to_date(draw, capsys):
    assert draw.main(["--check"]) == 0, "run: python scripts/draw_architecture.py"
    assert capsys.readouterr().out == "architecture.svg: up to date\n"


def test_an_old_picture_is_told_and_drawn_anew(draw, tmp_path):
    old = tmp_path / "old.svg"
    old.write_text("<svg/>", encoding="utf-8")
    assert draw.main(["--check", "--output", str(old)]) == 1
    assert draw.main(["--output", str(old)]) == 0
    assert old.read_text(encoding="utf-8") == draw.PICTURE.read_text(encoding="utf-8")


def test_it_sees_the_imports_that_the_test_of_circles_sees(draw):
    assert draw.rooms() == _loaded("tests/test_imports.py").rooms_imported()


def test_every_room_is_named(draw):
    text = draw.PICTURE.read_text(encoding="utf-8")
    words = set(re.findall(r"[\w*]+", " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", text))))
    assert {name.rpartition(".")[2] for name in draw.rooms()} <= words


def test_edges_that_follow_are_left_out(draw):
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set(), "e": {"d"}}
    assert draw.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set(), "e": {"d"}}
    assert draw.floors(graph) == [["d"], ["c", "e"], ["b"], ["a"]]


def test_an_arrow_that_passes_a_floor_goes_by_a_side(draw):
    graph = {"a": {"b", "e"}, "b": {"c"}, "c": {"d", "f"}, "d": set(), "e": set(), "f": set()}
    assert draw.floors(graph) == [["d", "e", "f"], ["c"], ["b"], ["a"]]
    assert draw.aside(graph) == ([], [("a", "e")])
    assert draw.aside({"a": {"b", "d"}, "b": {"c"}, "c": {"e"}, "d": set(), "e": set()})[0] == [("a", "d")]
