"""Kill a training run at random moments, resume it each time, and compare it with a run that was left alone.

Usage: python benchmarks/kill_resume.py [--kills 30] [--seed 0] [--folder DIR]

Both runs are ordinary processes of ``scripts/train_agent.py`` on ZoomRead with pixelis-tiny and small
settings, two optimiser steps a rollout. A kill is SIGKILL: one in five at any moment of the start, the others
one or two steps later, at any moment of a step. After each kill the rows that are in ``metrics.jsonl`` must
be those of the untouched run, every value but those under ``time/``; at the end all rows, and the adapter bit
for bit.
Prints one line a kill and exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelis.agents.checkpoint import latest_checkpoint, list_checkpoints
from pixelis.agents.metrics import read_metrics

ROOT = Path(__file__).parents[1]
MOST_STEPS_A_KILL = 2
SETTINGS = """
    --groups 2 --group-size 3 --max-new-tokens 16 --env-kwargs.max_turns 2 --temperature 2
    --epochs 2 --micro-batch-size 4 --eval-episodes 0 --checkpoint-every 2 --seed 5 --device cpu
""".split()

Row = dict[str, Any]


@dataclass(frozen=True)
class Kill:
    """What was found after one kill.

    Attributes:
        seconds: after the process had started.
        rows: finished steps in ``metrics.jsonl``.
        added: how many of them this process wrote.
        checkpoint: name of the newest checkpoint, or a dash.
        saving: whether it was writing a checkpoint.
        exact: whether the rows are those of the untouched run.
    """

    seconds: float
    rows: int
    added: int
    checkpoint: str
    saving: bool
    exact: bool


def start(folder: Path, steps: int) -> subprocess.Popen[str]:
    """Start a run in ``folder``, or go on with it if it has a checkpoint."""
    begun = bool(list_checkpoints(folder / "checkpoints"))
    words = ("--resume", folder) if begun else (*SETTINGS, "--steps", steps, "--output", folder)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with (folder.parent / f"{folder.name}.txt").open("a") as log:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "train_agent.py"), *map(str, words)],
            env=environment,
            stdout=log,
            stderr=log,
            text=True,
        )


def comparable(folder: Path) -> list[Row]:
    """Return the rows of a run without what depends on the clock."""
    rows = read_metrics(folder / "metrics.jsonl")
    return [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


def finish(folder: Path, steps: int) -> None:
    """Run to the end.

    Raises:
        SystemExit: it failed.
    """
    process = start(folder, steps)
    if process.wait() != 0:
        sys.exit((folder.parent / f"{folder.name}.txt").read_text())


def wait(process: subprocess.Popen[str], over: Callable[[], bool]) -> None:
    """Wait until something holds or the process has ended."""
    while process.poll() is None and not over():
        time.sleep(0.01)


def kill_once(folder: Path, steps: int, whole: list[Row], chance: random.Random, startup: float) -> Kill:
    """Start or resume a run and kill it at a random moment."""
    metrics, begun = folder / "metrics.jsonl", time.monotonic()
    before = {path.name for path in (folder / "checkpoints").glob("*")}
    process = start(folder, steps)
    first = (
        _step(latest_checkpoint(folder / "checkpoints")) if list_checkpoints(folder / "checkpoints") else 0
    )
    if chance.random() < 0.2:
        moment = begun + chance.uniform(0, startup)
        wait(process, lambda: time.monotonic() >= moment)
    else:
        target = first + chance.randint(1, MOST_STEPS_A_KILL)
        wait(process, lambda: _newest(metrics, begun) >= target)
        pause = time.monotonic() + chance.uniform(0, chance.choice((0.02, 0.2, 1.0)))
        wait(process, lambda: time.monotonic() >= pause)
    process.send_signal(signal.SIGKILL)
    seconds = time.monotonic() - begun
    if process.wait() != -signal.SIGKILL:
        sys.exit(f"the run ended by itself:\n{(folder.parent / f'{folder.name}.txt').read_text()[-2000:]}")
    saved = list_checkpoints(folder / "checkpoints")
    rows = comparable(folder) if metrics.exists() else []
    return Kill(
        seconds=seconds,
        rows=len(rows),
        added=max(0, len(rows) - first) if _newest(metrics, begun) else 0,
        checkpoint=saved[-1].name if saved else "-",
        saving=any(p.name.startswith(".unfinished") and p.name not in before for p in _all(folder)),
        exact=rows == whole[: len(rows)],
    )


def _all(folder: Path) -> list[Path]:
    return list((folder / "checkpoints").glob(".*"))


def _step(checkpoint: Path) -> int:
    return int(json.loads((checkpoint / "progress.json").read_text())["step"])


def _newest(metrics: Path, begun: float) -> int:
    """Return the newest step in a file that was touched since ``begun``, else 0."""
    if not metrics.exists() or time.time() - metrics.stat().st_mtime > time.monotonic() - begun:
        return 0
    rows = read_metrics(metrics)
    return int(rows[-1]["step"]) if rows else 0


def adapter_bytes(folder: Path) -> bytes:
    """Return the weights of a run's newest adapter, as the file that holds them."""
    return (latest_checkpoint(folder / "checkpoints") / "adapter" / "adapter_model.safetensors").read_bytes()


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the runs go; a temporary one by default"
    )
    options = parser.parse_args()
    place = options.folder or Path(tempfile.mkdtemp(prefix="kill_resume-"))
    place.mkdir(parents=True, exist_ok=True)
    steps, chance = MOST_STEPS_A_KILL * options.kills + 10, random.Random(options.seed)

    begun = time.monotonic()
    finish(place / "whole", steps)
    whole, seconds = comparable(place / "whole"), time.monotonic() - begun
    stepping = sum(row["time/step"] for row in read_metrics(place / "whole" / "metrics.jsonl"))
    print(
        f"untouched run: {steps} steps in {seconds:.0f} s, {seconds - stepping:.0f} s of it to start and save"
    )

    print(
        f"{'kill':>4} {'after s':>8} {'rows':>5} {'added':>6} {'checkpoint':>14} {'saving':>7} {'exact':>6}"
    )
    kills: list[Kill] = []
    for number in range(1, options.kills + 1):
        kill = kill_once(place / "killed", steps, whole, chance, seconds - stepping)
        kills.append(kill)
        print(
            f"{number:4d} {kill.seconds:8.2f} {kill.rows:5d} {kill.added:6d} {kill.checkpoint:>14} "
            f"{'yes' if kill.saving else '':>7} {'yes' if kill.exact else 'NO':>6}",
            flush=True,
        )
    finish(place / "killed", steps)
    same_rows = comparable(place / "killed") == whole
    same_weights = adapter_bytes(place / "killed") == adapter_bytes(place / "whole")
    exact = sum(kill.exact for kill in kills)
    print(
        f"{exact} of {len(kills)} exact after the kill; all {steps} rows equal: {same_rows}; "
        f"adapter equal bit for bit: {same_weights}"
    )
    return 0 if exact == len(kills) and same_rows and same_weights else 1


if __name__ == "__main__":
    sys.exit(main())
