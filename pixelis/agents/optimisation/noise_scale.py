"""How many episodes an update needs before its gradient is more signal than noise.

The gradient noise scale (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1) from gradients of two sizes:
of micro-batches of b episodes, and of the whole batch of B.

    |G|²  ≈ (B |g_B|² - b |g_b|²) / (B - b)             tr Σ ≈ (|g_b|² - |g_B|²) / (1/b - 1/B)
    noise scale = mean tr Σ / mean |G|², in episodes

Both estimators are unbiased and noisy, so each is averaged over updates before the quotient is formed. They
take micro-batches for independent; members of a group are compared with each other and are not quite.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

_LOG = logging.getLogger(__name__)
MEMORY = 0.95
"""Share of the means that is kept when a new update comes."""
PATIENCE, MUCH = 20, 10.0
"""Updates before advice is given, and noise scales that are this many times the batch and more."""


class Contributions:
    """What each micro-batch adds to the gradient.

    Args:
        parameters: whose gradients are added up; they have none now.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self._last: list[torch.Tensor | None] = [None] * len(parameters)
        self.parts: list[tuple[float, int]] = []

    def add(self, episodes: int) -> None:
        """Note the squared norm of what was added since the last call.

        Args:
            episodes: in this micro-batch.
        """
        squares = 0.0
        for index, parameter in enumerate(self._parameters):
            if parameter.grad is not None:
                last = self._last[index]
                added = parameter.grad if last is None else parameter.grad - last
                squares += float(added.float().square().sum())
                self._last[index] = parameter.grad.clone()
        self.parts.append((squares, episodes))


def squared_norm(parameters: Sequence[torch.nn.Parameter]) -> float:
    """Return the squared 2-norm of what the parameters have for a gradient."""
    return sum(float(each.grad.float().square().sum()) for each in parameters if each.grad is not None)


def estimates(parts: Sequence[tuple[float, int]], whole: float) -> tuple[float, float] | None:
    """Return unbiased estimates of |G|² and tr Σ of one batch; None where it was not split.

    Args:
        parts: squared norm of what each micro-batch adds to the mean gradient of the batch, and its episodes.
        whole: squared norm of that mean gradient.
    """
    if len(parts) < 2:
        return None
    total = sum(episodes for _, episodes in parts)
    size = total / len(parts)  # of unequal parts, weighed by their episodes, this is the b of the formula
    small = total * sum(squares / episodes for squares, episodes in parts)
    return (total * whole - size * small) / (total - size), (small - whole) / (1 / size - 1 / total)


class NoiseScale:
    """Averages the estimates of a run's updates, and says once where its batches have been all noise."""

    def __init__(self) -> None:
        self._recent, self._run = (0.0, 0.0), (0.0, 0.0)  # |G|² and tr Σ: recent mean, sum over the run
        self._updates, self._told = 0, False

    def note(self, parts: Sequence[tuple[float, int]], whole: float) -> float | None:
        """Take notice of an update; return the noise scale of recent ones, in episodes.

        None while no batch was split, and where the signal cannot be told from zero.

        Args:
            parts: see `estimates`.
            whole: see `estimates`.
        """
        found = estimates(parts, whole)
        if found is not None and all(map(math.isfinite, found)):
            pairs = [*zip(self._recent, self._run, found, strict=True)]
            self._recent = tuple(MEMORY * mean + (1 - MEMORY) * new for mean, _, new in pairs)  # type: ignore
            self._run = tuple(total + new for _, total, new in pairs)  # type: ignore
            self._updates += 1
            self._advise(sum(episodes for _, episodes in parts))
        scale = _quotient(*self._recent)
        return scale if self._updates and math.isfinite(scale) else None

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        means = {"recent": list(self._recent), "run": list(self._run)}
        return {**means, "updates": self._updates, "told": self._told}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._recent, self._run = tuple(state["recent"]), tuple(state["run"])
        self._updates, self._told = int(state["updates"]), bool(state["told"])

    def _advise(self, episodes: int) -> None:
        """Advise once, by the whole run: when a task is nearly learnt, little signal is as it should be."""
        scale = _quotient(*self._run)
        if self._told or self._updates < PATIENCE or scale < MUCH * episodes:
            return
        self._told = True
        _LOG.warning(
            "the gradients of these updates were nearly all noise: %s episodes would be needed for as much "
            "signal, and %d are in this one; more --groups, or tasks of which about half succeed, give more",
            f"some {scale:.0f}" if math.isfinite(scale) else "more than can be measured",
            episodes,
        )


def _quotient(signal: float, noise: float) -> float:
    return noise / signal if signal > 0 else math.inf
