"""Decoding without keys and values: for models whose cache is not what transformers' usual one is.

Recurrent models keep a state of their own under a name of their own; handed the usual cache they take it in
silence and read each new token as if nothing stood before it. As with shared prefixes, nothing is looked up
in a list of names: a few random tokens are decoded with the cache and compared with a forward of the whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Segment, join_images
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import RolloutStats
from pixelis.agents.scoring.support import disagreement, random_episodes
from pixelis.agents.scoring.trial import trial

if TYPE_CHECKING:
    from pixelis.agents.rollout.decoding import Memory

_LOG = logging.getLogger(__name__)
_KNOWN: WeakKeyDictionary[Policy, bool] = WeakKeyDictionary()


def caches(policy: Policy, memory: Callable[[Policy, RolloutStats], Memory]) -> bool:
    """Whether a policy's model decodes rightly with a memory that relies on the usual cache.

    What stands against it is logged, once for a policy.

    Args:
        policy: whose model is tried.
        memory: makes the memory to be tried.
    """
    if policy not in _KNOWN:
        with trial(policy):
            problem = _problem(policy, memory(policy, RolloutStats()))
        if problem is not None:
            name = type(policy.base).__name__
            _LOG.warning(
                "%s cannot be decoded with transformers' usual cache, every new token reads all before it "
                "(much slower): %s",
                name,
                problem,
            )
        _KNOWN[policy] = problem is None
    return _KNOWN[policy]


@torch.inference_mode()
def _problem(policy: Policy, memory: Memory) -> str | None:
    episodes = random_episodes(policy)
    expected = policy.padded_logprobs(episodes)
    rests = [episode.segments[1] for episode in episodes]
    found = torch.zeros_like(expected.logprobs)
    ends = torch.tensor([len(rest) for rest in rests], device=policy.device)
    starts = torch.tensor([len(episode.segments[0]) for episode in episodes], device=policy.device)
    try:
        logits = memory.start([episode.segments[0] for episode in episodes], [1] * len(episodes))
        for column in range(int(ends.max())):
            chosen = [int(rest.tokens[min(column, len(rest) - 1)]) for rest in rests]
            tokens = torch.tensor(chosen, device=policy.device)
            scores = torch.log_softmax(policy.scaled(logits, 1.0), -1)
            for row in (ends > column).nonzero()[:, 0].tolist():
                found[row, starts[row] + column] = scores[row, tokens[row]]
            logits = memory.step(tokens, ends > column + 1)
    except Exception as error:  # whatever an architecture does not know, it can be read the plain way
        return f"{type(error).__name__}: {error}"
    return disagreement(expected.logprobs, found, policy.base.dtype)


class UncachedMemory:
    """Nothing is kept but the tokens: each call of the model reads every row from its start.

    Rows are padded on the right, where no causal model looks, recurrent or not.
    """

    def __init__(self, policy: Policy, stats: RolloutStats) -> None:
        self._policy, self._stats = policy, stats

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> Tensor:
        """Read every copy."""
        rows = zip(prompts, copies, strict=True)
        self._histories = [[prompt] for prompt, count in rows for _ in range(count)]
        return self._read_all()

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> Tensor:
        """Read every history from its start."""
        for history, turn, segment in zip(self._histories, written, segments, strict=True):
            history += [turn, segment]
        return self._read_all()

    def step(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read every row with one token more; those of rows that are not alive are forgotten."""
        for row, (token, writing) in enumerate(zip(tokens.tolist(), alive.tolist(), strict=True)):
            if writing:
                self._rows[row] = np.append(self._rows[row], token)
        return self._logits()

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other histories."""
        self._histories = [self._histories[row] for row in rows]

    def narrow(self, rows: Tensor) -> bool:
        """Stay as it is."""
        return False

    def widen(self) -> None:
        """Stay as it is."""

    def _read_all(self) -> Tensor:
        self._rows = [np.concatenate([segment.tokens for segment in each]) for each in self._histories]
        self._images = [join_images([segment.images for segment in each]) for each in self._histories]
        return self._logits()

    def _logits(self) -> Tensor:
        """Return the logits [rows, V] behind the last token of each row."""
        policy, rows = self._policy, self._rows
        self._stats.prefilled_tokens += sum(map(len, rows))
        shape = (len(rows), max(map(len, rows)))
        tokens, valid = np.full(shape, policy.chat.pad_id, np.int64), np.zeros(shape, np.int64)
        positions, last = np.zeros((policy.position_axes, *shape), np.int64), np.zeros(shape, bool)
        for index, (row, images) in enumerate(zip(rows, self._images, strict=True)):
            tokens[index, : len(row)], valid[index, : len(row)] = row, 1
            positions[:, index, : len(row)] = policy.positions(row, images)
            last[index, len(row) - 1] = True
        inputs = [torch.from_numpy(each).to(policy.device) for each in (tokens, valid, positions, last)]
        images = join_images(self._images)
        return policy.logits_at(inputs[3], *inputs[:3], images, use_cache=False)
