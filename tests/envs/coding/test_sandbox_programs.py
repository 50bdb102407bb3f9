"""Larger sets than the self-test's: honest code in unusual styles passes, hostile code never does.

Each file in ``programs`` holds programs apart by lines ``#### name``; ``f(x)`` should return ``2 * x + 1``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixelis.envs.coding.sandbox import Job, Limits, Sandbox
from pixelis.envs.coding.selftest import selftest
from pixelis.envs.coding.selftest.attack_programs import Kind, Program

KINDS: dict[str, Kind] = {"honest": "honest", "cheats": "cheat", "escapes": "escape", "bombs": "bomb"}
GENEROUS = Limits(wall_seconds=20, cpu_seconds=10)
SHORT = Limits(wall_seconds=0.8, cpu_seconds=0.3, memory_bytes=256 << 20)


def programs(name):
    text = (Path(__file__).parent / "programs" / f"{name}.txt").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in text.split("#### ")[1:]]
    return [Program(title, KINDS[name], code) for title, _, code in parts]


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def world():
    with selftest.made_world() as made:
        yield made


def check(sandbox, world, program, limits):
    """Return what the program did wrong, a process, a file or the server's end included; else nothing."""
    server = sandbox._server.process.pid
    (result,) = sandbox.run([Job(world.fill_in(program), "f", selftest.CALLS, limits)])
    wrong = selftest.misbehaviour(program, result, world)
    left = Path(f"/proc/{server}/task/{server}/children").read_text() + "".join(
        os.listdir(f"/proc/{server}/cwd")
    )
    return wrong or left or ("the server ended" if sandbox._server.process.pid != server else "")


@pytest.mark.parametrize("name", ["honest", "cheats", "escapes"])
def test_programs(sandbox, world, name):
    limits = GENEROUS if name == "honest" else SHORT
    listed = programs(name)
    assert len(listed) >= {"honest": 130, "cheats": 40, "escapes": 100}[name]
    wrong = {program.name: check(sandbox, world, program, limits) for program in listed}
    assert {name: what for name, what in wrong.items() if what} == {}


@pytest.mark.slow
def test_bombs(sandbox, world):
    listed = programs("bombs")
    assert len(listed) >= 30
    wrong = {program.name: check(sandbox, world, program, SHORT) for program in listed}
    assert {name: what for name, what in wrong.items() if what} == {}


@pytest.mark.parametrize(
    "code",
    [
        "\ufeffdef f(x): return 2 * x + 1",
        "def f(x):\r\n    y = 2 * x\r\n    return y + 1\r\n",
        "def f(x): return 2 * x + 1 " + "+ 0 " * 2000,
        "def g(x): return x\n" * 5000 + "def f(x): return 2 * x + 1",
        "# " + "y" * 1_000_000 + "\ndef f(x): return 2 * x + 1",
    ],
    ids=["BOM", "CRLF", "long line", "many functions", "1 MB"],
)
def test_sources_in_unusual_shape(sandbox, code):
    (result,) = sandbox.run([Job(code, "f", selftest.CALLS, GENEROUS)])
    assert selftest.is_passed(result), result
