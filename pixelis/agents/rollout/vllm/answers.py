"""What a vLLM server's answers must be: anything else is its fault, so that another one is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np

from pixelis.agents.episodes.episode import FinishReason

_MOST_TOKEN = 2**31
_NO_LOGPROB = -9999.0
"""What vLLM says in the place of -inf, NaN and what it does not know."""
_SHOWN = 200
"""Characters of what a server says, in a message."""


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


def read_json(body: bytes) -> Any:
    """Return what an answer holds.

    Raises:
        ServerFault: it is no JSON, or deeper than anything that a server says.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFault("it answers something that is no JSON") from error


def checked_facts(version: Any, models: Any) -> ServerFacts:
    """Return what a server says of itself, by its answers to ``/version`` and ``/v1/models``.

    Raises:
        ServerFault: it is no vLLM server.
    """
    try:
        number, first = version["version"], models["data"][0]
        name, context = first["id"], first.get("max_model_len")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ServerFault("what answers there is no vLLM server") from error
    if not isinstance(number, str) or not isinstance(name, str):
        raise ServerFault("what answers there is no vLLM server")
    if context is not None and (type(context) is not int or context < 1):
        raise ServerFault(f"its max_model_len is no number of tokens: {words_of(repr(context))}")
    return ServerFacts(number, name, context)


def checked_choice(answer: Any, model: str) -> Mapping[str, Any]:
    """Return the completion of an answer.

    Args:
        answer: of the server.
        model: the name of who was asked.

    Raises:
        ServerFault: there is none, or another model has written it.
    """
    try:
        choice, wrote = answer["choices"][0], answer["model"]
    except (KeyError, IndexError, TypeError) as error:
        raise ServerFault("its answer holds no completion, or not by which model it is") from error
    if not isinstance(choice, Mapping) or not isinstance(wrote, str):
        raise ServerFault("its answer holds no completion, or not by which model it is")
    if wrote != model:
        raise ServerFault(f"it answers by other weights: {words_of(wrote)!r}, asked for was {model!r}")
    return choice


def checked_generated(answer: Any, model: str, prompt: Sequence[int]) -> Mapping[str, Any]:
    """Return the completion of an answer to a prompt with pictures, as `checked_choice` does.

    Args:
        answer: of the server.
        model: the name of who was asked.
        prompt: the token ids that it should have read.

    Raises:
        ServerFault: there is none, another model has written it, or it has read something else.
    """
    choice = checked_choice(answer, model)
    read = answer.get("prompt_token_ids")
    if not isinstance(read, list):
        raise ServerFault("its answer does not say which tokens it has read")
    if read != list(prompt):
        raise ServerFault(
            f"it reads pictures as other tokens ({len(read)} with the words, the model here {len(prompt)}): "
            "its image processor has other settings"
        )
    try:
        found = [each["logprob"] for each in choice["logprobs"]["content"]]
    except (KeyError, TypeError) as error:
        raise ServerFault("its answer holds no token ids, or no log-probabilities") from error
    return {**choice, "logprobs": {"token_logprobs": found}}


def checked_turn(choice: Mapping[str, Any], limit: int, stop_ids: Collection[int]) -> Completion:
    """Return the turn that a completion is.

    Args:
        choice: of the server's answer.
        limit: most tokens that it may have.
        stop_ids: tokens one of which ends a turn that is whole.

    Raises:
        ServerFault: it is no turn of at most ``limit`` tokens that ended by one of these or at the limit.
    """
    try:
        tokens, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
    except (KeyError, TypeError) as error:
        raise ServerFault("its answer holds no token ids, or no log-probabilities") from error
    if not isinstance(tokens, list) or not isinstance(logprobs, list):
        raise ServerFault("its answer holds no token ids, or no log-probabilities")
    whole = 1 <= len(tokens) <= limit and all(
        type(each) is int and 0 <= each < _MOST_TOKEN for each in tokens
    )
    if not whole or len(logprobs) != len(tokens):
        raise ServerFault(
            f"its answer is no turn of 1 to {limit} tokens ({len(tokens)} ids, {len(logprobs)} logprobs)"
        )
    found = _checked_logprobs(logprobs)
    reason: Any = choice.get("finish_reason")
    if reason not in get_args(FinishReason) or (reason == "length" and len(tokens) < limit):
        told = words_of(repr(reason)) if reason is None or isinstance(reason, str) else type(reason).__name__
        raise ServerFault(f"its answer was broken off: {told} after {len(tokens)} of {limit} tokens")
    if reason == "stop" and tokens[-1] not in stop_ids:
        raise ServerFault(f"its answer was broken off: 'stop' after token {tokens[-1]}, which ends no turn")
    return Completion(np.array(tokens, np.int64), found, reason)


def checked_scores(choice: Mapping[str, Any], tokens: Sequence[int]) -> np.ndarray:
    """Return the log-probability of each token of a prompt but the first, float32 [n - 1].

    Raises:
        ServerFault: the completion does not say them.
    """
    found: Any = choice.get("prompt_logprobs")
    try:
        pairs = zip(tokens[1:], found[1:], strict=True)
        logprobs = [each[str(token)]["logprob"] for token, each in pairs]
    except (KeyError, TypeError, ValueError) as error:
        raise ServerFault("it does not say the log-probabilities of a prompt") from error
    return _checked_logprobs(logprobs)


def words_of(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text.split())[:_SHOWN]


def _checked_logprobs(values: Sequence[Any]) -> np.ndarray:
    """Return log-probabilities, float32 [n]; rounding may put one a little above 0."""
    try:
        numbers = [float(each) if type(each) in (int, float) else math.nan for each in values]
    except OverflowError:  # an integer beyond every float
        numbers = [math.nan]
    with np.errstate(over="ignore"):
        found = np.array(numbers, np.float32)
    if not (np.isfinite(found) & (found > _NO_LOGPROB) & (found <= 1e-3)).all():
        raise ServerFault("its answer holds a log-probability that is none")
    return np.minimum(found, 0.0)
