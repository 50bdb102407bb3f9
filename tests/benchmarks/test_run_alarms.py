"""Alarms of real runs that are stored: what the rules read of them is judged again, and is what was told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "results" / "alarms.json"
RUNS = json.loads(STORED.read_text(encoding="utf-8"))


@pytest.fixture
def run_alarms(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "quality"))
    import run_alarms

    yield run_alarms
    del sys.modules["run_alarms"]


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_has_the_alarms_that_are_stored_with_it(run_alarms, name):
    run = RUNS[name]
    told = run_alarms.judged(run_alarms.rows_of(run["columns"]))
    assert [[alarm.name, alarm.step] for alarm in told] == run["alarms"]


def test_every_run_that_collapsed_is_told_and_few_that_learnt():
    kinds = {
        kind: [run["alarms"] for run in RUNS.values() if run["kind"] == kind]
        for kind in ("healthy", "collapsed")
    }
    assert len(kinds["collapsed"]) >= 5 and all(kinds["collapsed"])
    assert len(kinds["healthy"]) >= 10 and sum(map(bool, kinds["healthy"])) <= 0.2 * len(kinds["healthy"])


def test_the_page_shows_what_is_stored(run_alarms):
    rows = run_alarms.table(RUNS).splitlines()
    page = (ROOT / "docs" / "guide" / "monitor.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(RUNS) + 2 and not [row for row in rows if row not in page]


def test_a_row_that_does_not_tell_a_metric_is_kept_apart_from_one_that_says_null(run_alarms):
    rows = [
        {"step": 1, "policy/grad_norm": None, "other": 1.0},
        {"step": 2},
        {"step": 3, "success/rate": 1 / 3},
    ]
    columns = run_alarms.columns_of(rows)
    assert run_alarms.rows_of(columns) == [
        {"step": 1, "policy/grad_norm": None},
        {"step": 2},
        {"step": 3, "success/rate": 0.333333},
    ]


def test_the_command_adds_runs_to_its_file_and_judges_them_without_their_folders(
    run_alarms, tmp_path, capsys, monkeypatch
):
    file = tmp_path / "kept.json"
    for name, kl in (("quiet", 0.1), ("loud", 5.0)):
        (tmp_path / name).mkdir()
        rows = [{"step": step, "policy/kl_reference": kl, "success/rate": 0.5} for step in range(1, 7)]
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        kind = "collapsed" if name == "loud" else "healthy"
        monkeypatch.setattr(
            sys, "argv", ["run_alarms.py", str(tmp_path / name), "--kind", kind, "--json", str(file)]
        )
        run_alarms.main()
    first = capsys.readouterr().out
    assert first.splitlines() == [
        "quiet: 6 rows, success 0.50 to 0.50: no alarm",
        "loud: 6 rows, success 0.50 to 0.50: KL is large (5)",
    ]
    monkeypatch.setattr(sys, "argv", ["run_alarms.py", "--json", str(file)])
    run_alarms.main()
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(first.splitlines())
