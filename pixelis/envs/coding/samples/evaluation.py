"""Evaluate a file of samples against a file of problems: a result for each, and Pass@k."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.samples.sample_file import Sample, SampleFile, Tasks
from pixelis.envs.coding.sandbox import Limits, Sandbox, SandboxSettings
from pixelis.envs.coding.verification.verification import Verification, verify
from pixelis.errors import ScriptNeededError
from pixelis.rewards.text.diversity.sampling import pass_at_k

BATCH = 16  # samples of one problem in a row that are verified together
_ATTEMPTS = 3  # of a sample on which the sandbox itself fails


@dataclass(frozen=True)
class SampleJudging:
    """How samples are judged.

    Attributes:
        seed: decides which inputs are asked twice, and the tests of a family's problems.
        settings: how candidates are confined, and their limits.
        extract: take the code out of each sample's text; otherwise all of it is code.
        scripts: judge problems whose tests are a script, too, by replaying it apart from the candidate.
        workers: sandboxes at work side by side.
    """

    seed: int = 0
    settings: SandboxSettings = field(default_factory=SandboxSettings)
    extract: bool = False
    scripts: bool = True
    workers: int = 1


@dataclass
class SampleTally:
    """What the results amount to.

    Attributes:
        samples: results counted, by the problem's name.
        passed: those that passed, by the problem's name.
        statuses: results by how the run ended.
        invalid: results on which the sandbox failed; they count nowhere else.
        unread: results for problems whose tests are a script that was not replayed; they count nowhere else.
    """

    samples: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    invalid: int = 0
    unread: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one result."""
        self.statuses[row["status"]] += 1
        if row["passed"] is None:
            self.unread += row["status"] == "needs_script"
            self.invalid += row["status"] != "needs_script"
            return
        self.samples[row["task_id"]] += 1
        self.passed[row["task_id"]] += row["passed"]

    def pass_at(self, k: int) -> float | None:
        """Return the mean of the problems' Pass@k; None where a problem has fewer than k samples.

        Unbiased: 1 - C(n - c, k) / C(n, k) for each problem (Chen et al. 2021, arXiv:2107.03374).
        """
        if not self.samples or min(self.samples.values()) < k:
            return None
        each = [pass_at_k(count, self.passed[name], k) for name, count in self.samples.items()]
        return sum(each) / len(each)


def identity(problems: Path, samples: Path, evaluation: SampleJudging) -> dict[str, Any]:
    """Return what the results depend on: both files' SHA-256 and the settings, but not the workers."""
    limits = vars(evaluation.settings.limits)
    return {
        "problems": _sha256(problems),
        "samples": _sha256(samples),
        "seed": evaluation.seed,
        "extract": evaluation.extract,
        "scripts": evaluation.scripts,
        "isolation": evaluation.settings.isolation,
        "limits": limits,
    }


def results(
    samples: SampleFile, tasks: Tasks, evaluation: SampleJudging, first: int = 0
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of the samples from the ``first`` on, in their order, some at a time.

    A result has ``task_id``, ``line`` (of the sample), ``passed`` (None: not judged), ``status`` (see
    ``JobResult``, or ``needs_script``), ``share`` of the tests passed, and ``detail``. It holds no times, so
    that it is the same again.
    """
    boxes: SimpleQueue[Sandbox] = SimpleQueue()
    opened = [Sandbox(evaluation.settings) for _ in range(evaluation.workers)]
    try:
        for box in opened:
            boxes.put(box)

        def judge(batch: tuple[Problem, list[Sample]]) -> list[dict[str, Any]]:
            """Verify one batch in a sandbox that is free."""
            box = boxes.get()
            try:
                return _judged(*batch, evaluation, box)
            finally:
                boxes.put(box)

        batches = ((tasks.problem(number), list(group)) for number, group in _batches(samples.read(first)))
        yield from _in_order(judge, batches, evaluation.workers)
    finally:
        for box in opened:
            box.close()


def _batches(samples: Iterable[Sample]) -> Iterator[tuple[int, Sequence[Sample]]]:
    for number, group in groupby(samples, key=lambda sample: sample.task):
        kept: list[Sample] = []
        for sample in group:
            kept.append(sample)
            if len(kept) == BATCH:
                yield number, kept
                kept = []
        if kept:
            yield number, kept


def _in_order(
    judge: Callable[[tuple[Problem, list[Sample]]], list[dict[str, Any]]],
    batches: Iterable[tuple[Problem, list[Sample]]],
    workers: int,
) -> Iterator[list[dict[str, Any]]]:
    """Yield what ``judge`` makes of each batch, in order; twice as many as workers are under way."""
    if workers == 1:
        yield from map(judge, batches)
        return
    waiting: deque[Future[list[dict[str, Any]]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for batch in batches:
            waiting.append(pool.submit(judge, batch))
            if len(waiting) == 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _judged(
    problem: Problem, samples: list[Sample], evaluation: SampleJudging, sandbox: Sandbox
) -> list[dict[str, Any]]:
    sources = [sample.source(problem, extract=evaluation.extract) for sample in samples]

    def verified(texts: list[str]) -> list[Verification]:
        """Return verdicts on some of the sources."""
        return verify(
            problem, texts, sandbox=sandbox, seed=evaluation.seed, replay_scripts=evaluation.scripts
        )

    try:
        found = verified(sources)
    except ScriptNeededError:
        why = "its tests are a script that cannot be run apart from the candidate, or was not to be"
        return [_row(problem, sample, None, "needs_script", 0.0, why) for sample in samples]
    for at, verdict in enumerate(found):
        for _ in range(_ATTEMPTS - 1):
            if not verdict.valid:
                (verdict,) = verified([sources[at]])
        found[at] = verdict
    return [
        _row(
            problem,
            sample,
            verdict.passed if verdict.valid else None,
            verdict.status,
            verdict.share,
            verdict.detail,
        )
        for sample, verdict in zip(samples, found, strict=True)
    ]


def _row(
    problem: Problem, sample: Sample, passed: bool | None, status: str, share: float, detail: str
) -> dict[str, Any]:
    place = {"task_id": problem.id, "line": sample.line}
    return {**place, "passed": passed, "status": status, "share": share, "detail": detail}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def limits_of(wall_seconds: float, cpu_seconds: float, memory_mb: int) -> Limits:
    """Return limits in the units of the command line."""
    return Limits(wall_seconds=wall_seconds, cpu_seconds=cpu_seconds, memory_bytes=memory_mb << 20)
