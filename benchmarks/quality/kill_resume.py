"""Kill a training run at random moments, resume it each time, and compare it with a run that was left alone.

Usage: python benchmarks/quality/kill_resume.py [--kills 30] [--task toy|zoom_read] [--seed 0] [--folder DIR]

Each process runs the whole of ``scripts/train_agent.py``; it is forked from one that has imported the
libraries, which saves their seconds and writes nothing. Small settings, two optimiser steps a rollout. A kill
is SIGKILL: one in five at any moment of the start, the others one to three steps later, at any moment of a
step. After each kill the rows in ``metrics.jsonl`` must be those of the untouched run, every value but those
under ``time/``; at the end all rows, and the adapter bit for bit. Prints one line a kill; exits with 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", COLUMNS="120")

from pixelis.agents.run_files.checkpoint import latest_checkpoint, list_checkpoints, step_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.cli.train import main as train_agent

TOYS = Path(__file__).parents[2] / "tests" / "agents" / "rl"
MOST_STEPS = 3
LONGEST_PAUSE = 0.1
"""A process is killed at most this many steps, and seconds, after where it began."""
ALWAYS = "--epochs 2 --eval-episodes 0 --checkpoint-every 2 --seed 5 --device cpu"
TASKS = {
    "toy": "--env toy_env:Toy/Echo-v0 --env-kwargs.turns 3 --groups 4 --group-size 4 --max-new-tokens 2"
    " --lr 0.01 --micro-batch-size 5",
    "zoom_read": "--difficulty 0 --groups 2 --group-size 4 --max-new-tokens 24 --micro-batch-size 3",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """Both runs.

    Attributes:
        words: the command line, without the folder.
        place: where the runs' folders go.
        steps: how many.
    """

    words: tuple[str, ...]
    place: Path
    steps: int


def start(plan: Plan, name: str) -> int:
    """Start the run of a name, or go on with it if it has a checkpoint; return the process id."""
    folder = plan.place / name
    begun = bool(list_checkpoints(folder / "checkpoints"))
    words = ["--resume", str(folder)] if begun else [*plan.words, "--output", str(folder)]
    child = os.fork()
    if child:
        return child
    log = os.open(plan.place / f"{name}.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os._exit(train_agent(words))


def finish(plan: Plan, name: str) -> None:
    """Run to the end.

    Raises:
        SystemExit: the run failed.
    """
    _, status = os.waitpid(start(plan, name), 0)
    if status != 0:
        sys.exit((plan.place / f"{name}.txt").read_text()[-2000:])


@dataclass(frozen=True)
class Kill:
    """What was found after one kill.

    Attributes:
        seconds: after the process had started.
        began: the step from which it went on.
        rows: finished steps in ``metrics.jsonl``.
        checkpoint: step of the newest checkpoint, None if there is none.
        saving: whether it was writing a checkpoint.
        exact: whether the rows are those of the untouched run.
    """

    seconds: float
    began: int
    rows: int
    checkpoint: int | None
    saving: bool
    exact: bool

    def line(self, number: int) -> str:
        """Return the row of the table."""
        saved = "-" if self.checkpoint is None else str(self.checkpoint)
        words = ("yes" if self.saving else "", "yes" if self.exact else "NO")
        return (
            f"{number:4d} {self.seconds:8.2f} {self.began:6d} {self.rows:5d} {saved:>11}"
            f" {words[0]:>7} {words[1]:>6}"
        )


HEADER = f"{'kill':>4} {'after s':>8} {'began':>6} {'rows':>5} {'checkpoint':>11} {'saving':>7} {'exact':>6}"


def kill_once(plan: Plan, whole: list[Row], chance: random.Random, startup: float) -> Kill:
    """Start or resume the run and kill it at a random moment.

    Raises:
        SystemExit: it ended by itself.
    """
    folder = plan.place / "killed"
    saved = list_checkpoints(folder / "checkpoints")
    began, left = (step_of(saved[-1]) if saved else 0), _unfinished(folder)
    clock, start_time = time.monotonic(), time.time()
    child = start(plan, "killed")
    if chance.random() < 0.2:
        moment = clock + chance.uniform(0, startup)
        _wait(child, lambda: time.monotonic() >= moment)
    else:
        target = began + chance.randint(1, MOST_STEPS)
        _wait(child, lambda: _newest(folder / "metrics.jsonl", start_time) >= target)
        moment = time.monotonic() + chance.uniform(0, LONGEST_PAUSE)
        _wait(child, lambda: time.monotonic() >= moment)
    os.kill(child, signal.SIGKILL)
    seconds = time.monotonic() - clock
    os.waitpid(child, 0)
    saved = list_checkpoints(folder / "checkpoints")
    rows = comparable_metrics(folder / "metrics.jsonl")
    return Kill(
        seconds,
        began,
        len(rows),
        step_of(saved[-1]) if saved else None,
        bool(_unfinished(folder) - left),
        rows == whole[: len(rows)],
    )


def _wait(child: int, over: Callable[[], bool]) -> None:
    while not over():
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            sys.exit("a run ended before it was killed; see its .txt file")
        time.sleep(0.005)


def _unfinished(folder: Path) -> set[tuple[str, int]]:
    """Return what a kill has left of checkpoints that were being written."""
    found = (folder / "checkpoints").glob(".unfinished*")
    return {(path.name, path.stat().st_ino) for path in found}


def _newest(metrics: Path, start_time: float) -> int:
    """Return the newest step in a file if it was written to since the start, else 0."""
    if not metrics.exists() or metrics.stat().st_mtime < start_time:
        return 0
    rows = read_metrics(metrics)
    return int(rows[-1]["step"]) if rows else 0


def adapter_bytes(folder: Path) -> bytes:
    """Return the file with the weights of a run's newest adapter."""
    return (latest_checkpoint(folder / "checkpoints") / "adapter" / "adapter_model.safetensors").read_bytes()


def make_plan(task: str, kills: int, place: Path) -> Plan:
    """Return the plan of a task; the toy's model is made anew."""
    steps = 4 * kills + 20  # a toy step takes some 30 ms, so that few kills get further than this
    words = [*TASKS[task].split(), *ALWAYS.split(), "--steps", str(steps)]
    if task == "toy":
        sys.path.insert(0, str(TOYS))
        model = importlib.import_module("letter_model").build_letter_model(place / "model")
        words += ["--model", str(model)]
    return Plan(tuple(words), place, steps)


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--task", choices=list(TASKS), default="toy")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--folder", type=Path, default=None, help="a new one for the runs; none: temporary")
    options = parser.parse_args()
    place = options.folder or Path(tempfile.mkdtemp(prefix="kill_resume-"))
    place.mkdir(parents=True, exist_ok=True)
    plan, chance = make_plan(options.task, options.kills, place), random.Random(options.seed)
    for name in (
        "pixelis.agents.rl.run",
        "torch.utils.tensorboard",
        "pixelis.cli.progress",
        "rich.console",
    ):
        importlib.import_module(name)

    clock = time.monotonic()
    finish(plan, "whole")
    seconds, whole = time.monotonic() - clock, comparable_metrics(place / "whole" / "metrics.jsonl")
    busy = sum(row["time/step"] for row in read_metrics(place / "whole" / "metrics.jsonl"))
    trained = sum(row["policy/grad_norm"] is not None for row in whole)
    print(f"untouched: {plan.steps} steps, {trained} of them with an update, {seconds:.0f} s; in {place}")
    print(HEADER, flush=True)
    kills: list[Kill] = []
    for number in range(1, options.kills + 1):
        kills.append(kill_once(plan, whole, chance, min(seconds - busy, seconds / 2)))
        print(kills[-1].line(number), flush=True)
    finish(plan, "killed")
    same_rows = comparable_metrics(place / "killed" / "metrics.jsonl") == whole
    same_weights = adapter_bytes(place / "killed") == adapter_bytes(place / "whole")
    exact = sum(kill.exact for kill in kills)
    print(
        f"{exact} of {len(kills)} exact; {plan.steps} rows equal: {same_rows}; adapter equal: {same_weights}"
    )
    return 0 if exact == len(kills) and same_rows and same_weights else 1


if __name__ == "__main__":
    sys.exit(main())
