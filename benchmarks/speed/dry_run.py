"""How near does ``--dry-run`` come? ``python benchmarks/speed/dry_run.py lessons/ZoomRead``.

For each configuration a probe as ``pixelis train --dry-run`` makes it, then whole steps by the same settings
in the same process. Printed: the seconds foretold, if every group is trained on and with as many as in the
probe, and the median of the steps that were taken with its range.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "learning"))

from result_tables import markdown_table  # noqa: E402  # pyright: ignore[reportMissingImports]

from pixelis.agents.rl.run import TrainingRun  # noqa: E402
from pixelis.agents.rl.step_cost import SECONDS, StepCost, step_cost  # noqa: E402
from pixelis.agents.settings.files import read_settings_file  # noqa: E402
from pixelis.agents.settings.rl import TrainConfig  # noqa: E402

HEAD = ("configuration", "probed groups", "foretold, at most", "with signal as there", "taken", "ratio")


def taken(config: TrainConfig, steps: int) -> list[float]:
    """Return the seconds of so many whole steps, the first one left out."""
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        values = {"output": f"{folder}/run", "steps": steps + 1, "eval_episodes": 0, "minutes": None}
        with TrainingRun.start(config.with_values(**values)) as run:
            run.train(lambda row: seconds.append(float(row["time/step"] or 0)))
    return seconds[1:]


def row_of(name: str, cost: StepCost, seconds: list[float]) -> list[str]:
    """Return a row of the table."""
    middle = statistics.median(seconds)
    return [
        name,
        ", ".join(str(probe.groups) for probe in cost.probes),
        f"{cost.most_seconds:.1f}",
        f"{cost.likely_seconds:.1f}",
        f"{middle:.1f} ({min(seconds):.1f}–{max(seconds):.1f})",
        f"{cost.likely_seconds / middle:.2f}",
    ]


def main() -> None:
    """Probe, train, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("configs", nargs="+", help="names or files, as --config takes them")
    parser.add_argument("--steps", type=int, default=5, help="whole steps that are taken")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the probe")
    given = parser.parse_args()
    rows = []
    for name in given.configs:
        values: dict[str, Any] = {**read_settings_file(name, "config"), "warm_start": None}
        config = TrainConfig.from_mapping(values)
        rows.append(row_of(name, step_cost(config, given.seconds), taken(config, given.steps)))
        print(markdown_table(HEAD, rows[-1:]), flush=True)
    print(markdown_table(HEAD, rows))


if __name__ == "__main__":
    main()
