"""``scripts/verify_solutions.py``: judge a file of samples by a file of problems, with Pass@k."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.cli.progress import clock
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.envs.coding.samples.evaluation import SampleJudging, SampleTally
    from pixelis.envs.coding.samples.result_log import ResultLog
    from pixelis.envs.coding.samples.sample_file import SampleFile, Tasks

PROGRAM = "verify_solutions.py"
DESCRIPTION = """\
Judge code samples: each runs in the sandbox on its problem's hidden tests.
Two JSONL files come first: problems (HumanEval's, MBPP's or your own shape)
and samples ({"task_id": ..., "completion": ...}, one a line).
verify_solutions.py PROBLEMS SAMPLES
A run that was interrupted or killed goes on when the command is repeated."""
EXAMPLES = """\
examples:
  verify_solutions.py HumanEval.jsonl samples.jsonl
  verify_solutions.py problems.jsonl samples.jsonl --k 1,5 --workers 4"""
_LINES_EVERY = 5.0  # seconds between two lines of progress where there is no terminal


class VerifySettings(Settings):
    """The flags of ``verify_solutions.py``."""

    output: str | None = setting(None, "results file; SAMPLES_results.jsonl if not given")
    k: str = setting("1,10,100", "numbers of draws for Pass@k, by commas")
    extract: bool = setting(False, "samples are prose with code; take it out")
    scripts: bool = setting(True, "replay tests that are a script")
    seed: int = setting(0, "decides which inputs are asked twice", ge=0)
    wall_seconds: float = setting(10.0, "time for one sample", gt=0)
    cpu_seconds: float = setting(5.0, "processor time for one sample", gt=0)
    memory_mb: int = setting(512, "memory of one sample", ge=64)
    isolation: Literal["best_effort", "strict", "hardened"] = setting(
        "best_effort", "strict: refuse where a layer is missing"
    )
    workers: int = setting(1, "samples that run side by side", ge=1, le=64)

    @property
    def draws(self) -> list[int]:
        """The values of k, in rising order."""
        words = [word.strip() for word in self.k.split(",")]
        if not all(word.isdecimal() and int(word) for word in words):
            raise ConfigError(f"k must be whole numbers from 1 up, by commas, got {self.k!r:.60}")
        return sorted({int(word) for word in words})


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_verify, words)


def _verify(words: Sequence[str]) -> int:
    places = list(words[: next((at for at, word in enumerate(words) if word.startswith("-")), len(words))])
    settings = Arguments(PROGRAM, DESCRIPTION, VerifySettings, EXAMPLES).read(words[len(places) :])
    draws = settings.draws
    if len(places) != 2:
        raise ConfigError(f"give two files before the flags, PROBLEMS and SAMPLES, got {len(places)}")

    from pixelis.envs.coding.problems.problem_file import ProblemFile
    from pixelis.envs.coding.samples.evaluation import SampleJudging, SampleTally, identity, limits_of
    from pixelis.envs.coding.samples.result_log import ResultLog
    from pixelis.envs.coding.samples.sample_file import SampleFile, Tasks
    from pixelis.envs.coding.sandbox import SandboxSettings
    from pixelis.files import writing

    limits = limits_of(settings.wall_seconds, settings.cpu_seconds, settings.memory_mb)
    confined = SandboxSettings(isolation=settings.isolation, limits=limits)
    evaluation = SampleJudging(settings.seed, confined, settings.extract, settings.scripts, settings.workers)
    problems = ProblemFile.open(places[0])
    tasks = Tasks(problems)
    samples = SampleFile(places[1], tasks)
    output = Path(settings.output or f"{places[1].removesuffix('.jsonl')}_results.jsonl")
    console, tally = open_console(), SampleTally()
    with writing(output), ResultLog(output, identity(problems.path, samples.path, evaluation)) as log:
        for row in log.rows():
            tally.add(row)
        if log.count:
            console.print(f"going on after {log.count} results of an earlier session", soft_wrap=True)
        _judge_all(samples, tasks, evaluation, log, tally, console)
        log.finish()
    _report(console, tally, draws, len(tasks.names), output)
    return 1 if tally.invalid else 0


def _judge_all(
    samples: SampleFile,
    tasks: Tasks,
    evaluation: SampleJudging,
    log: ResultLog,
    tally: SampleTally,
    console: Console,
) -> None:
    from pixelis.envs.coding.samples.evaluation import results

    with _Progress(console, len(samples), log.count) as progress:
        for rows in results(samples, tasks, evaluation, log.count):
            log.append(rows)
            for row in rows:
                tally.add(row)
            progress.update(log.count, sum(tally.passed.values()), sum(tally.samples.values()))


class _Progress:
    """A live bar in a terminal, a plain line every few seconds elsewhere."""

    def __init__(self, console: Console, samples: int, done: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._console, self._samples, self._first = console, samples, done
        self._started = self._told = time.monotonic()
        self._bar = Progress(
            TextColumn("sample {task.completed}/{task.total}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=console,
        )
        self._task = self._bar.add_task("verify", total=samples, completed=done, text="")

    def __enter__(self) -> _Progress:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def update(self, done: int, passed: int, judged: int) -> None:
        """Show how many samples are done, and how many of those judged passed."""
        now = time.monotonic()
        seconds = (now - self._started) / max(1, done - self._first) * (self._samples - done)
        text = f"passed {passed}/{judged}  eta {clock(seconds)}"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=done, text=text)
        elif now - self._told > _LINES_EVERY or done == self._samples:
            self._told = now
            self._console.print(f"sample {done}/{self._samples}  {text}", soft_wrap=True)


def _report(console: Console, tally: SampleTally, draws: Sequence[int], problems: int, output: Path) -> None:
    """Print Pass@k, how the runs ended, and what was not judged."""
    judged = sum(tally.samples.values())
    console.print(
        f"{judged} samples of {len(tally.samples)} problems judged, {sum(tally.passed.values())} passed"
    )
    for k in draws:
        share = tally.pass_at(k)
        told = f"{share:.4f}" if share is not None else f"not known: a problem has fewer than {k} samples"
        console.print(f"pass@{k}  {told}")
    endings = ", ".join(f"{status} {count}" for status, count in tally.statuses.most_common())
    console.print(f"endings: {endings}", soft_wrap=True)
    left = problems - len(tally.samples)
    if left:
        console.print(f"{left} of {problems} problems have no judged sample and are in no number above")
    if tally.unread:
        console.print(f"{tally.unread} samples not judged: their problems' tests are scripts, not replayed")
    if tally.invalid:
        console.print(f"{tally.invalid} samples not judged: the sandbox failed on them; run these again")
    console.print(f"results in {output}", soft_wrap=True)
