"""Start Python with the libraries imported: a process of its own for each command, in milliseconds.

Importing torch and transformers takes more CPU time than what most tests of commands look at. The server does
it once, then forks for each request. The child takes over files, folder, environment and words, imports
Pixelis (the server never does) and ends as every script does, or by a signal. Where the start itself matters,
as for signals that come early, or where processes must agree although each has its own hash seed, tests start
Python afresh.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import time
import types
import warnings
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = (
    "cv2",
    "gymnasium",
    "peft",
    "rich",
    "scipy.optimize",
    "tensorboard",
    "torch.utils.tensorboard",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.processing_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.qwen2.modeling_qwen2",
)
SECONDS = 280


class WarmPython:
    """The caller's side: ``run`` does what ``subprocess.run`` does for ``python script words``."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._number = 0

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], typed: str
    ) -> tuple[int, str, str]:
        """Run a script, ``-m module`` or ``-c code``, to its end; return its exit code, output and errors."""
        process = self.start(words, folder, environment, typed)
        out, err = process.communicate()
        assert process.returncode is not None
        return process.returncode, out, err

    def start(
        self, words: list[str], folder: Path, environment: dict[str, str], typed: str = ""
    ) -> WarmProcess:
        """Start a script, ``-m module`` or ``-c code``; ``-W error`` may come before it."""
        self._number += 1
        ends = ("stdin", "stdout", "stderr")
        files = [folder.parent / f"{folder.name}.{self._number}.{name}" for name in ends]
        files[0].write_text(typed)
        request = {
            "words": words,
            "folder": str(folder),
            "files": [*map(str, files)],
            "environment": environment,
        }
        return WarmProcess(self, self.ask(request), files[1:])

    def ask(self, request: dict[str, Any]) -> Any:
        """Return the server's answer."""
        assert self.server.stdin is not None and self.server.stdout is not None
        print(json.dumps(request), file=self.server.stdin, flush=True)
        try:
            return json.loads(self.server.stdout.readline())
        except BaseException:  # the test's time is up: its command must not answer the next one
            os.killpg(self.server.pid, signal.SIGKILL)
            warm_python.cache_clear()
            raise


class WarmProcess:
    """A process that was started warm; as `subprocess.Popen`, with files for its output."""

    def __init__(self, python: WarmPython, pid: int, files: list[Path]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._python, self._files = python, files

    @property
    def printed(self) -> str:
        """What has been printed so far."""
        return self._files[0].read_text() if self._files[0].exists() else ""

    def poll(self) -> int | None:
        """Return the exit code, None while there is none."""
        return self._wait("poll")

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process was waited for."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; return what was printed.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        if timeout is None:
            self._wait("wait")
        else:
            deadline = time.monotonic() + timeout
            while self.poll() is None:
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout)
                time.sleep(0.02)
        out, err = (file.read_text() for file in self._files)
        return out, err

    def _wait(self, how: str) -> int | None:
        if self.returncode is None:
            self.returncode = self._python.ask({how: self.pid})
        return self.returncode


@cache
def warm_python() -> WarmPython:
    """Return the server of this process, which ends with it."""
    python = WarmPython()
    atexit.register(python.server.communicate)
    return python


def _serve() -> dict[str, Any] | None:
    """Answer requests; return in a child, with its request, or at the end of input."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        request, answer = json.loads(line), None
        if "words" in request:
            child = os.fork()
            if not child:
                return request
            answer = child
        else:
            ((how, child),) = request.items()
            child, status = os.waitpid(child, os.WNOHANG if how == "poll" else 0)
            answer = os.waitstatus_to_exitcode(status) if child else None
        print(json.dumps(answer), file=answers, flush=True)
    return None


def _become(request: dict[str, Any], library_path: list[str]) -> None:
    """Run the script of a request as ``__main__``."""
    words = request["words"]
    if words[0] == "-W":
        sys.warnoptions.append(words[1])
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        words = words[2:]
    for number, (name, flags) in enumerate(
        zip(request["files"], (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2), strict=True)
    ):
        os.dup2(os.open(name, flags, 0o644), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    has_file = words[0] not in ("-c", "-m")
    sys.argv = words if has_file else words[1:] if words[0] == "-m" else ["-c", *words[2:]]
    first = str(Path(words[0]).parent) if has_file else os.getcwd()
    sys.path = [first, *os.environ["PYTHONPATH"].split(os.pathsep), *library_path]
    random.seed()
    signal.alarm(SECONDS)
    if has_file:
        runpy.run_path(words[0], run_name="__main__")
    elif words[0] == "-m":
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), vars(main))


if __name__ == "__main__":
    for _name in LIBRARIES:
        importlib.import_module(_name)
    gc.freeze()
    if _request := _serve():
        _become(_request, sys.path[1:])
