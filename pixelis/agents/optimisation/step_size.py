"""A learning rate that finds itself: the KL of each update is measured, and the rate steered to a target.

With KL(before ‖ after) of an update, mean over sampled tokens' places and exact over the vocabulary:

    curvature   c = KL / lr²                         for small steps KL grows with the square of the rate
    target      t = min(target, entropy_share · H)   H: the policy's entropy at the same places, smoothed
    wanted      lr = sqrt(t / c₉₀)                   c₉₀: nine tenths of the last updates' are below it

A policy that is sure of its tokens has little entropy to gain, and a KL that an unsure one does not feel
destroys it: so the target follows the entropy. KL swings tenfold between batches, and falls where one has
little signal: AdamW remembers large gradients for a thousand steps, beside which a small one moves nothing.
By such updates the rate would climb, until the next batch with signal breaks the policy. So the rate goes by
the large ones of the last ``WINDOW`` updates, and those whose gradient was small beside what AdamW remembers
are not among them.

The rate rises by at most a fifth an update and falls as far as it must. It is the idea of TRPO's trust region
(Schulman et al. 2015, arXiv 1502.05477) and of the adaptive rate of rsl_rl, which moves by fixed factors;
squaring lets a start that is ten times too high be mended in one update. An update that moved the policy by
more than ``take_back`` targets is taken back, and done again with a rate that should reach the target.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.optimisation.optimiser import Before, Optimiser
from pixelis.agents.runs.metrics import Row
from pixelis.agents.scoring.distributions import distributions, divergence, entropy
from pixelis.agents.scoring.logprobs import CHUNK_ELEMENTS
from pixelis.agents.settings.step_size import StepSize
from pixelis.errors import TrainingError

_LOG = logging.getLogger(__name__)
GROWTH = 1.2
"""The most that the rate is multiplied by after an update."""
WINDOW = 32
"""Updates whose curvatures are remembered."""
SMALL = 0.9
"""An update says nothing about larger ones where its gradient's square is below this share of the mean."""
GRADIENT_MEMORY = 0.999
"""Share of the mean square of gradients that is kept when a new one comes: AdamW's."""
LARGE = 0.9
"""Share of them that lie below the one the rate goes by."""
MEMORY = 0.8
"""Share of the mean entropy that is kept when a new one comes: the last five updates make two thirds."""
LEAST_ENTROPY = 0.01
"""The entropy counts as at least this, nats: a policy that is sure of everything could not move at all."""
LEAST_KL = 1e-12
"""A KL counts as at least this, nats."""
SMALLER = (0.1, 0.7)
"""By what a rate is multiplied at least and at most when an update is done again."""
MOST_LOGPROBS = 2 * CHUNK_ELEMENTS
"""Log-probabilities that are kept from before an update to after it: 128 MiB."""
MAX_LOST_IN_A_ROW = 3


class RateControl:
    """Steers a rate by the KL of updates; arithmetic alone.

    Args:
        settings: see `StepSize`.
        start: the rate to begin with; the bounds are relative to it.

    Attributes:
        rate: for the next update, schedule left out.
    """

    def __init__(self, settings: StepSize, start: float) -> None:
        self._settings, self.rate = settings, start
        self._low, self._high = start * settings.lowest, start * settings.highest
        self._curvatures: deque[float] = deque(maxlen=WINDOW)
        self._entropy: float | None = None
        self._square, self._seen = 0.0, 0

    @property
    def target(self) -> float:
        """The KL aimed at, nats a token."""
        share = self._settings.entropy_share
        if share is None or self._entropy is None:
            return self._settings.target
        return min(self._settings.target, share * max(self._entropy, LEAST_ENTROPY))

    def see(self, entropy: float) -> None:
        """Take notice of the policy's entropy before an update, in nats a token."""
        if math.isfinite(entropy):
            mean = entropy if self._entropy is None else self._entropy
            self._entropy = MEMORY * mean + (1 - MEMORY) * entropy

    def note(self, kl: float, lr: float, norm: float) -> None:
        """Take notice of an update.

        Args:
            kl: of the update, in nats a token.
            lr: at which it was made, schedule included.
            norm: of its gradient.
        """
        self._seen += 1
        self._square += (1 - GRADIENT_MEMORY) * (norm**2 - self._square)
        mean = self._square / (1 - GRADIENT_MEMORY**self._seen)
        if norm**2 >= SMALL * mean or kl > self.target or not self._curvatures:
            self._curvatures.append(math.log(max(kl, LEAST_KL) / lr**2))
            most = GROWTH * self.rate
        else:
            most = self.rate
        large = float(np.quantile(self._curvatures, LARGE))
        wanted = math.exp((math.log(self.target) - large) / 2)
        self.rate = min(max(min(wanted, most), self._low), self._high)

    def lower(self) -> None:
        """Lower the rate where the KL cannot say by how much."""
        self.rate = max(SMALLER[0] * self.rate, self._low)

    def lower_ceiling(self, factor: float) -> None:
        """Let this share of the rate be the most that it will be, in bounds."""
        self._high = max(factor * self.rate, self._low)
        self.rate = min(self.rate, self._high)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {
            "rate": self.rate,
            "highest": self._high,
            "curvatures": list(self._curvatures),
            "entropy": self._entropy,
            "gradients": [self._square, self._seen],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.rate, self._entropy = float(state["rate"]), state["entropy"]
        self._curvatures = deque(map(float, state["curvatures"]), maxlen=WINDOW)
        self._square, self._seen = state["gradients"]
        self._high = float(state.get("highest", self._high))  # older checkpoints: it was never lowered


class StepSizer:
    """Takes optimiser steps whose size it measures, and steers the optimiser's rate.

    Args:
        policy: what is trained.
        optimiser: of its parameters, its rate the one to begin with.
        settings: see `StepSize`.
        temperature: at which episodes are sampled.
        size: episodes per forward pass.

    Attributes:
        taken_back: how many optimiser steps were taken back so far.
    """

    def __init__(
        self,
        policy: Policy,
        optimiser: Optimiser,
        settings: StepSize,
        temperature: float,
        size: MicroBatchSize,
    ) -> None:
        self._policy, self._optimiser, self._settings = policy, optimiser, settings
        self._temperature, self._micro_batch = temperature, size
        self._control = RateControl(settings, optimiser.rate)
        self.taken_back = self._updates = self._lost_in_a_row = 0
        self._rows: Sequence[Episode] = ()
        self._before: list[Tensor] = []
        self._kl, self._lr, self._norm, self._seconds = math.nan, 0.0, 0.0, 0.0

    def begin(self, played: Sequence[Episode], trained: Sequence[Episode]) -> None:
        """Keep what the policy would say on some episodes before an update.

        Args:
            played: of the step; also those that there is nothing to learn from: they must not be forgotten.
            trained: of the update, which decides how many tokens are read.
        """
        valid = [each for each in played if each.valid_for_training and each.completion_length > 0]
        budget = self._settings.share * tokens_read(trained)
        self._rows = chosen(valid or trained, budget, self._updates)
        self._before = self._distributions()
        places = sum(map(len, self._before))
        self._control.see(sum(entropy(each) * len(each) for each in self._before) / max(1, places))

    def step(self, loss: float) -> float:
        """Do what `Optimiser.step` does; take it back, and do less, where it moved the policy too far.

        Raises:
            TrainingError: see `Optimiser.step`; or the policy had no finite probabilities after three updates
                in a row.
        """
        optimiser, skipped = self._optimiser, self._optimiser.skipped
        before = optimiser.remember() if self._settings.take_back is not None else None
        lr = optimiser.lr
        norm = optimiser.step(loss)
        if optimiser.skipped == skipped:
            self._norm = norm
            self._measure(lr)
            if before is not None:
                self._hold(before)
            if not math.isfinite(self._kl):
                self._lost()
            else:
                self._lost_in_a_row = 0
        return norm

    def end(self) -> Row:
        """Steer the rate by the update, if one was made; return what is logged of it."""
        if self._lr:
            self._updates += 1
            if math.isfinite(self._kl):
                self._control.note(self._kl, self._lr, self._norm)
            else:
                self._control.lower()
            self._optimiser.steer(self._control.rate)
        row: Row = {
            "policy/step_kl": self._kl if math.isfinite(self._kl) else None,
            "policy/step_kl_target": self._control.target,
            "policy/steps_taken_back": self.taken_back,
            "time/step_kl": self._seconds,
        }
        self._before, self._kl, self._lr, self._seconds = [], math.nan, 0.0, 0.0
        return row

    def lower_ceiling(self, factor: float) -> None:
        """Let this share of the rate be the most that it will be; see `RateControl.lower_ceiling`."""
        self._control.lower_ceiling(factor)
        self._optimiser.steer(self._control.rate)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        counts = {"taken_back": self.taken_back, "updates": self._updates, "lost": self._lost_in_a_row}
        return {**self._control.state_dict(), **counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._control.load_state_dict(state)
        self.taken_back, self._updates = int(state["taken_back"]), int(state["updates"])
        self._lost_in_a_row = int(state["lost"])

    # ------------------------------------------------------------------ private

    def _distributions(self) -> list[Tensor]:
        start = time.perf_counter()
        most = max(1, MOST_LOGPROBS // self._policy.head.weight.shape[0])

        def work(size: int) -> list[Tensor]:
            parts = [self._rows[start : start + size] for start in range(0, len(self._rows), size)]
            limit = max(1, most // len(parts))
            return [distributions(self._policy, part, limit, self._temperature) for part in parts]

        found = self._micro_batch.fit(work, len(self._rows))
        self._seconds += time.perf_counter() - start
        return found

    def _measure(self, lr: float) -> None:
        """Note the KL since the update began, and the rate of the last step."""
        size = self._micro_batch.value
        after = self._distributions()
        if self._micro_batch.value != size:  # memory ran out: other parts than before
            raise TrainingError("out of memory while measuring the step; start again with a lower share")
        places = [len(each) for each in after]
        kls = [divergence(*pair) for pair in zip(self._before, after, strict=True)]
        self._kl = sum(kl * n for kl, n in zip(kls, places, strict=True)) / sum(places)
        self._lr = lr

    def _hold(self, before: Before) -> None:
        """Do the step again, smaller, while it is too large; leave it out where no try is small enough."""
        settings, optimiser = self._settings, self._optimiser
        target = self._control.target
        limit = (settings.take_back or math.inf) * target
        for attempt in range(settings.retries + 1):
            if self._kl <= limit:
                return
            self.taken_back += 1
            optimiser.take_back(before)
            _LOG.info("update taken back: KL %.3g nats a token at a rate of %.3g", self._kl, self._lr)
            if attempt < settings.retries:
                wanted = math.sqrt(target / self._kl) if math.isfinite(self._kl) else 0.0
                lr = self._lr * min(max(wanted, SMALLER[0]), SMALLER[1])
                optimiser.again(lr)
                self._measure(lr)

    def _lost(self) -> None:
        self._lost_in_a_row += 1
        _LOG.warning(
            "the policy's probabilities are not finite after an update (KL %s); %s",
            self._kl,
            "it is left out" if self._settings.take_back is not None else "it cannot be taken back",
        )
        if self._lost_in_a_row >= MAX_LOST_IN_A_ROW:
            raise TrainingError(
                f"the policy's probabilities were not finite after {self._lost_in_a_row} updates in a row; "
                "resume from an earlier checkpoint, or start again with a lower --step-size.start"
            )


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
