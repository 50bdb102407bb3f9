"""One sandbox a process: shared, started late, ended with its last holder, not passed on to forks."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading

import pytest

from pixelis.envs.coding.sandbox import Call, Job, SandboxSettings
from pixelis.envs.coding.verification.sandbox_lease import SandboxLease

SETTINGS = SandboxSettings(allow_threads=False)
JOB = Job("def f(x): return x + 1", "f", (Call((1,)),))


def value_of(lease):
    return lease.get().run([JOB])[0].outcomes[0].value


def is_running(process):
    return process.poll() is None


def test_holders_share_a_server_and_the_last_ends_it():
    first, second = SandboxLease(SETTINGS), SandboxLease(SETTINGS)
    other = SandboxLease(SandboxSettings(allow_threads=True))
    sandbox = first.get()
    server = sandbox._server.process
    assert second.get() is sandbox and second.get() is sandbox
    assert other.get() is not sandbox
    other.close()
    first.close()
    first.close()
    assert is_running(server) and value_of(second) == 2
    second.close()
    assert not is_running(server)
    assert value_of(first) == 2  # starts another
    first.close()


def test_a_holder_that_is_gone_holds_nothing():
    lease = SandboxLease(SETTINGS)
    server = lease.get()._server.process
    del lease
    gc.collect()
    assert not is_running(server)


@pytest.mark.parametrize(
    "copy_of", [copy.copy, copy.deepcopy, lambda lease: pickle.loads(pickle.dumps(lease))]
)
def test_copies_hold_nothing_until_they_ask(copy_of):
    lease = SandboxLease(SETTINGS)
    server = lease.get()._server.process
    twin = copy_of(lease)
    assert twin.settings == SETTINGS and twin._held is None
    lease.close()
    assert not is_running(server)
    assert value_of(twin) == 2
    twin.close()


def test_threads_get_the_same_one():
    leases = [SandboxLease(SETTINGS) for _ in range(6)]
    seen, values = [], []

    def work(lease):
        seen.append(lease.get())
        values.append(value_of(lease))

    threads = [threading.Thread(target=work, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, seen))) == 1 and values == [2] * 6
    server = seen[0]._server.process
    for lease in leases:
        lease.close()
    assert not is_running(server)


def test_a_fork_starts_its_own_and_leaves_the_parents_alone():
    lease = SandboxLease(SETTINGS)
    server = lease.get()._server.process
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        own = b"?"
        try:
            right = value_of(lease) == 2 and lease.get()._server.process.pid != server.pid
            lease.close()
            own = b"y" if right else b"n"
        finally:
            os.write(writing, own)
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"y"
    os.close(reading)
    assert is_running(server) and value_of(lease) == 2
    lease.close()
    assert not is_running(server)
