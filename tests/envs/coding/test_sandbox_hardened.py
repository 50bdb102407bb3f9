"""``isolation="hardened"``: namespaces, a root of its own and a PID namespace, or a refusal that says why."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from pixelis.envs.coding.sandbox import Call, Job, Limits, Sandbox, SandboxSettings
from pixelis.envs.coding.sandbox.layers import HARDENING, ORDER
from pixelis.envs.coding.selftest import selftest
from pixelis.envs.coding.selftest.attack_programs import PROGRAMS
from pixelis.errors import SandboxUnavailableError

HARDENED = SandboxSettings(isolation="hardened", limits=Limits(file_bytes=1 << 20))
ROOT = Path(__file__).parents[3]


def refusal():
    """Return why this machine does not let a process enter namespaces; most containers do not."""
    try:
        Sandbox(HARDENED).close()
    except SandboxUnavailableError as error:
        return str(error)
    return ""


REFUSAL = refusal()


def run(sandbox, code, *args):
    (result,) = sandbox.run([Job(textwrap.dedent(code), "f", (Call(args),))])
    (outcome,) = result.outcomes
    return outcome.value if outcome.kind == "value" else outcome.error


def test_all_layers_hold_or_the_refusal_names_one():
    if REFUSAL:
        assert any(name in REFUSAL for name in HARDENING) and "use isolation='strict'" in REFUSAL
        return
    with Sandbox(HARDENED) as sandbox:
        assert sandbox.layers == (*ORDER, *HARDENING)
        assert sandbox.missing == {}
    with Sandbox() as sandbox:
        assert not set(HARDENING) & set(sandbox.layers)


def test_it_refuses_where_namespaces_are_refused():
    """A process that may have no user namespace below it, as in many containers."""
    code = """
import os
from pixelis.envs.coding.sandbox import *
from pixelis.errors import SandboxUnavailableError
open("/proc/sys/user/max_user_namespaces", "w").write("0")
try:
    Sandbox(SandboxSettings(isolation="hardened"))
except SandboxUnavailableError as error:
    print(error)
with Sandbox(SandboxSettings(isolation="strict")) as sandbox:
    print(sandbox.run([Job("def f(): return 7", "f", (Call(),))])[0].outcomes[0].value)
"""
    if REFUSAL:  # then this machine is such a place itself
        assert "namespaces" in REFUSAL
        return
    inside = ["unshare", "--user", "--map-root-user", sys.executable, "-c", code]
    done = subprocess.run(inside, cwd=ROOT, capture_output=True, text=True, check=False)
    first, last = done.stdout.splitlines()
    assert "namespaces (OSError: [Errno" in first and "private_root (needs the layer before)" in first
    assert last == "7"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(HARDENED if not REFUSAL else SandboxSettings()) as opened:
        yield opened


@pytest.mark.slow
def test_every_program_of_the_self_test_behaves(sandbox):
    wrong = {program.name: what for program, what, _ in selftest.run_programs(sandbox, PROGRAMS) if what}
    assert wrong == {}


def test_a_candidate_is_alone_and_sees_no_other_file(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    code = """
        import os, socket
        def f(path):
            alone = os.getpid(), os.getppid(), os.path.exists(path), socket.gethostname()
            return alone, os.getuid(), len(os.listdir("."))
        """
    alone, user, entries = run(sandbox, code, str(secret))
    assert (user, entries) == (os.getuid(), 0)
    assert alone == (1, 0, False, "sandbox") or REFUSAL


def test_open_files_without_a_name_are_counted_too(sandbox):
    """Removed but open, they are out of sight of who measures a folder; not of a file system's own size."""
    code = """
        import os
        def f(most):
            written = []
            try:
                for number in range(most):
                    file = os.open(str(number), os.O_CREAT | os.O_WRONLY)
                    os.unlink(str(number))
                    written.append(file)
                    os.write(file, b"x" * 1_000_000)
            except OSError as error:
                return len(written), error.strerror
            return len(written), "no end"
        """
    files, why = run(sandbox, code, 40)
    assert (files, why) == (6, "No space left on device") or REFUSAL  # 4 MiB: four, a part, and none
    assert run(sandbox, code, 3) == (3, "no end")  # and the space is there again


def test_a_caller_that_is_killed_leaves_nothing():
    code = f"""
import sys
from pixelis.envs.coding.sandbox import *
sandbox = Sandbox(SandboxSettings(isolation={"hardened" if not REFUSAL else "strict"!r}))
print(sandbox._server.process.pid, sandbox._server._scratch, flush=True)
sandbox.run([Job("import time\\ndef f(): time.sleep(60)", "f", (Call(),), Limits(wall_seconds=50))])
"""
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with caller:
        assert caller.stdout
        pid, scratch = caller.stdout.readline().split()
        children = Path(f"/proc/{pid}/task/{pid}/children")
        end = time.monotonic() + 20
        while not (running := children.read_text().split()) and time.monotonic() < end:
            time.sleep(0.01)
        caller.kill()
    while any(is_running(number) for number in (pid, *running)) and time.monotonic() < end:
        time.sleep(0.01)
    assert running and not any(is_running(number) for number in (pid, *running))
    assert not os.path.exists(scratch)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_many_candidates_leave_no_process_and_no_mount(sandbox):
    job = Job("def f(x): return x + 1", "f", (Call((1,)),))
    sandbox.run([job])
    server = sandbox._server.process.pid
    before = Path(f"/proc/{server}/mounts").read_text(), len(os.listdir(f"/proc/{server}/fd"))
    assert [result.outcomes[0].value for result in sandbox.run([job] * 50)] == [2] * 50
    assert (Path(f"/proc/{server}/mounts").read_text(), len(os.listdir(f"/proc/{server}/fd"))) == before
    assert Path(f"/proc/{server}/task/{server}/children").read_text() == ""
