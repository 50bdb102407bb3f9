"""A learning rate that finds itself: the KL of each update is measured, and the rate steered to a target.

With KL(before ‖ after) of an update, mean over sampled tokens' places and exact over the vocabulary, and Δ
what it added to the weights:

    curvature   c = KL / |Δ|²      for small steps KL grows with the square of the distance
    reach       r = √ mean (|Δ| / lr)²      how far one unit of rate moves the weights, over the run
    target      t = min(target, entropy_share · H) · s      H: the policy's entropy at the same places;
                                                            s: share of episodes that updates learn from
    wanted      lr = √(t / c₉₀) / r      c₉₀: nine tenths of the last ``WINDOW`` are below it

A policy that is sure of its tokens has little entropy to gain, and a KL that an unsure one does not feel
destroys it: so the target follows the entropy. It follows the share of episodes since an update by few of
them is noisier: for AdamW the rate should go with the root of the batch (Malladi et al. 2022, arXiv
2205.10287).

KL swings tenfold between batches, so the rate goes by the large ones of the last updates. It is measured by
the distance since AdamW moves the weights by very different lengths at one rate: farthest in its first
updates, and little once a task is nearly solved, when it remembers gradients beside which a new one is
small. By KL / lr² the first would hold the rate down, and the last let it climb until a batch with signal
breaks the policy; for that reason r is a mean of the whole run, which forgets as slowly as AdamW does.

The rate rises by at most a fifth times s an update and falls as far as it must; before it first comes within
``FAR`` of what is wanted it may double, since a start by the model's size can be ten times too low, and a
run may have few updates. It is the idea of TRPO's trust region (Schulman et al. 2015, arXiv 1502.05477) and
of the adaptive rate of rsl_rl, which moves by fixed factors; squaring lets a start that is ten times too
high be mended in one update. An update that moved the policy by more than ``take_back`` targets is taken
back, and done again with a rate that should reach the target.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.optimisation.optimiser import Before, Optimiser
from pixelis.agents.optimisation.policy_change import PolicyChange, chosen, tokens_read
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.step_size import StepSize
from pixelis.errors import TrainingError

_LOG = logging.getLogger(__name__)
GROWTH = 1.2
"""The most that the rate is multiplied by after an update that learnt from every episode."""
FASTEST = 2.0
"""The same while the rate was never near the wanted one."""
FAR = 4.0
"""How many times below the wanted rate is not near: to there it may double."""
WINDOW = 32
"""Updates whose curvatures are remembered."""
REACH_MEMORY = 0.999
"""Share of the mean square that is kept when a new reach comes: AdamW's for gradients."""
LARGE = 0.9
"""Share of them that lie below the one the rate goes by."""
MEMORY = 0.8
"""Share of entropy's and signal's means that is kept when new ones come: the last five make two thirds."""
LEAST_ENTROPY = 0.002
"""The entropy counts as at least this, nats: a policy that is sure of everything could not move at all."""
LEAST_KL = 1e-12
"""A KL counts as at least this, nats."""
SMALLER = (0.1, 0.7)
"""By what a rate is multiplied at least and at most when an update is done again."""
NUDGE = 1e-2
"""Share of the rate by which every weight is moved to see what rounding alone does to the KL."""
VISIBLE = 2.0
"""A KL is told from rounding where it is above this many times what rounding alone makes."""
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
        self._first: float | None = None  # entropy before the first update
        self._signal = 1.0  # mean share of episodes that updates learn from
        self._square, self._seen = 0.0, 0  # mean square of reaches, before correction; updates
        self._searching = True  # until the rate first comes near the wanted one

    @property
    def target(self) -> float:
        """The KL aimed at, nats a token.

        An entropy above the first one does not count: a policy that comes apart would be moved ever farther.
        """
        most, share = self._settings.target, self._settings.entropy_share
        if share is not None and self._entropy is not None and self._first is not None:
            most = min(most, share * max(min(self._entropy, self._first), LEAST_ENTROPY))
        return most * self._signal

    def see(self, entropy: float, signal: float = 1.0) -> None:
        """Take notice of what an update is made of.

        Args:
            entropy: of the policy before it, in nats a token.
            signal: share of the episodes that there is something to learn from, 0 to 1.
        """
        self._signal = MEMORY * self._signal + (1 - MEMORY) * signal
        if math.isfinite(entropy):
            mean = entropy if self._entropy is None else self._entropy
            self._entropy = MEMORY * mean + (1 - MEMORY) * entropy
            self._first = entropy if self._first is None else self._first

    def note(self, kl: float, lr: float, distance: float, rounding: float = 0.0) -> None:
        """Take notice of an update.

        Args:
            kl: of the update, in nats a token.
            lr: at which it was made, schedule included.
            distance: 2-norm of what it added to the weights; an update of 0 says nothing.
            rounding: the part of ``kl`` that any change of the weights makes, however small.
        """
        if distance <= 0:
            return
        self._seen += 1
        self._square += (1 - REACH_MEMORY) * ((distance / lr) ** 2 - self._square)
        reach = math.sqrt(self._square / (1 - REACH_MEMORY**self._seen))
        seen = kl > VISIBLE * rounding
        if seen or rounding == 0:
            self._curvatures.append(math.log(max(kl - rounding, LEAST_KL) / distance**2))
        elif rounding > self.target:
            return  # the rate may be too high already, and nobody can see it
        growth, wanted = GROWTH, math.inf
        if self._curvatures:
            large = float(np.quantile(self._curvatures, LARGE))
            wanted = math.exp((math.log(self.target) - large) / 2) / reach
            self._searching = self._searching and wanted > FAR * GROWTH * self.rate
            if self._searching:
                growth = min(wanted / (FAR * self.rate), FASTEST)
        most = (1 + (growth - 1) * self._signal) * self.rate
        self.rate = min(max(min(wanted, most), self._low), self._high)

    def lower(self) -> None:
        """Lower the rate where the KL cannot say by how much."""
        self.rate, self._searching = max(SMALLER[0] * self.rate, self._low), False

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
            "first_entropy": self._first,
            "signal": self._signal,
            "reach": [self._square, self._seen],
            "searching": self._searching,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.rate, self._entropy = float(state["rate"]), state["entropy"]
        self._first = state.get("first_entropy", self._entropy)  # older checkpoints: as it is now
        if "reach" in state:  # curvatures of older checkpoints are by the rate: others are gathered anew
            self._curvatures = deque(map(float, state["curvatures"]), maxlen=WINDOW)
            self._square, self._seen = state["reach"]
            self._signal = float(state["signal"])
        self._high = float(state.get("highest", self._high))  # older checkpoints: it was never lowered
        self._searching = bool(state.get("searching", False))  # older checkpoints: they never searched


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
        self._change = PolicyChange(policy, optimiser, temperature, size)
        self._control = RateControl(settings, optimiser.rate)
        self.taken_back = self._updates = self._lost_in_a_row = 0
        self._start: list[Tensor] | None = None  # weights before the first step of an update
        self._kl, self._lr, self._distance, self._rounding = math.nan, 0.0, 0.0, 0.0

    def begin(self, played: Sequence[Episode], trained: Sequence[Episode]) -> None:
        """Keep what the policy would say on some episodes before an update.

        Args:
            played: of the step; also those that there is nothing to learn from: they must not be forgotten.
            trained: of the update, which decides how many tokens are read.
        """
        valid = [each for each in played if each.valid_for_training and each.completion_length > 0]
        budget = self._settings.share * tokens_read(trained)
        rows = valid or trained
        entropy = self._change.begin(chosen(rows, budget, self._updates))
        self._control.see(entropy, min(1.0, len(trained) / len(rows)))
        if self._policy.base.dtype != torch.float32:
            with self._optimiser.nudged(NUDGE * self._optimiser.lr) as weights:
                kl = self._change.kl(weights)
            self._rounding = kl if math.isfinite(kl) else 0.0

    def step(self, loss: float) -> float:
        """Do what `Optimiser.step` does; take it back, and do less, where it moved the policy too far.

        Raises:
            TrainingError: see `Optimiser.step`; or the policy had no finite probabilities after three updates
                in a row.
        """
        optimiser, skipped = self._optimiser, self._optimiser.skipped
        before = optimiser.remember() if self._settings.take_back is not None else None
        if self._start is None:
            self._start = optimiser.copy_weights() if before is None else before.weights
        lr = optimiser.lr
        norm = optimiser.step(loss)
        if optimiser.skipped == skipped:
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
                self._control.note(self._kl, self._lr, self._distance, self._rounding)
            else:
                self._control.lower()
            self._optimiser.steer(self._control.rate)
        row: Row = {
            "policy/step_kl": self._kl if math.isfinite(self._kl) else None,
            "policy/step_kl_rounding": self._rounding,
            "policy/step_kl_target": self._control.target,
            "policy/steps_taken_back": self.taken_back,
            "time/step_kl": self._change.seconds,
        }
        self._change.end()
        self._start = None
        self._kl, self._lr, self._distance, self._rounding = math.nan, 0.0, 0.0, 0.0
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

    def _measure(self, lr: float) -> None:
        """Note KL and distance since the update began, and the rate of the last step."""
        weights = self._start or []
        self._kl = self._change.kl(weights)
        self._lr, self._distance = lr, self._optimiser.distance(weights)

    def _hold(self, before: Before) -> None:
        """Do the step again, smaller, while it is too large; leave it out where no try is small enough."""
        settings, optimiser = self._settings, self._optimiser
        target = self._control.target
        limit = (settings.take_back or math.inf) * target
        for attempt in range(settings.retries + 1):
            beyond = self._kl - self._rounding
            if beyond <= limit or self._kl <= VISIBLE * self._rounding:
                return
            self.taken_back += 1
            optimiser.take_back(before)
            _LOG.info("update taken back: KL %.3g nats a token at a rate of %.3g", self._kl, self._lr)
            if attempt < settings.retries:
                wanted = math.sqrt(target / beyond) if math.isfinite(beyond) else 0.0
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
