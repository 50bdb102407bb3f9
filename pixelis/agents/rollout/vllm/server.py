"""A vLLM server of the trainer's own: started when it is first needed, ended with the process, killed or not.

vLLM pins another transformers than ours, so that it lives in an environment of its own (`make vllm`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import time
from pathlib import Path

import psutil

from pixelis.agents.rollout.vllm.client import VllmClient
from pixelis.errors import ConfigError, SamplerError
from pixelis.processes import Guard, held, start

PYTHON = Path("~/.cache/pixelis/vllm/bin/python")
"""Where `make vllm` puts it."""
START_SECONDS = 600.0
GRACE_SECONDS = 10.0
_MISSING = "ModuleNotFoundError: "


class VllmServer:
    """A server on 127.0.0.1.

    Args:
        python: the interpreter that has vLLM.
        model: folder or hub id of the base model.
        dtype: of the weights.
        rank: of the adapters.
        max_context: tokens of prompt and turn together; None: the model's.
        sees_images: whether it is sent pictures.
        log: file for what it says.

    Attributes:
        url: its address.

    Raises:
        ConfigError: there is no such interpreter.
        OutputError: the log cannot be written.
        SamplerError: it does not start.
    """

    def __init__(
        self,
        python: Path,
        model: str,
        *,
        dtype: str,
        rank: int,
        max_context: int | None,
        sees_images: bool = False,
        log: Path,
    ) -> None:
        if not python.is_file():
            raise ConfigError(
                f"sampler vllm: there is no Python at {str(python)!r}; `make vllm` makes one, "
                "--sampler.python names another, --sampler.urls says where servers run already"
            )
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        words = [str(python), "-m", "vllm.entrypoints.openai.api_server"]
        words += flags(model, port, dtype, rank, max_context)
        words += PICTURES if sees_images else []
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        with held():
            self._process = start(
                words, log, environment={**os.environ, **ENVIRONMENT, "OMP_NUM_THREADS": threads}
            )
            self._guard = Guard(self._process.pid)
            atexit.register(self.close)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server and everything below it."""
        atexit.unregister(self.close)
        try:
            parent = psutil.Process(self._process.pid)
            family = [*parent.children(recursive=True), parent]
        except psutil.Error:
            family = []
        for number in (signal.SIGTERM, signal.SIGKILL):
            for each in family:
                with contextlib.suppress(psutil.Error):
                    each.send_signal(number)
            _, family = psutil.wait_procs(family, GRACE_SECONDS)
        self._guard.close()  # a server that was just starting may have had children since
        self._process.wait()

    def _wait(self) -> None:
        client, until = VllmClient(self.url, START_SECONDS), time.monotonic() + START_SECONDS
        with contextlib.closing(client):
            while not client.is_up():
                if (code := self._process.poll()) is not None:
                    raise SamplerError(f"the vLLM server did not start (exit code {code}): {self._said()}")
                if time.monotonic() > until:
                    raise SamplerError(f"the vLLM server is not up after {START_SECONDS:g} s: {self._said()}")
                time.sleep(0.5)

    def _said(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        # Of several errors a missing package is the reason; what follows from it says less.
        errors = [line[line.find(_MISSING) :] for line in lines if _MISSING in line]
        errors = (
            errors or [line for line in lines if "Error" in line] or [line for line in lines if line.strip()]
        )
        return f"{errors[-1].strip()[:200] if errors else 'it said nothing'}; its log is {self.log}"


ENVIRONMENT = {
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else it takes a core that may be busy
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
"""Of a server; what it reads of a CPU it ignores elsewhere."""


PICTURES = ["--enable-scale-out"]
"""Further words for a model that sees: the server then takes pictures among token ids."""


def flags(model: str, port: int, dtype: str, rank: int, max_context: int | None) -> list[str]:
    """Return the words that a server is started with, for one of one's own too (docs/guide/scaling.md)."""
    # Log-probabilities are those of what is drawn from: after temperature and nucleus.
    drawn = ["--logprobs-mode", "processed_logprobs"]
    drawn += ["--generation-config", "vllm"]  # no top_k or penalty that the model's own file says
    adapters = ["--enable-lora", "--max-lora-rank", str(rank), "--max-loras", "2"]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    # On a CPU a request with a seed ends the engine when its prompt is read in parts (0.32: the seed's
    # generator is asked for an offset, which those of a CPU do not have).
    whole = ["--no-enable-chunked-prefill", "--max-num-batched-tokens", str(max(8192, max_context or 0))]
    if max_context is not None:
        whole += ["--max-model-len", str(max_context)]
    return ["--model", model, *where, "--dtype", dtype, "--enforce-eager", *adapters, *drawn, *whole]
