"""Which alarms fire on stored runs, and when: ``python benchmarks/quality/run_alarms.py RUN [RUN ...]``.

A line for each run: rows, success in its first and last five rows, and each alarm with the step at which it
went on. ``--seconds`` also says how long judging took.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from pixelis.agents.runs.alarm_rules import AlarmWatch


def main() -> None:
    """Judge the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seconds", action="store_true")
    given = parser.parse_args()
    for run in given.runs:
        rows: list[dict[str, Any]] = [
            json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines() if line
        ]
        watch, start = AlarmWatch(), time.perf_counter()
        for row in rows:
            watch.note(row)
        took = time.perf_counter() - start
        known = [row["success/rate"] for row in rows if row.get("success/rate") is not None]
        first, last = known[:5], known[-5:]
        told = ", ".join(f"{alarm.name} ({alarm.step})" for alarm in watch.found) or "no alarm"
        ends = f"{sum(first) / len(first):.2f} to {sum(last) / len(last):.2f}" if known else "–"
        print(f"{run.name}: {len(rows)} rows, success {ends}: {told}")
        if given.seconds:
            print(f"  {1e6 * took / max(len(rows), 1):.0f} microseconds a row")


if __name__ == "__main__":
    main()
