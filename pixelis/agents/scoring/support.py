"""Plugging shared prefixes into transformers' own models, and finding out which of them it fits.

The models' modules stay as they are: only the attention function is another one, through the interface that
transformers has for that. Whether a model is computed rightly this way is not looked up in a list of names
but tried: a few random tokens are scored both ways.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.scoring.trial import trial

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy

_LOG = logging.getLogger(__name__)
NAME = "pixelis_shared_prefix"
_EXACT, _HALF, _HALF_SHARE = 1e-4, 0.1, 1 / 64  # nats; half precision rounds a number by a share of its size
_FOREIGN = ("sliding_window", "softcap", "s_aux")  # ways to attend that are not written here


class Layout(Protocol):
    """Who sees whom."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Return [B, n, H, D] of query [B, H, n, D], key and value [B, K, n, D]."""
        ...


def _attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    layout: Layout | None = options.get("prefix_layout")
    foreign = [name for name in _FOREIGN if options.get(name) is not None]
    if layout is None or foreign or attention_mask is not None:
        raise NotImplementedError(f"shared prefixes do not fit {type(module).__name__} {foreign}")
    scaling = options.get("scaling") or query.shape[-1] ** -0.5
    dtype = query.dtype
    if query.device.type == "cpu" and dtype != torch.float32:  # batched half products are slower there
        query, key, value = query.float(), key.float(), value.float()
    return layout.attend(module.layer_idx, query, key, value, scaling).to(dtype), None


AttentionInterface.register(NAME, _attention)


@contextlib.contextmanager
def switched(base: Any) -> Iterator[None]:
    """Inside the block the model's language part attends as the layout says that its forward is given."""
    config = base.config.get_text_config(decoder=True)
    before = config._attn_implementation
    config._attn_implementation = NAME
    try:
        yield
    finally:
        config._attn_implementation = before


def fits(policy: Policy) -> bool:
    """Whether a policy's model gives the same log-probabilities with shared prefixes as without.

    A few random tokens are scored both ways. What stands against it is logged.
    """
    with trial(policy):
        problem = _problem(policy)
    if problem is not None:
        name = type(policy.base).__name__
        _LOG.warning(
            "%s does not fit the shared-prefix path; the generic path reads every episode by itself "
            "(slower): %s",
            name,
            problem,
        )
    return problem is None


@torch.no_grad()
def _problem(policy: Policy) -> str | None:
    if "position_ids" not in policy.forward_keywords:
        return "it takes no position ids"
    episodes = random_episodes(policy)
    expected = policy.padded_logprobs(episodes)
    try:
        policy.__dict__["shares_prefixes"] = True
        found = policy.logprobs(episodes)
    except Exception as error:  # whatever an architecture does not know, it can be read the plain way
        return f"{type(error).__name__}: {error}"
    finally:
        del policy.__dict__["shares_prefixes"]
    return disagreement(expected.logprobs, found.logprobs, policy.base.dtype)


def disagreement(expected: Tensor, found: Tensor, dtype: torch.dtype) -> str | None:
    """Return what is wrong if two ways to the same log-probabilities (nats) differ by more than rounding.

    In half precision a random token's logit, and with it its error, is some ten times a usual one's: the
    bound grows with the largest log-probability.
    """
    difference = float((found - expected).abs().max())
    exact = dtype in (torch.float32, torch.float64)
    bound = _EXACT if exact else _HALF + _HALF_SHARE * float(expected.abs().max())
    return None if difference <= bound else f"log-probabilities differ by {difference:.2g}"


def random_episodes(policy: Policy) -> list[Episode]:
    """Two prompts of 5 and 3 tokens, with two rests and one."""
    rng = np.random.default_rng(0)
    special = {*policy.chat.placeholder_ids, *policy.tokenizer.all_special_ids}
    ids = [index for index in range(min(len(policy.tokenizer), 2000)) if index not in special]

    def drawn(count: int) -> np.ndarray:
        return rng.choice(ids, count)

    first, second = Segment.given(drawn(5)), Segment.given(drawn(3))
    rests = [(first, 4), (first, 2), (second, 3)]
    return [
        Episode("check", 0, 0, index, [prefix, Segment.written(drawn(count))])
        for index, (prefix, count) in enumerate(rests)
    ]
