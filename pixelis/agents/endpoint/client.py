"""What is asked of the server: chat completions, by OpenAI's own library, which waits and asks again.

Source: OpenAI's reference of ``/v1/chat/completions``, which vLLM, SGLang, llama.cpp and others serve too.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pixelis.agents.endpoint.address import Address
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.endpoint import EndpointSettings
from pixelis.envs.spaces import clean_text
from pixelis.errors import ConfigError, EndpointError, MissingDependencyError

_FULL = re.compile(r"context.{0,40}(length|window|size)|too long|too many (input )?tokens", re.I)
_AT_FIRST = (400, 403, 404, 422)
"""Statuses of a wrong name or kind of request until a turn was given; later what was said may be why."""


class TurnFault(Exception):
    """The server gave no turn for this conversation; the message says why."""


class ContextFull(Exception):
    """The conversation is longer than what the model reads."""


@dataclass(frozen=True)
class NativeCall:
    """A tool call of the server's own form.

    Attributes:
        id: by which its result is told.
        name: of the tool.
        arguments: as it wrote them, which should be JSON.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """A turn of the model.

    Attributes:
        text: what it said.
        calls: the tools it called.
        cut: whether the limit of tokens ended it.
    """

    text: str
    calls: tuple[NativeCall, ...] = ()
    cut: bool = False


@dataclass
class Usage:
    """What was asked so far.

    Attributes:
        requests: turns that were given.
        tokens_in: read, as the server counts.
        tokens_out: written, likewise.
        uncounted: requests of which the server did not say its tokens.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0

    def dollars(self, settings: EndpointSettings) -> float:
        """Return the cost by the prices of the settings."""
        return (self.tokens_in * settings.price_in + self.tokens_out * settings.price_out) / 1e6

    def to_json(self, settings: EndpointSettings) -> dict[str, Any]:
        """Return the counts and the cost."""
        return {**asdict(self), "dollars": self.dollars(settings)}


class ChatClient:
    """Asks one model for turns, from many threads.

    Args:
        address: where it is.
        settings: how it is asked.

    Attributes:
        usage: what was asked so far.

    Raises:
        ConfigError: the key is missing, and the server is on another machine.
        MissingDependencyError: ``openai`` is not installed.
    """

    def __init__(self, address: Address, settings: EndpointSettings) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingDependencyError(
                "a model at an address needs openai; install it with pip install 'pixelis[openai]'"
            ) from error
        key = os.environ.get(settings.key_env, "")
        if not key and not address.is_this_machine:
            raise ConfigError(
                f"{address.url} wants a key: set the environment variable {settings.key_env}, or name "
                "another one with endpoint.key_env"
            )
        self._openai, self._address, self._settings, self._key = openai, address, settings, key
        self._client = openai.OpenAI(
            base_url=address.url,
            api_key=key or "none",
            max_retries=settings.retries,
            timeout=settings.timeout_seconds,
        )
        self._lock, self._next = threading.Lock(), 0.0
        self.usage = Usage()

    def turn(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        settings: SamplingSettings,
        seed: int,
    ) -> Said:
        """Return the next turn of a conversation.

        Args:
            messages: of the conversation, in OpenAI's form.
            tools: schemas of native tools; none: it has none.
            settings: how to sample.
            seed: of the sampling, for servers that heed it.

        Raises:
            EndpointError: the server refuses in a way that holds for all turns.
            ContextFull: the conversation is too long for it.
            TurnFault: it gives none for another reason.
        """
        self._wait()
        try:
            answer = self._client.chat.completions.create(
                model=self._address.model,
                messages=[*messages],  # type: ignore[list-item]  # they are of OpenAI's form
                extra_body=self._body(tools, settings, seed),
            )
        except self._openai.APIStatusError as error:
            raise self._refused(error.status_code, error.message) from None  # the cause may hold the key
        except (self._openai.OpenAIError, ValueError) as error:
            said = self._plain(str(error)) or type(error).__name__
            raise TurnFault(f"{self._address.url} gave no answer: {said}") from None
        return self._read(answer)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # ------------------------------------------------------------------ private

    def _body(
        self, tools: Sequence[Mapping[str, Any]], settings: SamplingSettings, seed: int
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"max_tokens": settings.max_new_tokens, "temperature": 0.0}
        if not settings.greedy:
            body |= {"temperature": settings.temperature, "seed": seed}
            body |= {} if settings.top_p == 1 else {"top_p": settings.top_p}
        if tools:
            body["tools"] = [*tools]
        body |= self._settings.body
        return {name: value for name, value in body.items() if value is not None}

    def _wait(self) -> None:
        """Keep to the limit of turns a minute."""
        if self._settings.requests_per_minute is None:
            return
        with self._lock:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 60 / self._settings.requests_per_minute
        time.sleep(mine - now)

    def _refused(self, status: int, message: str) -> Exception:
        said = f"{self._address.url} answers {status}: {self._plain(message)}"
        if status in (400, 413, 422) and _FULL.search(message):
            return ContextFull(said)
        if status == 401 or (status in _AT_FIRST and not self.usage.requests):
            return EndpointError(f"{said}; asked was the model {self._address.model!r}")
        return TurnFault(said)

    def _plain(self, text: str) -> str:
        text = " ".join(text.split())
        return (text.replace(self._key, "…") if self._key else text)[:300]

    def _read(self, answer: Any) -> Said:
        try:
            choice = answer.choices[0]
            found = choice.message
            calls = tuple(
                NativeCall(
                    str(each.id or f"call_{index}"),
                    clean_text(each.function.name),
                    clean_text(each.function.arguments),
                )
                for index, each in enumerate(found.tool_calls or ())
            )
            # Half a character, which JSON can hold, could not be sent back.
            said = Said(clean_text(found.content or ""), calls, choice.finish_reason == "length")
        except (AttributeError, IndexError, TypeError):
            raise TurnFault(f"what {self._address.url} answers is no chat completion") from None
        self._count(getattr(answer, "usage", None))
        return said

    def _count(self, usage: Any) -> None:
        read, written = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        with self._lock:
            self.usage.requests += 1
            if isinstance(read, int) and isinstance(written, int):
                self.usage.tokens_in += read
                self.usage.tokens_out += written
            else:
                self.usage.uncounted += 1
