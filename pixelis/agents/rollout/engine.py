"""The seam between who plays and what samples: an engine opens a `Sampler` for each rollout.

Whoever plays (`pixelis.agents.rollout.collector.Collector`) knows prompts, turns and rows, and not which
engine answers: the model in this process, or servers elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.decoding import Decoder
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings


class Sampler(Protocol):
    """The rows of one rollout: ``start`` gives them prompts, then ``write`` and ``read`` alternate."""

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> None:
        """Take prompts, and make so many rows of each."""
        ...

    def write(
        self, draws: Sequence[np.random.Generator], settings: SamplingSettings, limits: Sequence[int]
    ) -> list[Segment]:
        """Sample one turn for every row.

        What it returns is all that anyone above is told: token ids, their log-probabilities by who sampled
        them, the ``finish_reason``, and the ``weights_version`` of the weights that sampled them. A turn by
        other weights than those that `Engine.open` was given is none: it is sampled anew, by somebody else.

        Args:
            draws: of each row, from which alone its randomness comes.
            settings: how to draw.
            limits: most tokens a row may write, at least 1.
        """
        ...

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> None:
        """Let every row read what follows the turn it has just written."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows, which are increasing."""
        ...


class Engine(Protocol):
    """Samples by a policy's weights as they are when a rollout begins."""

    def open(
        self, policy: Policy, stats: RolloutStats, rng_seed: int
    ) -> contextlib.AbstractContextManager[Sampler]:
        """Return the sampler of a rollout.

        Args:
            policy: whose weights sample, and say by ``weights_version`` which they are.
            stats: where to count.
            rng_seed: of the rollout.
        """
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class InProcess:
    """The model of this process samples, by batched decoding."""

    @contextlib.contextmanager
    def open(self, policy: Policy, stats: RolloutStats, rng_seed: int) -> Iterator[Sampler]:
        """Fold the adapter into the weights for as long as the rollout takes."""
        with policy.folded(rng_seed):
            yield _Rows(Decoder(policy, stats))

    def close(self) -> None:
        """Close nothing."""


class _Rows:
    """A `Decoder` as a sampler."""

    def __init__(self, decoder: Decoder) -> None:
        self.start, self.read, self.keep = decoder.start, decoder.read, decoder.keep
        self._write = decoder.write

    def write(
        self, draws: Sequence[np.random.Generator], settings: SamplingSettings, limits: Sequence[int]
    ) -> list[Segment]:
        """Draw a number for every token that a turn could have, and write."""
        uniforms = np.stack([each.random(settings.max_new_tokens) for each in draws])
        return self._write(uniforms, settings, limits)
