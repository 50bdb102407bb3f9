"""What is asked of a vLLM server: its OpenAI-compatible completions, with token ids in and out.

Source: vLLM's documentation of the OpenAI-compatible server and of LoRA adapters, version 0.32.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from pixelis.agents.episodes.episode import FinishReason
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import MissingDependencyError

CONNECT_SECONDS = 10.0


class ServerFault(Exception):
    """A server is gone, late, or answers what is no answer; the message says which, in some words."""


@dataclass(frozen=True)
class ServerFacts:
    """What a server says of itself.

    Attributes:
        version: of vLLM.
        model: the name under which it serves its base model.
        max_context: tokens of prompt and turn together; None where it does not say.
    """

    version: str
    model: str
    max_context: int | None


class Completion(NamedTuple):
    """A turn that a server has written.

    Attributes:
        tokens: int64 [n].
        logprobs: float32 [n], of what drew them.
        finish_reason: why it ended, as the server says.
    """

    tokens: np.ndarray
    logprobs: np.ndarray
    finish_reason: FinishReason


class VllmClient:
    """Speaks to one server.

    Args:
        url: its address, such as ``http://127.0.0.1:8000``.
        timeout_seconds: the longest wait for an answer.

    Attributes:
        url: see there.

    Raises:
        MissingDependencyError: ``httpx`` is not installed.
    """

    def __init__(self, url: str, timeout_seconds: float) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingDependencyError(
                "sampler vllm needs httpx; install it with pip install 'pixelis[vllm]'"
            ) from error
        self.url = url.rstrip("/")
        self._failures = (httpx.HTTPError, httpx.InvalidURL)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        timeout = httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        self._http = httpx.Client(base_url=self.url, timeout=timeout, limits=limits)

    def is_up(self) -> bool:
        """Return whether it answers at all."""
        try:
            return self._http.get("/health", timeout=CONNECT_SECONDS).status_code == 200
        except self._failures:
            return False

    def facts(self) -> ServerFacts:
        """Return what it says of itself.

        Raises:
            ServerFault: nobody answers, or something else than vLLM does.
        """
        try:
            version = self._ask("GET", "/version")["version"]
            first = self._ask("GET", "/v1/models")["data"][0]
            return ServerFacts(str(version), str(first["id"]), first.get("max_model_len"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ServerFault("what answers there is no vLLM server") from error

    def load_adapter(self, name: str, folder: Path) -> None:
        """Let it serve an adapter in a folder that it can read.

        Raises:
            ServerFault: it cannot.
        """
        self._ask("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})

    def unload_adapter(self, name: str) -> None:
        """Let it forget an adapter.

        Raises:
            ServerFault: it does not know it, or is gone.
        """
        self._ask("POST", "/v1/unload_lora_adapter", {"lora_name": name})

    def complete(
        self,
        model: str,
        prompt: Sequence[int],
        limit: int,
        settings: SamplingSettings,
        seed: int,
        stop_ids: Collection[int],
    ) -> Completion:
        """Return a turn by the model of a name, which is that of an adapter.

        Raises:
            ServerFault: it gives none, or says that another model wrote it.
        """
        body = {
            "model": model,
            "prompt": list(prompt),
            "max_tokens": limit,
            "temperature": 0.0 if settings.greedy else settings.temperature,
            "top_p": settings.top_p,
            "seed": seed,
            "stop_token_ids": sorted(stop_ids),
            "logprobs": 0,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        return checked_turn(self._choice(body), limit)

    def score(self, model: str, tokens: Sequence[int]) -> np.ndarray:
        """Return the log-probability of each token but the first given those before it, float32 [n - 1].

        Raises:
            ServerFault: it gives none.
        """
        body = {"model": model, "prompt": list(tokens), "max_tokens": 1, "prompt_logprobs": 0}
        found: Any = self._choice(body).get("prompt_logprobs")
        try:
            pairs = zip(tokens[1:], found[1:], strict=True)
            return np.array([each[str(token)]["logprob"] for token, each in pairs], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ServerFault("it does not say the log-probabilities of a prompt") from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # ------------------------------------------------------------------ private

    def _choice(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._ask("POST", "/v1/completions", body)
        try:
            choice, model = answer["choices"][0], answer["model"]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerFault("its answer holds no completion, or not by which model it is") from error
        if model != body["model"]:
            raise ServerFault(f"it answers by other weights: {model!r}, asked for was {body['model']!r}")
        return choice

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            answer = self._http.request(method, path, json=body)
        except self._failures as error:
            raise ServerFault(f"{type(error).__name__} ({str(error) or 'no answer in time'})") from error
        if answer.status_code != 200:
            raise ServerFault(f"it answers {answer.status_code}: {_words_of(answer.text)}")
        if path.endswith("lora_adapter"):  # the answer is a sentence
            return answer.text
        try:
            return answer.json()
        except ValueError as error:
            raise ServerFault("it answers something that is no JSON") from error


def checked_turn(choice: Mapping[str, Any], limit: int) -> Completion:
    """Return the turn that a completion is.

    Raises:
        ServerFault: they are no turn of at most ``limit`` tokens.
    """
    try:
        tokens = np.asarray(choice["token_ids"])
        logprobs = np.asarray(choice["logprobs"]["token_logprobs"], dtype=np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise ServerFault("its answer holds no token ids, or no log-probabilities") from error
    whole = tokens.ndim == 1 and 1 <= len(tokens) <= limit and tokens.dtype.kind == "i" and tokens.min() >= 0
    if not whole or logprobs.shape != tokens.shape:
        raise ServerFault(
            f"its answer is no turn of 1 to {limit} tokens ({tokens.size} ids, {logprobs.size} logprobs)"
        )
    if not all(math.isfinite(each) and each <= 1e-3 for each in logprobs.tolist()):
        raise ServerFault("its answer holds a log-probability that is none")
    reason: Any = choice.get("finish_reason")
    if reason not in get_args(FinishReason) or (reason == "length" and len(tokens) < limit):
        raise ServerFault(f"its answer was broken off: {reason!r} after {len(tokens)} of {limit} tokens")
    return Completion(tokens.astype(np.int64), np.minimum(logprobs, 0.0), reason)


def _words_of(text: str) -> str:
    return " ".join(text.split())[:200]
