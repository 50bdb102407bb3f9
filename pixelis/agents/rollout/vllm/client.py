"""What is asked of a vLLM server: completions with token ids in and out, and pictures among them.

Source: vLLM's documentation of the OpenAI-compatible server and of LoRA adapters, and what its server says of
the requests that it takes (``/openapi.json``, for ``/inference/v1/generate``), version 0.32.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.addresses import is_this_machine, without_secrets
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.rollout.vllm.answer_deadline import AnswerDeadline
from pixelis.agents.rollout.vllm.answers import (
    Completion,
    ServerFacts,
    ServerFault,
    checked_choice,
    checked_facts,
    checked_generated,
    checked_scores,
    checked_turn,
    read_json,
    words_of,
)
from pixelis.agents.rollout.vllm.prompts import Prompt
from pixelis.errors import ConfigError, MissingDependencyError

CONNECT_SECONDS = 10.0
_MOST_BYTES, _BYTES_A_TOKEN = 2**20, 2**12
"""Of an answer, and more for each token of prompt and turn; vLLM takes some hundred for one."""
_NEUTRAL = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""What changes nothing; where it is not said, the generation_config.json of a server's model decides."""
_NOT_FOUND = "it answers 404"
_NO_PICTURES = ("it answers 403:", 'it answers 404: {"detail"')
"""How it begins to say that it has no way to send them: its own answer, and that of a server without it."""
_NEVER = -100.0
"""Added to the logit of a token that nobody may draw: the least that completions allow."""


class VllmClient:
    """Speaks to one server.

    Args:
        url: its address, such as ``http://127.0.0.1:8000``; it may hold user and password.
        timeout_seconds: the longest wait for a whole answer.

    Attributes:
        url: see there.
        shown: the address without user and password, for messages.

    Raises:
        ConfigError: the address is none.
        MissingDependencyError: ``httpx`` is not installed.
    """

    def __init__(self, url: str, timeout_seconds: float) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingDependencyError(
                "sampler vllm needs httpx; install it with pip install 'pixelis[vllm]'"
            ) from error
        self.url, self.shown = url.rstrip("/"), without_secrets(url.rstrip("/"))
        self._seconds, self._failures = timeout_seconds, (httpx.HTTPError, httpx.InvalidURL)
        try:
            whole = httpx.URL(self.url)
            # httpx logs addresses as they are, so that what is secret is kept out of its own.
            base, name = whole.copy_with(userinfo=b""), (whole.username, whole.password)
        except httpx.InvalidURL:
            raise ConfigError(f"sampler.urls: {self.shown!r} is no address of a server") from None
        self._http = httpx.Client(
            base_url=base,
            auth=name if any(name) else None,
            headers={"Accept-Encoding": "identity"},  # bytes are counted as they come
            timeout=httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),  # see `AnswerDeadline`
            trust_env=not is_this_machine(base.host),  # a proxy would look for this machine at its own place
        )

    def is_up(self) -> bool:
        """Return whether it answers at all."""
        try:
            return self._fetch("GET", "/health", None, _MOST_BYTES, CONNECT_SECONDS)[0] == 200
        except ServerFault:
            return False

    def facts(self) -> ServerFacts:
        """Return what it says of itself.

        Raises:
            ServerFault: nobody answers, or something else than vLLM does.
        """
        try:
            version, models = self._ask("GET", "/version"), self._ask("GET", "/v1/models")
        except ServerFault as fault:
            if str(fault).startswith(_NOT_FOUND):
                raise ServerFault(f"{_NOT_FOUND}: what answers there is no vLLM server") from None
            raise
        return checked_facts(read_json(version), read_json(models))

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
        prompt: Prompt,
        limit: int,
        settings: SamplingSettings,
        seed: int,
        stop_ids: Collection[int],
        forbidden: Collection[int] = (),
    ) -> Completion:
        """Return a turn by the model of a name, which is that of an adapter.

        Args:
            model: the name.
            prompt: what it follows.
            limit: most tokens of the turn.
            settings: how to draw.
            seed: of the draws.
            stop_ids: tokens that end it; none: it has ``limit`` tokens.
            forbidden: tokens that it may not have: placeholders of pictures.

        Raises:
            ServerFault: it gives none, reads another prompt, or says that another model wrote it.
        """
        drawn = {
            "max_tokens": limit,
            "temperature": 0.0 if settings.greedy else settings.temperature,
            "top_p": settings.top_p,
            **_NEUTRAL,
            "seed": seed,
            "stop_token_ids": sorted(stop_ids),
            "ignore_eos": not stop_ids,
            "logprobs": 0,
            "skip_special_tokens": False,
        }
        if forbidden:
            drawn["logit_bias"] = {str(each): _NEVER for each in forbidden}
        told = {"model": model, "return_token_ids": True}
        if prompt.pictures:
            choice = self._generated({**told, "sampling_params": drawn}, prompt, limit)
        else:
            choice = self._choice({**told, "prompt": prompt.tokens, **drawn}, len(prompt) + limit)
        return checked_turn(choice, limit, stop_ids)

    def score(self, model: str, tokens: Sequence[int]) -> np.ndarray:
        """Return the log-probability of each token but the first given those before it, float32 [n - 1].

        Raises:
            ServerFault: it gives none.
        """
        body = {"model": model, "prompt": list(tokens), "max_tokens": 1, "prompt_logprobs": 0}
        return checked_scores(self._choice(body, len(tokens) + 1), tokens)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # ------------------------------------------------------------------ private

    def _choice(self, body: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
        answer = self._ask("POST", "/v1/completions", body, _MOST_BYTES + _BYTES_A_TOKEN * tokens)
        return checked_choice(read_json(answer), body["model"])

    def _generated(self, body: Mapping[str, Any], prompt: Prompt, limit: int) -> Mapping[str, Any]:
        parts = [{"type": "image_url", "url": each} for each in prompt.pictures]
        whole = {**body, "token_ids": prompt.shown, "content_parts": parts}
        most = _MOST_BYTES + _BYTES_A_TOKEN * (len(prompt) + limit)
        try:
            answer = self._ask("POST", "/inference/v1/generate", whole, most)
        except ServerFault as fault:
            if str(fault).startswith(_NO_PICTURES):
                raise ServerFault(
                    "it takes no pictures among token ids; start vLLM, 0.32 or later, with --enable-scale-out"
                ) from None
            raise
        return checked_generated(read_json(answer), body["model"], prompt.tokens)

    def _ask(self, method: str, path: str, body: Any = None, most: int = _MOST_BYTES) -> bytes:
        status, answer = self._fetch(method, path, body, most, self._seconds)
        if status != 200:
            raise ServerFault(f"it answers {status}: {words_of(answer.decode(errors='replace'))}")
        return answer

    def _fetch(self, method: str, path: str, body: Any, most: int, seconds: float) -> tuple[int, bytes]:
        """Return the status and the body of an answer, of at most so many bytes and seconds."""
        found = bytearray()
        with AnswerDeadline(seconds) as deadline:
            try:
                traced = {"trace": deadline.watch}
                with self._http.stream(method, path, json=body, extensions=traced) as answer:
                    for part in answer.iter_raw():
                        found += part
                        if len(found) > most:
                            raise ServerFault(f"its answer is longer than {most} bytes")
            except self._failures as error:
                if deadline.is_over:
                    raise ServerFault(f"it has given no whole answer in {seconds:g} s") from error
                raise ServerFault(f"{type(error).__name__} ({str(error) or 'no answer in time'})") from error
            if deadline.is_over:  # what ends with the connection looks whole when that is cut
                raise ServerFault(f"it has given no whole answer in {seconds:g} s")
        return answer.status_code, bytes(found)
