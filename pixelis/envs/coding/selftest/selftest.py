"""``python -m pixelis.envs.coding.selftest``: which layers hold on this machine, tried with hostile programs.

Exit code 0 when every program behaved, 1 when one did not, 2 when the sandbox cannot run here at all.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pixelis.envs.coding.sandbox import Call, Job, JobResult, Limits, Sandbox, SandboxSettings
from pixelis.envs.coding.sandbox.jobs import Isolation
from pixelis.envs.coding.selftest.attack_programs import PROGRAMS, Program
from pixelis.errors import SandboxUnavailableError

CALLS = (Call((3,)), Call((10,)), Call((3,)))
EXPECTED = [7, 21, 7]
LIMITS = Limits(wall_seconds=2.0, cpu_seconds=1.0, memory_bytes=256 << 20)
HONEST_LIMITS = Limits(wall_seconds=20.0, cpu_seconds=10.0, memory_bytes=256 << 20)  # on a busy machine, too
_SECRET = "a canary that no candidate may read or change"


@dataclass(frozen=True)
class World:
    """What a program could reach outside: a file and a listening socket, both looked at afterwards."""

    canary: Path
    listener: socket.socket

    def fill_in(self, program: Program) -> str:
        """Return the program's source with this world's places in it."""
        places = {"@CANARY@": self.canary, "@PORT@": self.listener.getsockname()[1], "@PID@": os.getpid()}
        code = program.code
        for mark, place in places.items():
            code = code.replace(mark, str(place))
        return code

    def damage(self) -> str:
        """Return what was done to the world, or nothing."""
        if not self.canary.exists() or self.canary.read_text(encoding="utf-8") != _SECRET:
            return "the file outside was changed"
        if self.canary.stat().st_nlink != 1:
            return "the file outside was linked"
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return ""
        return "the port outside was reached"


@contextmanager
def made_world() -> Iterator[World]:
    """Make a file and a listening socket; both are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        canary = Path(folder) / "canary"
        canary.write_text(_SECRET, encoding="utf-8")
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield World(canary, listener)


def is_passed(result: JobResult) -> bool:
    """Return whether every expected value was claimed, in order and of exactly the right type."""
    values = [outcome.value for outcome in result.outcomes if outcome.kind == "value"]
    same = [
        type(value) is type(right) and value == right for value, right in zip(values, EXPECTED, strict=False)
    ]
    return result.status == "finished" and same == [True] * len(EXPECTED) == [True] * len(result.outcomes)


def misbehaviour(program: Program, result: JobResult, world: World) -> str:
    """Return what is wrong with how a program ended, or nothing."""
    if result.status == "sandbox_failed":
        return "it took the server down"
    if damage := world.damage():
        return damage
    passed = is_passed(result)
    if program.kind == "honest":
        return "" if passed else f"honest, but rejected: {result.status} {result.detail or result.outcomes}"
    if passed:
        return "it was counted as passed"
    escaped = [
        outcome for outcome in result.outcomes if outcome.kind == "value" and outcome.value == "ESCAPED"
    ]
    return "it got through" if program.kind == "escape" and escaped else ""


def run_programs(
    sandbox: Sandbox, programs: Sequence[Program] = PROGRAMS
) -> Iterator[tuple[Program, str, JobResult]]:
    """Run each program; yield it with what it did wrong (or nothing) and its result."""
    with made_world() as world:
        for program in programs:
            limits = HONEST_LIMITS if program.kind == "honest" else LIMITS
            (result,) = sandbox.run([Job(world.fill_in(program), "f", CALLS, limits)])
            yield program, misbehaviour(program, result, world), result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the layers and how the programs behaved; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pixelis.envs.coding.selftest", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail when a layer is missing")
    parser.add_argument("--hardened", action="store_true", help="the same, with namespaces")
    parser.add_argument("--verbose", action="store_true", help="one line for every program")
    options = parser.parse_args(arguments)
    try:
        isolation: Isolation = (
            "hardened" if options.hardened else "strict" if options.strict else "best_effort"
        )
        with Sandbox(SandboxSettings(isolation)) as sandbox:
            _print_layers(sandbox)
            return _print_programs(sandbox, options.verbose)
    except SandboxUnavailableError as error:
        print(error, file=sys.stderr)
        return 2


def _print_layers(sandbox: Sandbox) -> None:
    print("layer                  on this machine")
    for layer in sandbox.layers:
        print(f"{layer:22} holds")
    for layer, why in sandbox.missing.items():
        print(f"{layer:22} MISSING: {why}")


def _print_programs(sandbox: Sandbox, is_verbose: bool) -> int:
    started = time.monotonic()
    counts: dict[str, list[int]] = {}
    failures = 0
    for program, wrong, result in run_programs(sandbox):
        count = counts.setdefault(program.kind, [0, 0])
        count[0] += not wrong
        count[1] += 1
        failures += bool(wrong)
        if wrong or is_verbose:
            print(
                f"{'WRONG' if wrong else 'ok':5} {program.kind:6} {program.name:42} {result.status:12}{wrong}"
            )
    print("\nkind     behaved")
    for kind, (good, all_) in counts.items():
        print(f"{kind:8} {good} of {all_}")
    print(f"{time.monotonic() - started:.0f} s, {failures} misbehaved")
    return 1 if failures else 0
