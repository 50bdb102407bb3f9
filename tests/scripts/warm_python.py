"""Start Python with the libraries imported: a process of its own for each command, in milliseconds.

Importing torch and transformers takes more CPU time than what most tests of commands look at. The server does
it once, then forks for each request. The child takes over files, folder, environment and words, imports
Pixelis (the server never does) and ends as every script does. Where the start itself matters, as for signals,
or where processes must agree although each has its own hash seed, tests start Python afresh.
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

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], typed: str
    ) -> tuple[int, str, str]:
        """Run a script to its end; return its exit code, output and errors."""
        assert self.server.stdin is not None and self.server.stdout is not None
        files = [folder.parent / f"{folder.name}.{name}" for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(typed)
        request = {
            "words": words,
            "folder": str(folder),
            "files": [*map(str, files)],
            "environment": environment,
        }
        print(json.dumps(request), file=self.server.stdin, flush=True)
        try:
            code = int(self.server.stdout.readline())
        except BaseException:  # the test's time is up: its command must not answer the next one
            os.killpg(self.server.pid, signal.SIGKILL)
            warm_python.cache_clear()
            raise
        return code, files[1].read_text(), files[2].read_text()


@cache
def warm_python() -> WarmPython:
    """Return the server of this process, which ends with it."""
    python = WarmPython()
    atexit.register(python.server.communicate)
    return python


def _serve() -> dict[str, Any] | None:
    """Answer requests with exit codes; return in a child, with its request, or at the end of input."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        child = os.fork()
        if not child:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    return None


def _become(request: dict[str, Any], library_path: list[str]) -> None:
    """Run the script of a request as ``__main__``."""
    script, *words = request["words"]
    for number, (name, flags) in enumerate(
        zip(request["files"], (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2), strict=True)
    ):
        os.dup2(os.open(name, flags, 0o644), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [script, *words]
    sys.path = [str(Path(script).parent), *os.environ["PYTHONPATH"].split(os.pathsep), *library_path]
    random.seed()
    signal.alarm(SECONDS)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    for _name in LIBRARIES:
        importlib.import_module(_name)
    gc.freeze()
    if _request := _serve():
        _become(_request, sys.path[1:])
