"""The learning curves of every environment: seeds are added, and the page shows the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
pytestmark = pytest.mark.slow  # matplotlib is imported


@pytest.fixture
def every_env(monkeypatch):
    for folder in ("benchmarks", "benchmarks/learning"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    import every_env

    yield every_env
    del sys.modules["every_env"]


def test_a_seed_is_added_to_those_there_are(every_env):
    found = json.loads((RESULTS / "every_env.json").read_text(encoding="utf-8"))["environments"]
    env = "SizeCompare"
    seed, run = next(iter(found[env]["seeds"].items()))
    before = set(found[env]["seeds"])
    every_env.add_seed(found, env, 1000, {**run, "steps": 7})
    every_env.add_seed(found, env, int(seed), {**run, "steps": 8})
    assert set(found[env]["seeds"]) == {*before, "1000"}
    assert (found[env]["seeds"]["1000"]["steps"], found[env]["seeds"][seed]["steps"]) == (7, 8)
    assert (found[env]["oracle"], found[env]["difficulty"]) == (1.0, 0)


def test_the_page_shows_what_was_measured(every_env):
    rows = every_env.table(json.loads((RESULTS / "every_env.json").read_text(encoding="utf-8"))).splitlines()
    page = (RESULTS / "index.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 10 and not [row for row in rows if row not in page]
