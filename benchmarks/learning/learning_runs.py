"""A folder of training runs that a benchmark measures, imported by others: SFT once, GRPO once a seed.

Runs are made by the commands that a person types. What lies in the folder already is not done again: a run
that was killed goes on from its newest checkpoint, and rows of played tasks are kept on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import newest_adapter
from pixelis.agents.runs.evaluation_file import read_evaluations
from pixelis.files import write_atomically

STEPS = 5
"""Over which success in training is averaged."""

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
Row = Mapping[str, Any]
Missing = Callable[[Sequence[Row]], Iterable[Sequence[Row]]]


@dataclass(frozen=True)
class LearningRuns:
    """The runs of one benchmark, the rows of what was played, and ``seconds.json``: what each part took.

    Attributes:
        path: the folder; the commands run in it, so paths in their configurations are below it.
    """

    path: Path

    def train(
        self,
        name: str,
        sft: Path,
        grpo: Path,
        seeds: Sequence[int],
        more: Sequence[str] = (),
        every: Sequence[str] = (),
    ) -> dict[str, Path | str]:
        """Do what training is not done yet.

        Args:
            name: the runs are ``runs/NAME-sft`` and ``runs/NAME-seedN``.
            sft: configuration of the warm start.
            grpo: configuration of GRPO; all seeds start from ``runs/NAME-sft/adapter``.
            seeds: of GRPO.
            more: what GRPO's command is told besides.
            every: what both commands are told.

        Returns:
            ``base``, ``sft`` and ``grpo seed N`` → model or adapter.
        """
        start = f"runs/{name}-sft"
        if not (self.path / start / "adapter").is_dir():
            self._go_on("sft", "train_sft.py", start, "--config", str(sft), *every)
        from_sft = ["--model", f"{start}/adapter", "--warm-start", "null"]
        base = yaml.safe_load(sft.read_text(encoding="utf-8"))["model"]
        models: dict[str, Path | str] = {"base": base, "sft": self.path / start / "adapter"}
        for seed in seeds:
            run, key = _run(name, seed), _key(seed)
            if not is_whole(self.path / run):
                words = ["--config", str(grpo), "--seed", str(seed), *from_sft, *every, *more]
                self._go_on(key, "train_agent.py", run, *words)
            models[key] = newest_adapter(self.path / run)[0]
        return models

    def trained(self, name: str, seeds: Sequence[int]) -> dict[str, Path]:
        """Return ``grpo seed N`` → the folder of its run."""
        return {_key(seed): self.path / _run(name, seed) for seed in seeds}

    def _go_on(self, name: str, script: str, run: str, *new: str) -> None:
        """Start a run, or resume it if it has a checkpoint."""
        begun = list_checkpoints(RunFolder(self.path / run).checkpoints)
        self.command(name, script, *(["--resume", run] if begun else [*new, "--output", run]))

    def command(self, name: str, script: str, *words: str) -> None:
        """Run one of the project's commands in the folder, timed.

        Raises:
            CalledProcessError: it failed.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        places = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        print("$", " ".join([f"scripts/{script}", *words]), flush=True)
        full = [sys.executable, str(ROOT / "scripts" / script), *words]
        with self.timed(name):
            subprocess.run(full, cwd=self.path, check=True, env={**os.environ, "PYTHONPATH": places})

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the wall and CPU seconds of the block, those of child processes included, also if it fails."""
        wall, cpu = time.perf_counter(), _cpu_seconds()
        try:
            yield
        finally:
            passed = {"wall": time.perf_counter() - wall, "cpu": _cpu_seconds() - cpu}
            seconds = self.seconds()
            before = seconds.get(name, {"wall": 0.0, "cpu": 0.0})
            seconds[name] = {key: round(before[key] + value, 1) for key, value in passed.items()}
            write_atomically(self.path / "seconds.json", json.dumps(seconds, indent=1) + "\n")

    def seconds(self) -> dict[str, dict[str, float]]:
        """Return part → ``wall`` and ``cpu``: what it took, in seconds, over all calls."""
        path = self.path / "seconds.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def rows(self, kind: str, name: str, missing: Missing) -> list[Row]:
        """Return the rows of ``KIND-NAME.json``, first what it lacks.

        Args:
            kind: what the rows are.
            name: whose, of which mode.
            missing: from the rows on disk to those that are not there yet, part by part; the file is written
                after each.
        """
        path = self.path / f"{kind}-{name.replace(' ', '-')}.json"
        rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        for part in missing(tuple(rows)):
            rows += part
            write_atomically(path, json.dumps(rows, indent=1, ensure_ascii=False))
        return rows


def _run(name: str, seed: int) -> str:
    return f"runs/{name}-seed{seed}"


def _key(seed: int) -> str:
    return f"grpo seed {seed}"


def is_whole(run: Path) -> bool:
    """Tell whether a GRPO run came to its end: its last evaluation, or its last step if it has none."""
    folder = RunFolder(run)
    if "after" in read_evaluations(folder.evaluation):
        return True
    if not list_checkpoints(folder.checkpoints):
        return False
    _, settings = RunFolder.open(run)
    return not settings["eval_episodes"] and newest_adapter(run)[1] >= settings["steps"]


def _cpu_seconds() -> float:
    return sum(os.times()[:4])  # user and system, of this process and of children that have ended


def arguments(description: str | None, kept: str) -> argparse.ArgumentParser:
    """Return a parser with ``--runs``, ``--seeds`` and ``--json``; ``kept`` is what lies beside the runs."""
    keep_lines = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=keep_lines)
    parser.add_argument("--runs", type=Path, required=True, help=f"folder of runs and {kept}")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser


def own_words(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return what is a benchmark's own of its command's words, and what follows ``--``, for its runs."""
    cut = words.index("--") if "--" in words else len(words)
    return words[:cut], words[cut + 1 :]


def steps_to(success: Sequence[float | None], reached: float) -> int | None:
    """Return after how many steps success in training had a mean of ``reached`` over `STEPS` of them."""
    for end in range(STEPS, len(success) + 1):
        if statistics.fmean(value or 0.0 for value in success[end - STEPS : end]) >= reached:
            return end
    return None


def write_result(path: Path | None, result: Mapping[str, Any]) -> None:
    """Write a benchmark's numbers as JSON, if a file was named."""
    if path is not None:
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
