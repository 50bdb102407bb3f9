"""How tokens are drawn, and what a collection of episodes counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from pixelis.errors import ConfigError

_LEAST_LOGPROB = -1e4
"""In an entropy, where a token of probability 0 adds nothing."""


@dataclass(frozen=True)
class SamplingSettings:
    """How tokens are drawn.

    Attributes:
        temperature: > 0; logits are divided by it.
        top_p: in (0, 1]; only the smallest set of tokens with this much probability can be drawn. The
            recorded log-probability stays that of the *untruncated* distribution at ``temperature``, which is
            the one a trainer can score, unless ``record_kept`` says otherwise.
        max_new_tokens: per turn, at least 1; a turn that reaches it is cut off and handed to the env as it
            is.
        greedy: take the most probable token; ``temperature`` then only matters for the recorded
            log-probabilities.
        record_kept: record the log-probability of the distribution that was really drawn from, the one over
            the tokens that ``top_p`` kept. An off-policy correction needs that.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_new_tokens: int = 128
    greedy: bool = False
    record_kept: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.temperature > 0:
            raise ConfigError(
                f"temperature must be > 0, got {self.temperature}; use greedy for the most probable token"
            )
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be in (0, 1], got {self.top_p}")
        if self.max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")


@dataclass
class RolloutStats:
    """Counters of one collection.

    Attributes:
        episodes: how many were asked for.
        failed_episodes: those that are not valid for training.
        timeouts: those of them whose env did not answer in time.
        turns: env steps.
        prefilled_tokens: tokens the model read (prompts once per group, what different prompts begin with
            once, observations, re-reading if it cannot cache).
        generated_tokens: tokens the policy sampled.
        forks: observations appended although the chat template would have rewritten what came before.
        generation_seconds: wall time in the model, tokenising included.
        env_seconds: wall time in env resets and steps.
        reward_seconds: wall time in reward terms.
    """

    episodes: int = 0
    failed_episodes: int = 0
    timeouts: int = 0
    turns: int = 0
    prefilled_tokens: int = 0
    generated_tokens: int = 0
    forks: int = 0
    generation_seconds: float = 0.0
    env_seconds: float = 0.0
    reward_seconds: float = 0.0


class Draw(NamedTuple):
    """What `draw` returns of R rows.

    Attributes:
        tokens: int64 [R].
        logprobs: float32 [R], of the tokens under softmax(logits), not truncated by ``top_p`` unless
            ``record_kept``.
        entropies: float32 [R], of softmax(logits) in nats, never truncated.
    """

    tokens: torch.Tensor
    logprobs: torch.Tensor
    entropies: torch.Tensor


def draw(
    logits: torch.Tensor,
    uniforms: torch.Tensor,
    *,
    top_p: float = 1.0,
    greedy: bool = False,
    record_kept: bool = False,
) -> Draw:
    """Draw one token a row by inverting the cumulative distribution.

    token = min{k : F(k) > u F(V-1)} with F the cumulative probability over token ids, so a row's token
    depends on its own logits and its own uniform number alone, and a token of probability 0 is never drawn.

    Args:
        logits: float32 [R, V], already divided by the temperature.
        uniforms: float64 [R] in [0, 1); not read when ``greedy``.
        top_p: see `SamplingSettings`.
        greedy: take the most probable token.
        record_kept: see `SamplingSettings`.
    """
    logprobs = torch.log_softmax(logits, dim=-1)
    weights = logprobs.exp()
    entropies = -(weights * logprobs.clamp(min=_LEAST_LOGPROB)).sum(-1)
    if greedy:
        tokens = logprobs.argmax(-1, keepdim=True)
    else:
        if top_p < 1.0:
            weights = _nucleus(weights, top_p)
        cumulative = weights.cumsum(-1, dtype=torch.float64)
        target = uniforms[:, None] * cumulative[:, -1:]
        # u * total can round up to the total itself; the last token that adds probability is then the answer.
        target = torch.minimum(target, torch.nextafter(cumulative[:, -1:], torch.zeros_like(target)))
        # NaN logits point behind the last token; the caller sees their NaN log-probability.
        tokens = torch.searchsorted(cumulative, target, right=True).clamp_(max=logits.shape[-1] - 1)
        if record_kept and top_p < 1.0:
            logprobs = logprobs - cumulative[:, -1:].log().to(logprobs.dtype)
    return Draw(tokens[:, 0], logprobs.gather(-1, tokens)[:, 0], entropies)


def _nucleus(weights: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zero all but the most probable tokens, which together reach ``top_p``."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    kept = torch.where(before < top_p, ordered, torch.zeros_like(ordered))
    return torch.zeros_like(weights).scatter(-1, order, kept)
