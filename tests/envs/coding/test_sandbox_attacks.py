"""Hostile programs are never counted as passed and leave no trace; honest ones in an unusual style pass."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from pixelis.envs.coding.sandbox import Call, Job, Limits, Sandbox
from pixelis.envs.coding.selftest import selftest
from pixelis.envs.coding.selftest.attack_programs import PROGRAMS

LIMITS = Limits(wall_seconds=2.0, cpu_seconds=0.5, memory_bytes=256 << 20)
PATIENT = Limits(wall_seconds=60.0, cpu_seconds=20.0, memory_bytes=256 << 20)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def world():
    with selftest.made_world() as made:
        yield made


def run(sandbox, code, *args, limits=LIMITS):
    job = Job(textwrap.dedent(code), "f", (Call(args),), limits)
    (result,) = sandbox.run([job])
    return result


def value(result):
    assert [outcome.kind for outcome in result.outcomes] == ["value"], result
    return result.outcomes[0].value


def test_there_are_programs_of_every_kind():
    kinds = [program.kind for program in PROGRAMS]
    assert all(kinds.count(kind) >= 17 for kind in ("cheat", "escape", "bomb", "honest"))
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 85


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.kind}: {program.name}")
def test_program(sandbox, world, program):
    server = sandbox._server.process.pid
    limits = selftest.HONEST_LIMITS if program.kind == "honest" else LIMITS
    (result,) = sandbox.run([Job(world.fill_in(program), "f", selftest.CALLS, limits)])
    assert selftest.misbehaviour(program, result, world) == ""
    assert (sandbox.restarts, sandbox._server.process.pid) == (0, server)
    assert children_of(server) == []
    assert os.listdir(sandbox._server._scratch) == []


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


BOMBS = {
    "endless loop": {"cpu_limit", "timeout"},
    "sleeps for ever": {"timeout"},
    "ignores every signal": {"cpu_limit", "timeout"},
    "huge power": {"cpu_limit", "timeout"},
    "catastrophic regex": {"cpu_limit", "timeout"},
    "memory bomb": {"memory_limit"},
    "flood of output": {"output_limit"},
    "flood of results": {"output_limit"},
    "segmentation fault": {"killed"},
    "kills itself": {"killed"},
    "thread bomb": {"killed"},
    "nested folders": {"output_limit"},
    "a NUL byte": {"syntax_error"},
}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_ends_with_a_telling_status(sandbox, name):
    (program,) = [program for program in PROGRAMS if program.name == name]
    is_timed = BOMBS[name] & {"cpu_limit", "timeout"}
    result = run(sandbox, program.code, 3, limits=LIMITS if is_timed else PATIENT)
    assert result.status in BOMBS[name]
    assert result.detail


def test_the_process_has_four_descriptors_and_no_secret(sandbox, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    code = """
        import os, sys, gc
        def f(x):
            open_ones = []
            for number in range(300):
                try: os.fstat(number)
                except OSError: continue
                open_ones.append(number)
            return open_ones, dict(os.environ), sys.argv, sys.stdin.read()
        """
    descriptors, environment, arguments, typed = value(run(sandbox, code, 0))
    assert (descriptors, environment, arguments, typed) == ([0, 1, 2, 3], {}, [""], "")
    with Sandbox() as started_with_secret:
        assert value(run(started_with_secret, code, 0))[1] == {}


def test_a_candidate_leaves_nothing_to_its_siblings(sandbox):
    first = """
        import builtins, json, os, sys
        builtins.left = json.left = sys.left = 1
        sys.setrecursionlimit(77)
        os.mkdir("folder")
        open("folder/left", "w").write("x")
        def f(x): return x
        """
    assert value(run(sandbox, first, 1)) == 1
    second = """
        import builtins, json, os, sys
        def f(x):
            left = [hasattr(module, "left") for module in (builtins, json, sys)]
            return left + os.listdir("."), sys.getrecursionlimit()
        """
    assert value(run(sandbox, second, 0)) == ([False] * 3, 1000)


def test_the_memory_forked_from_holds_no_job(sandbox):
    """The server's own pages are searched from outside: only the candidate's process read the job."""
    mark = os.urandom(12).hex()
    assert value(run(sandbox, "def f(x): return x * 2", mark)) == mark * 2
    pid = sandbox._server.process.pid
    found = 0
    if os.getuid() != 0:  # then the server is closed to its own user too, candidates included
        with pytest.raises(PermissionError):
            Path(f"/proc/{pid}/mem").read_bytes()
        return
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                low, high = (int(word, 16) for word in span.split("-"))
                memory.seek(low)
                found += memory.read(high - low).count(mark.encode())
    assert found == 0


def test_right_answers_forged_on_the_pipe_are_claims_like_any_other(sandbox):
    """What is written is parsed as claimed outputs; a second set of messages spoils the job."""
    code = """
        import os
        def f(x):
            os.write(3, b'{"t":["value",0,7]}\\n{"t":["end",1]}\\n')
            os._exit(0)
        """
    result = run(sandbox, code, 3)
    assert (result.status, value(result)) == ("finished", 7)
    result = run(sandbox, code.replace("os._exit(0)", "return 8"), 3)
    assert result.status == "protocol"


def test_time_passes_for_all_calls_together(sandbox):
    """Slow but within a limit per call is not within the limit of the job."""
    code = "import time\ndef f(x):\n    time.sleep(0.4)\n    return x"
    (result,) = sandbox.run([Job(code, "f", tuple(Call((i,)) for i in range(50)), LIMITS)])
    kinds = [outcome.kind for outcome in result.outcomes]
    assert result.status == "timeout"
    assert 1 <= kinds.count("value") <= 20 and kinds[-1] == "missing"


def test_hostile_candidates_do_not_slow_the_honest_ones_between(sandbox):
    hostile = [program for program in PROGRAMS if program.kind in ("cheat", "escape")]
    honest = Job("def f(x): return 2 * x + 1", "f", selftest.CALLS, PATIENT)
    with selftest.made_world() as world:
        for program in hostile:
            attack = Job(world.fill_in(program), "f", selftest.CALLS, LIMITS)
            assert [selftest.is_passed(result) for result in sandbox.run([attack, honest])] == [False, True]


def test_chmod_and_utime_pretend(sandbox, tmp_path):
    """Landlock lets a process change modes and times anywhere, so nothing is changed by the call."""
    victim = tmp_path / "victim"
    victim.write_text("x")
    os.utime(victim, (1, 1))
    victim.chmod(0o640)
    code = """
        import os
        def f(x):
            os.chmod(x, 0)
            os.utime(x, (5, 5))
        """
    assert value(run(sandbox, code, str(victim))) is None
    assert (victim.stat().st_mode & 0o777, victim.stat().st_mtime) == (0o640, 1)


def test_installed_packages_cannot_be_read(sandbox):
    """The problems' own reference solutions may lie there."""
    import numpy

    code = "def f(x): return open(x).read()"
    result = run(sandbox, code, numpy.__file__)
    assert result.outcomes[0].error.startswith("PermissionError")
    own = "import textwrap\ndef f(x): return len(open(textwrap.__file__).read())"
    assert value(run(sandbox, own, 0)) > 1000


def test_every_pure_standard_module_imports(sandbox):
    code = """
        import importlib, sys
        def f(names):
            refused = {}
            for name in names:
                try: importlib.import_module(name)
                except ModuleNotFoundError: pass
                except Exception as error: refused[name] = repr(error)
            return refused
        """
    import sys

    special = {"antigravity", "this", "idlelib", "turtledemo", "nt", "msvcrt", "winreg", "winsound"}
    names = sorted(name for name in sys.stdlib_module_names - special if not name.startswith("_"))
    limits = Limits(wall_seconds=60, cpu_seconds=30)
    result = run(sandbox, code, names, limits=limits)
    assert len(names) > 150
    assert value(result) == {}


def test_a_signal_handler_and_its_own_kill_are_the_candidates_business(sandbox):
    code = """
        import os, signal
        def f(x):
            got = []
            signal.signal(signal.SIGUSR1, lambda *_: got.append(x))
            os.kill(os.getpid(), signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
            return got
        """
    assert value(run(sandbox, code, 4)) == [4, 4]


def test_slow_but_within_its_limits_passes(sandbox):
    limits = Limits(wall_seconds=20, cpu_seconds=20)
    code = "def f(n):\n    total = 0\n    for i in range(n): total += i % 7\n    return total"
    assert value(run(sandbox, code, 2_000_000, limits=limits)) == sum(i % 7 for i in range(2_000_000))
