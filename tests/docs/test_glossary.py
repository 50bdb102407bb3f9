"""Every name of code in the glossary is there, and every term stands once."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| term")
]


def found(name: str) -> object:
    """Return what a dotted name below ``pixelis.`` names: a module, or what is in one."""
    parts = ["pixelis", *name.split(".")]
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            place: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and module.startswith(error.name):
                continue
            raise
        for part in parts[length:]:
            place = getattr(place, part)
        return place
    raise AssertionError(name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].replace(" ", "-"))
def test_what_a_row_names_is_there(row):
    names = re.findall(r"`([\w.]+)`", row[2])
    assert len(row) == 4 and names
    assert all(found(name) is not None for name in names)


def test_a_term_has_one_row():
    terms = [term for row in ROWS for term in row[0].split(", ")]
    assert len(ROWS) > 50 and len(terms) == len(set(terms))


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError):
        found("agents.losses.advantages.no_such_name")
