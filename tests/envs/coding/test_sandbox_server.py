"""The server when things go wrong: killed, orphaned, forked, less than strict; and nothing leaks."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pixelis.envs.coding.sandbox import Call, Job, Limits, Sandbox, SandboxSettings
from pixelis.envs.coding.sandbox.layers import ORDER

ADD = Job("def f(x): return x + 1", "f", (Call((1,)),))
SLEEP = Job("import time\ndef f(x): time.sleep(30)", "f", (Call((1,)),), Limits(wall_seconds=20))
ROOT = Path(__file__).parents[3]


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def at(sandbox, act):
    """Do ``act(server, candidate)`` as soon as a candidate runs; return the thread that does."""
    server = sandbox._server.process.pid

    def wait_and_act():
        wait_until(lambda: children_of(server))
        act(server, children_of(server)[0])

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_a_killed_server_fails_its_job_only_and_leaves_no_candidate():
    with Sandbox() as sandbox:
        candidates = []

        def kill(server, candidate):
            candidates.append(candidate)
            os.kill(server, signal.SIGKILL)

        assert sandbox.run([ADD])[0].status == "finished"
        thread = at(sandbox, kill)
        scratch = Path(sandbox._server._scratch)
        failed, after = sandbox.run([SLEEP, ADD])
        thread.join()
        assert [failed.status, after.status] == ["sandbox_failed", "finished"]
        assert after.outcomes[0].value == 2
        assert sandbox.restarts == 1
        assert not scratch.exists()
        wait_until(lambda: not is_running(candidates[0]))


def test_a_candidate_forked_by_a_dying_server_does_not_begin():
    """The server may be dead before its child has run one instruction: then nobody would end the child."""
    code = """
import os, sys, time
from pixelis.envs.coding.sandbox.child import Confinement, separate
lifeline, server = os.pipe(), os.getpid()
if os.fork() == 0:
    while sys.argv[1] == "dead" and os.getppid() == server:
        time.sleep(0.01)
    separate(Confinement("", parent_death=True), lifeline)
    print("begins", flush=True)
    os._exit(0)
if sys.argv[1] == "alive":
    os.wait()
"""
    for server, printed in (("alive", "begins\n"), ("dead", "")):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            code,
            server,
        ]  # its output ends with the last of both
        assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == printed


def test_a_killed_candidate_is_its_own_affair():
    with Sandbox() as sandbox:
        thread = at(sandbox, lambda server, child: os.kill(child, signal.SIGKILL))
        killed, after = sandbox.run([SLEEP, ADD])
        thread.join()
        assert (killed.status, after.status, sandbox.restarts) == ("killed", "finished", 0)


def test_a_server_killed_between_jobs_is_started_again():
    with Sandbox() as sandbox:
        sandbox._server.process.kill()
        sandbox._server.process.wait()
        assert [result.status for result in sandbox.run([ADD, ADD])] == ["finished"] * 2
        assert sandbox.restarts == 1


def test_closing_ends_server_candidate_and_folder():
    sandbox = Sandbox()
    server, scratch = sandbox._server.process, Path(sandbox._server._scratch)
    assert scratch.is_dir()
    sandbox.close()
    sandbox.close()
    assert server.poll() is not None and not scratch.exists()
    with sandbox:  # it starts again when it is used again
        assert sandbox.run([ADD])[0].status == "finished"


def test_a_caller_that_is_killed_leaves_nothing_running():
    code = f"""
import sys
from pixelis.envs.coding.sandbox import *
sandbox = Sandbox()
print(sandbox._server.process.pid, flush=True)
sandbox.run([Job({SLEEP.code!r}, "f", (Call((1,)),), Limits(wall_seconds=20))])
"""
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with caller:
        assert caller.stdout
        server = int(caller.stdout.readline())
        wait_until(lambda: children_of(server))
        (candidate,) = children_of(server)
        folder = os.readlink(f"/proc/{server}/cwd")
        caller.kill()
    wait_until(lambda: not is_running(server) and not is_running(candidate))
    assert not os.path.exists(folder)


@pytest.mark.slow
def test_a_caller_killed_at_any_moment_leaves_no_folder(tmp_path):
    code = f"""
from pixelis.envs.coding.sandbox import *
sandbox = Sandbox()
print(sandbox._server.process.pid, flush=True)
while True: sandbox.run([Job({ADD.code!r}, "f", (Call((1,)),))])
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for turn in range(5):
        caller = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment
        )
        with caller:
            assert caller.stdout
            server = int(caller.stdout.readline())
            time.sleep(0.1 + 0.0013 * turn)
            caller.kill()
        wait_until(lambda server=server: not is_running(server))
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_the_candidate():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    sandbox = Sandbox()
    main = threading.main_thread().ident
    assert main is not None
    thread = at(sandbox, lambda server, child: signal.pthread_kill(main, signal.SIGINT))
    server = sandbox._server.process
    with pytest.raises(KeyboardInterrupt):
        sandbox.run([SLEEP])
    thread.join()
    signal.signal(signal.SIGINT, before)
    assert server.poll() is not None
    assert sandbox.run([ADD])[0].status == "finished"
    sandbox.close()


def test_a_fork_of_the_caller_uses_a_server_of_its_own():
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
from pixelis.envs.coding.sandbox import *
job = Job("def f(x): return x + 1", "f", (Call((1,)),))
sandbox = Sandbox()
first = sandbox._server.process.pid
pid = os.fork()
assert sandbox.run([job])[0].status == "finished"
if pid == 0:
    assert sandbox._server.process.pid != first
    sandbox.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert sandbox.run([job])[0].status == "finished" and sandbox.restarts == 0
sandbox.close()
print("both")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


@pytest.mark.slow
def test_nothing_leaks_over_500_jobs():
    endings = [
        ADD,
        Job("import os\nos._exit(3)", "f", ADD.calls),
        Job("import ctypes\ndef f(x): ctypes.string_at(0)", "f", ADD.calls),
        Job("def f(x):\n    open('a', 'w').write('b')\n    print('c' * 100000)", "f", ADD.calls),
        Job("def f(x) return", "f", ADD.calls),
    ]
    with Sandbox() as sandbox:
        sandbox.run(endings)
        server = sandbox._server.process.pid
        before = census(server)
        statuses = [result.status for result in sandbox.run(endings * 100)]
        assert statuses == ["finished", "exited", "killed", "finished", "syntax_error"] * 100
        after = census(server)
        assert after[:4] == before[:4]
        assert after[4] - before[4] < 1 << 20
        assert sandbox.restarts == 0


def census(server):
    """Return children, descriptors of both sides, files, and bytes resident in the server."""
    descriptors = [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), server)]
    resident = int(Path(f"/proc/{server}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    (scratch,) = [os.readlink(f"/proc/{server}/cwd")]
    return children_of(server), descriptors[0], descriptors[1], os.listdir(scratch), resident


def test_strict_holds_here_and_the_layers_are_logged_once(caplog):
    from pixelis.envs.coding.sandbox.sandbox import _Server

    _Server.is_logged = False
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            with Sandbox(SandboxSettings(isolation="strict")) as sandbox:
                assert sandbox.layers == ORDER
                assert sandbox.missing == {}
                assert sandbox.run([ADD])[0].outcomes[0].value == 2
    assert [record.getMessage() for record in caplog.records if "layers" in record.getMessage()] == [
        f"sandbox layers: {', '.join(ORDER)}"
    ]


OLD_KERNEL = """
import ctypes, errno, json, os, struct, sys, time
from pixelis.envs.coding.sandbox import linux
def forbid(*steps):
    steps = [(0x20, 0, 0, 0), *steps, (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    header = struct.pack("@HP", len(steps), ctypes.addressof(code))
    linux.prctl(linux.PR_SET_SECCOMP, 2, ctypes.c_char_p(header))
no_landlock = [(0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | errno.ENOSYS)]
prctl = {"x86_64": 157, "aarch64": 167}[linux.MACHINE]
invalid = (0x06, 0, 0, 0x00050000 | errno.EINVAL)
no_seccomp = [(0x15, 0, 3, prctl), (0x20, 0, 0, 16), (0x15, 0, 1, 22), invalid]
from pixelis.envs.coding.sandbox import *
from pixelis.errors import SandboxUnavailableError
"""


def on_old_kernel(code):
    """Run ``code`` where the kernel really refuses Landlock or seccomp; return what it prints as JSON."""
    command = [sys.executable, "-W", "ignore", "-c", OLD_KERNEL + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_strict_refuses_and_names_what_is_missing():
    message, layers = on_old_kernel("""
forbid(*no_landlock)
try:
    Sandbox(SandboxSettings(isolation="strict"))
except SandboxUnavailableError as error:
    message = str(error)
with Sandbox() as sandbox:
    print(json.dumps([message, sandbox.layers]))
""")
    assert "landlock (the kernel has none" in message and "best_effort" in message
    assert "seccomp" in layers and "landlock" not in layers


def test_with_rlimits_only_no_cheat_passes_and_no_daemon_outlives():
    """What is left on macOS, or on Linux without both confinements."""
    layers, wrong, left, status = on_old_kernel("""
forbid(*no_landlock, *no_seccomp)
from pixelis.envs.coding.selftest import selftest
kept = [p for p in selftest.PROGRAMS if p.kind in ("cheat", "honest")]
daemon = '''
import os, time
def f(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    while True:
        time.sleep(0.2)
        return 0
'''
with Sandbox() as sandbox:
    wrong = [p.name + ": " + w for p, w, _ in selftest.run_programs(sandbox, kept) if w]
    server = sandbox._server.process.pid
    (result,) = sandbox.run([Job(daemon, "f", (Call((1,)),))])
    left = open(f"/proc/{server}/task/{server}/children").read()
    print(json.dumps([sandbox.layers, wrong, left, result.status]))
""")
    assert "seccomp" not in layers and "landlock" not in layers and "rlimits" in layers
    assert (wrong, left, status) == ([], "", "finished")


def test_the_server_does_not_import_pixelis():
    with Sandbox() as sandbox:
        mapped = Path(f"/proc/{sandbox._server.process.pid}/maps").read_text()
        assert "numpy" not in mapped and "torch" not in mapped
        code = "import sys\ndef f(x): return [n for n in sys.modules if 'pixelis' in n or n == 'site']"
        assert sandbox.run([Job(code, "f", ADD.calls)])[0].outcomes[0].value == []


def test_where_there_is_no_fork_the_error_is_clear():
    """Windows has neither fork nor these modules: the package imports there and refuses to run."""
    code = """
import os, sys
del os.fork
for name in ("fcntl", "resource"):
    sys.modules[name] = None
from pixelis.envs.coding.sandbox import Sandbox
from pixelis.errors import SandboxUnavailableError
try:
    Sandbox()
except SandboxUnavailableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("expected Linux or macOS to run candidates' code"), done.stderr


def test_where_memory_runs_out_a_candidate_goes_first():
    with Sandbox() as sandbox:
        own = int(Path("/proc/self/oom_score_adj").read_text())
        assert int(Path(f"/proc/{sandbox._server.process.pid}/oom_score_adj").read_text()) == max(own, 500)
