"""What is asked of a server before it is used: its context, its model, what its log-probabilities are of."""

from __future__ import annotations

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.rollout.vllm.answers import Completion, ServerFacts, ServerFault
from pixelis.agents.rollout.vllm.client import VllmClient
from pixelis.agents.rollout.vllm.prompts import Prompt

MOST_APART = 0.25
"""Nats a token, in the mean of a text: servers that score further from us have other weights. Rounding in
half precision makes some hundredths."""
_ROUNDING = 0.1
"""Nats a token: what two computations of the same may be apart, with much to spare."""
_SCORED, _READ, _DRAWN = 64, 16, 32
_TEMPERATURE = 2.0
"""vLLM's highest, at which what is drawn from is far from what the model says."""


def check_context(facts: ServerFacts, policy: Policy) -> None:
    """Check that a server takes episodes as long as the policy's context.

    Raises:
        ServerFault: it does not.
    """
    served, wanted = facts.max_context, policy.max_context
    if served is not None and wanted is not None and served < wanted:
        raise ServerFault(
            f"vLLM {facts.version} there takes {served} tokens, the model's context is {wanted}; start it "
            f"with --max-model-len {wanted}"
        )


def check_model(client: VllmClient, name: str, policy: Policy) -> None:
    """Check that a server has the policy's base, adapter and tokens, and says what it draws from.

    Args:
        client: of the server.
        name: of the adapter, which it was given.
        policy: whose weights they are.

    Raises:
        ServerFault: it scores a text otherwise, or says log-probabilities before temperature.
    """
    ids = _text(policy)
    whole = [Segment.given(ids[:1]), Segment.written(ids[1:])]
    _check_weights(client.score(name, ids), _scored(policy, whole))
    _check_mode(client, name, policy, Segment.given(ids[:_READ]))
    if policy.chat.sees_images:
        _check_mode(client, name, policy, policy.chat.first("What is in the picture?", _picture()))


def check_tokens(turn: Completion, policy: Policy) -> None:
    """Check that a model can have written the tokens of a turn.

    Raises:
        ServerFault: one is outside its vocabulary, or stands for a picture.
    """
    if int(turn.tokens.max()) >= policy.vocabulary_size:
        raise ServerFault("its answer holds a token outside the vocabulary")
    if np.isin(turn.tokens, policy.chat.placeholder_ids).any():
        raise ServerFault("its answer holds a token that stands for a picture")


def _check_weights(theirs: np.ndarray, own: np.ndarray) -> None:
    apart = _apart(theirs, own)
    if not apart <= MOST_APART:
        raise ServerFault(
            f"its model is another one: {apart:.2f} nats a token from ours, {MOST_APART:g} are allowed"
        )


def _check_mode(client: VllmClient, name: str, policy: Policy, read: Segment) -> None:
    """Let a server draw at another temperature than 1, where its modes say other numbers."""
    settings = SamplingSettings(_TEMPERATURE)
    turn = client.complete(name, Prompt([read]), _DRAWN, settings, 0, (), policy.chat.placeholder_ids)
    check_tokens(turn, policy)
    whole = [read, Segment.written(turn.tokens)]
    drawn_from = _apart(turn.logprobs, _scored(policy, whole, _TEMPERATURE))
    raw = _apart(turn.logprobs, _scored(policy, whole))
    if raw < drawn_from and drawn_from > _ROUNDING:
        raise ServerFault(
            "its log-probabilities are those before temperature and top_p, not of what it draws from; start "
            "it with --logprobs-mode processed_logprobs"
        )
    if not drawn_from <= MOST_APART:
        place = " behind a picture" if read.images else ""
        raise ServerFault(
            f"at temperature {_TEMPERATURE:g} its log-probabilities{place} are {drawn_from:.2f} nats a token "
            f"from ours, {MOST_APART:g} are allowed"
        )


def _text(policy: Policy) -> list[int]:
    generator = np.random.default_rng(0)
    text = "Say in a few words what a look at the picture shows, then call the tool: "
    ids = [int(each) for each in policy.tokenizer(text)["input_ids"]]
    ids += generator.integers(0, policy.vocabulary_size, max(0, 16 - len(ids))).tolist()
    return ids[:_SCORED]


def _picture() -> np.ndarray:
    """Return a picture whose parts differ, uint8 [64, 96, 3]."""
    rows, columns = np.mgrid[0:64, 0:96]
    return np.stack([4 * rows, 2 * columns, 16 * ((rows // 8 + columns // 8) % 16)], axis=-1).astype(np.uint8)


@torch.no_grad()
def _scored(policy: Policy, segments: list[Segment], temperature: float = 1.0) -> np.ndarray:
    """Return the policy's log-probability of each token that was written, float32 [n]."""
    episode = Episode("", 0, 0, 0, segments)
    found = policy.logprobs([episode], temperature).logprobs[0].float().cpu().numpy()
    return found[: len(episode)][episode.loss_mask]


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mean distance of log-probabilities [n], nats."""
    return float(np.abs(one - other).mean())
