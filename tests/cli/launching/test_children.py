"""Children end with who started them, those below them too; signals reach the one that they are for."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import signal
import subprocess
import sys

import psutil
import pytest
from launching_commands import Started, wait_until

OUT_OF_MEMORY = "the system does that where memory runs out"
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="processes are adopted on Linux alone")
HEAD = """
import signal, subprocess, sys, time
from pathlib import Path
from pixelis.cli.launching import children as module
from pixelis.cli.launching.children import Children, Relay, how_it_ended
"""
# One that has a child; one whose child has left the session and lost its parent; one that is deaf.
THREE = """
    children.start(["sh", "-c", "sleep 1000 & sleep 1000"])
    children.start(["sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & exit 0"])
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('deaf', 'w').close();"
    children.start([sys.executable, "-c", f"{deaf} time.sleep(1000)"])
    while not Path("deaf").exists(): time.sleep(0.02)
"""
WAITING = f"""{HEAD}
module.GRACE_SECONDS = {{grace}}
with Relay(), Children() as children:
{THREE.replace("{", "{{").replace("}", "}}")}
    time.sleep(1000)
"""


def sleepers(started: Started) -> list[psutil.Process]:
    found = []
    for process in started.living():
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends between two questions about it
            if process.name() == "sleep":
                found.append(process)
    return found


@LINUX_ONLY
@pytest.mark.parametrize("end", ["pass", "raise RuntimeError('oh')", "raise KeyboardInterrupt"])
def test_the_end_of_the_block_ends_all_that_was_started(started, tmp_path, end):
    hold = "    while not Path('go').exists(): time.sleep(0.02)\n"
    code = f"{HEAD}module.GRACE_SECONDS = 1\nwith Children() as children:\n{THREE}{hold}    {end}\n"
    process = started("-c", code)
    assert wait_until(lambda: len(sleepers(started)) == 4 and (tmp_path / "deaf").exists(), 30)
    (tmp_path / "go").touch()
    process.wait(30)
    assert started.living() == []
    assert ("RuntimeError: oh" in process.printed()) == ("oh" in end)


@LINUX_ONLY
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_there_is_a_training_ends_all(started, tmp_path, number):
    process = started("-c", WAITING.format(grace=1))
    assert wait_until(lambda: len(sleepers(started)) == 4 and (tmp_path / "deaf").exists(), 30)
    process.send_signal(number)
    process.wait(30)
    assert "KeyboardInterrupt" in process.printed() and started.living() == []


@LINUX_ONLY
def test_signals_while_it_ends_what_is_left_do_not_stop_that(started, tmp_path):
    process = started("-c", WAITING.format(grace=2))
    assert wait_until(lambda: len(sleepers(started)) == 4 and (tmp_path / "deaf").exists(), 30)
    process.send_signal(signal.SIGINT)
    assert wait_until(lambda: not sleepers(started), 10)  # asked; the deaf one is waited for
    assert process.poll() is None
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
    process.wait(30)
    assert started.living() == []


@LINUX_ONLY
def test_who_is_killed_takes_its_children_along(started, tmp_path):
    child = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (open('told', 'w').close(), sys.exit()))\n"
        "open('up', 'w').close()\n"
        "time.sleep(1000)"
    )
    code = (
        f"{HEAD}with Children() as children:\n"
        "    children.start(['sleep', '1000'])\n"
        f"    children.start([sys.executable, '-c', {child!r}], orphaned=signal.SIGINT)\n"
        "    time.sleep(1000)\n"
    )
    process = started("-c", code)
    assert wait_until(lambda: (tmp_path / "up").exists() and len(sleepers(started)) == 1, 30)
    process.kill()
    process.wait(30)
    assert started.all_ended() and (tmp_path / "told").exists()


COUNTING = """
import signal, subprocess, sys, time
def note(number, frame):
    print("got", signal.Signals(number).name, flush=True)
signal.signal(signal.SIGINT, note); signal.signal(signal.SIGTERM, note)
subprocess.Popen(["sleep", "1000"])
print("up", flush=True)
while True: time.sleep(0.05)
"""
RELAYING = f"""{HEAD}
with Relay() as relay, Children() as children:
    process = children.start([sys.executable, "-c", {COUNTING!r}])
    with relay.to(process):
        code = children.wait(process)
    print(how_it_ended(code), relay.count)
"""


def test_the_first_two_signals_are_passed_on_and_the_third_kills(started):
    process = started("-c", RELAYING)
    assert wait_until(lambda: "up" in process.printed(), 30)
    for count, number in enumerate((signal.SIGINT, signal.SIGTERM), 1):
        process.send_signal(number)
        assert wait_until(lambda count=count: process.printed().count("got") == count, 30)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0 and started.living() == []
    said = process.printed().splitlines()
    assert said[:3] == ["up", "got SIGINT", "got SIGTERM"]
    assert said[3].startswith("ended by signal 9, SIGKILL") and said[3].endswith(" 3")


def test_the_end_of_the_terminal_is_passed_on_as_sigterm_but_not_with_nohup(started):
    process = started("-c", RELAYING)
    assert wait_until(lambda: "up" in process.printed(), 30)
    process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: "got SIGTERM" in process.printed(), 30)
    process = started("-c", f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{RELAYING}")
    assert wait_until(lambda: "up" in process.printed(), 30)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    assert wait_until(lambda: "got SIGINT" in process.printed(), 30)
    assert "SIGTERM" not in process.printed()


@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid of util-linux")
def test_ctrl_c_typed_in_a_terminal_comes_once_and_the_child_can_write_there(started):
    ours, theirs = pty.openpty()
    words = ["setsid", "--ctty", sys.executable, "-c", RELAYING]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=started.environment)
    os.close(theirs)
    said = ""

    def until(text: str, times: int = 1) -> bool:
        """Read what is printed until it holds a text."""
        nonlocal said
        while said.count(text) < times:
            if not select.select([ours], [], [], 30)[0]:
                return False
            said += os.read(ours, 4096).decode()
        return True

    assert until("up")
    os.write(ours, b"\x03")
    assert until("got SIGINT")
    while select.select([ours], [], [], 1)[0]:  # ends of lines and echoes may come by themselves
        said += os.read(ours, 4096).decode()
    assert said.count("got SIGINT") == 1  # in the launcher's own group it would come twice
    os.write(ours, b"\x03")
    assert until("got SIGINT", 2)
    os.write(ours, b"\x03")
    assert until("ended by signal 9") and process.wait(30) == 0
    os.close(ours)


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("sys.exit(3)", "3 exit code 3"),
        (
            "os.kill(os.getpid(), 9)",
            "137 ended by signal 9, SIGKILL; the system does that where memory runs out",
        ),
        ("os.kill(os.getpid(), 15)", "143 ended by signal 15, SIGTERM"),
        ("sys.exit(130)", "130 exit code 130"),
        ("sys.exit(255)", "255 exit code 255"),
    ],
)
def test_how_a_child_has_ended_is_told(started, ends, told):
    code = (
        f"{HEAD}with Children() as children:\n"
        f"    code = children.wait(children.start([sys.executable, '-c', 'import os, sys; {ends}']))\n"
        "    print(code, how_it_ended(code))"
    )
    process = started("-c", code)
    assert process.wait(30) == 0 and process.printed().strip() == told


@LINUX_ONLY
def test_orphans_that_have_ended_leave_no_remains(started, tmp_path):
    code = (
        f"{HEAD}import psutil\nwith Children() as children:\n"
        "    long = children.start(['sh', '-c', 'for i in 1 2 3 4 5; do setsid sleep 0.2 & done; sleep 3'])\n"
        "    short = children.start(['sh', '-c', 'setsid sleep 0.1 & exit 0'])\n"
        "    print(children.wait(long), children.wait(short))\n"
        "    print([each.status() for each in psutil.Process().children()])"
    )
    process = started("-c", code)
    assert process.wait(30) == 0 and process.printed().splitlines() == ["0 0", "[]"]


def test_a_log_that_cannot_be_written_is_one_error(started):
    code = (
        f"{HEAD}from pixelis.errors import OutputError\n"
        "Path('file').touch()\n"
        "with Children() as children:\n"
        "    try: children.start(['true'], Path('file/log.txt'))\n"
        "    except OutputError as error: print(error)"
    )
    process = started("-c", code)
    assert process.wait(30) == 0 and "cannot write to 'file/log.txt'" in process.printed()
