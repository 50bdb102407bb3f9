"""Which alarms fire on stored runs, and when: ``python benchmarks/quality/run_alarms.py RUN [RUN ...]``.

A line for each run: rows, success in its first and last five rows, and each alarm with the step at which it
went on. ``--kind healthy --json FILE`` also adds what the alarms read of each run to a file, so that it can
be judged again when the run is gone; without a run, the file is judged. ``--seconds`` tells how long that
took.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelis.agents.runs.alarm_watch import READ, Alarm, AlarmWatch
from pixelis.files import write_atomically

ABSENT = "-"
"""Stands for a metric that a row does not have, which is something else than one that is null."""
DIGITS = 6


def judged(rows: Sequence[Mapping[str, Any]]) -> list[Alarm]:
    """Return the alarms of a run, each where it went on."""
    watch = AlarmWatch()
    return [alarm for row in rows for alarm in watch.note(row)]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what alarms read of a run, a list for each metric that one of its rows has."""
    names = [name for name in READ if any(name in row for row in rows)]
    return {name: [_short(row.get(name, ABSENT)) for row in rows] for name in names}


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows that `columns_of` was given, as far as alarms read them."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [{name: value for name, value in row.items() if value != ABSENT} for row in rows]


def line(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what is printed of a run."""
    told = ", ".join(f"{alarm.name} ({alarm.step})" for alarm in judged(rows)) or "no alarm"
    return f"{name}: {len(rows)} rows, success {ends(rows)}: {told}"


def table(stored: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each run that is stored, those that collapsed first."""
    lines = ["| run | rows | success, first and last five | alarms (step) |", "|---|---|---|---|"]
    for name, run in sorted(stored.items(), key=lambda pair: (pair[1]["kind"], pair[0])):
        rows = rows_of(run["columns"])
        told = ", ".join(f"{alarm} ({step})" for alarm, step in run["alarms"]) or "none"
        lines.append(f"| {name}, {run['kind']} | {len(rows)} | {ends(rows)} | {told} |")
    return "\n".join(lines)


def ends(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean success of the first five rows that tell one, and of the last five."""
    known = [row["success/rate"] for row in rows if row.get("success/rate") is not None]
    first, last = known[:5], known[-5:]
    return f"{sum(first) / len(first):.2f} to {sum(last) / len(last):.2f}" if known else "–"


def main() -> None:
    """Judge the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--kind", choices=("healthy", "collapsed"), help="what the runs are known to be")
    parser.add_argument("--json", type=Path, help="file that keeps what alarms read of the runs")
    parser.add_argument("--seconds", action="store_true")
    given = parser.parse_args()
    if given.runs and given.json and not given.kind:
        parser.error("--json needs --kind: whether the runs were healthy or collapsed")
    stored: dict[str, Any] = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    found = {run.name: _read(run) for run in given.runs}
    shown = found or {name: rows_of(run["columns"]) for name, run in stored.items()}
    for name, rows in shown.items():
        print(line(name, rows))
        if given.seconds:
            start = time.perf_counter()
            judged(rows)
            took = time.perf_counter() - start
            print(f"  {1e6 * took / max(len(rows), 1):.0f} microseconds a row")
    if given.json and found:
        for name, rows in found.items():
            columns = columns_of(rows)
            told = [[alarm.name, alarm.step] for alarm in judged(rows_of(columns))]
            stored[name] = {"kind": given.kind, "alarms": told, "columns": columns}
        lines = (f" {json.dumps(name)}: {json.dumps(run)}" for name, run in sorted(stored.items()))
        write_atomically(given.json, "{\n" + ",\n".join(lines) + "\n}\n")


def _read(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines() if line]


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
