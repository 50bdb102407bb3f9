"""How far an update moved a policy: its distributions at places of some episodes, before and after."""

from __future__ import annotations

import time
from collections.abc import Sequence

from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.scoring.distributions import distributions, divergence, entropy
from pixelis.agents.scoring.logprobs import CHUNK_ELEMENTS

MOST_LOGPROBS = 2 * CHUNK_ELEMENTS
"""Log-probabilities that are kept from before an update to after it: 128 MiB."""


class PolicyChange:
    """Measures the KL from a policy as it was to what it has become.

    Args:
        policy: what is trained.
        optimiser: of its parameters.
        temperature: at which episodes are sampled.
        size: episodes per forward pass. Which places are looked at depends on it, so where memory has run
            out since, what was kept is computed anew, of the weights as they were.

    Attributes:
        seconds: what measuring has taken since ``end``.
    """

    def __init__(
        self, policy: Policy, optimiser: Optimiser, temperature: float, size: MicroBatchSize
    ) -> None:
        self._policy, self._optimiser, self._temperature = policy, optimiser, temperature
        self._micro_batch, self.seconds = size, 0.0
        self._rows: Sequence[Episode] = ()
        self._before: list[Tensor] = []
        self._size = 0  # with which it was kept

    def begin(self, rows: Sequence[Episode]) -> float:
        """Keep what the policy says now on some episodes; return its mean entropy there, nats a token."""
        self._rows = rows
        self._keep()
        places = sum(map(len, self._before))
        return sum(entropy(each) * len(each) for each in self._before) / max(1, places)

    def kl(self, weights: Sequence[Tensor]) -> float:
        """Return the KL from what was kept to the policy as it is, in nats a token.

        Args:
            weights: the trained tensors as they were when it was kept.
        """
        after = self._distributions()
        while self._micro_batch.value != self._size:  # memory ran out: other parts than before
            with self._optimiser.swapped(weights):
                self._keep()
            after = self._distributions()
        places = [len(each) for each in after]
        kls = [divergence(*pair) for pair in zip(self._before, after, strict=True)]
        return sum(kl * n for kl, n in zip(kls, places, strict=True)) / sum(places)

    def end(self) -> None:
        """Forget what was kept, and the time that it took."""
        self._rows, self._before, self.seconds = (), [], 0.0

    # ------------------------------------------------------------------ private

    def _keep(self) -> None:
        self._before = self._distributions()
        self._size = self._micro_batch.value

    def _distributions(self) -> list[Tensor]:
        start = time.perf_counter()
        most = max(1, MOST_LOGPROBS // self._policy.head.weight.shape[0])

        def work(size: int) -> list[Tensor]:
            parts = [self._rows[start : start + size] for start in range(0, len(self._rows), size)]
            limit = max(1, most // len(parts))
            return [distributions(self._policy, part, limit, self._temperature) for part in parts]

        found = self._micro_batch.fit(work, len(self._rows))
        self.seconds += time.perf_counter() - start
        return found


def tokens_read(episodes: Sequence[Episode]) -> int:
    """Return how many tokens a forward pass reads of episodes where common prompts are read once."""
    prompts = {each.segments[0].content: len(each.segments[0]) for each in episodes}
    return sum(prompts.values()) + sum(len(each) - len(each.segments[0]) for each in episodes)


def chosen(episodes: Sequence[Episode], budget: float, turn: int) -> list[Episode]:
    """Return episodes of as many groups as a number of tokens allows, one at least; others at each turn.

    Args:
        episodes: at least one.
        budget: tokens that may be read.
        turn: updates so far.
    """
    groups: dict[int, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.group, []).append(episode)
    numbers = sorted(groups)
    order = [
        groups[group][(turn + place + round) % len(groups[group])]
        for round in range(max(map(len, groups.values())))
        for place, group in enumerate(numbers[turn % len(numbers) :] + numbers[: turn % len(numbers)])
        if round < len(groups[group])
    ]
    found = order[:1]
    for episode in order[1:]:
        if tokens_read([*found, episode]) > budget:
            break
        found.append(episode)
    return found
