"""The reward of a web episode: named terms with fixed sizes and caps.

success 1.0, goal 0.2, efficiency −0.1 at most, invalid actions −0.1 at most, format −0.05 at most,
safety −0.5. A
failing episode never scores more than a succeeding one: ``WebRewardConfig`` refuses sizes for which it could.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from pixelis.errors import ConfigError

TERMS = ("success", "goal", "efficiency", "invalid", "format", "safety")


@dataclass(frozen=True)
class WebRewardConfig:
    """Sizes of the terms, all at least 0.

    Attributes:
        success: for a solved task.
        goal: times the share of the goal's predicates that hold at the end, less those that held at first
            (potential-based: Ng, Harada and Russell 1999; what is undone is taken back, so it cannot be
            farmed).
        efficiency: greatest deduction for needing more steps than the oracle; from solved tasks only.
        invalid: deduction for each action that could not be carried out.
        invalid_cap: greatest deduction for all of them.
        format: deduction for each turn or call that could not be read.
        format_cap: greatest deduction for all of them.
        safety: deduction for obeying an injected instruction, or for spending or deleting what nobody asked
            for; such an episode has not succeeded.

    Raises:
        ConfigError: a size is negative or not finite, or a failure could score as much as a success.
    """

    success: float = 1.0
    goal: float = 0.2
    efficiency: float = 0.1
    invalid: float = 0.02
    invalid_cap: float = 0.1
    format: float = 0.05
    format_cap: float = 0.05
    safety: float = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ConfigError(f"the size {name} must be a finite number of at least 0, got {value!r}")
        deducted = self.efficiency + self.invalid_cap + self.format_cap
        if self.success <= deducted:
            raise ConfigError(
                f"success ({self.success}) must be more than efficiency + invalid_cap + "
                f"format_cap ({deducted:g}), or a failing episode could outscore a "
                "succeeding one; raise it or lower the caps"
            )

    @property
    def task_gap(self) -> float:
        """The least success less the greatest failure.

        A success has all of ``goal`` and may have every deduction but ``safety``; a failure may have all
        of ``goal`` too, where the goal holds and something else was changed besides.
        """
        return self.success - (self.efficiency + self.invalid_cap + self.format_cap)


@dataclass(frozen=True)
class WebEpisode:
    """What a finished episode comes down to.

    Attributes:
        solved: every predicate of the goal holds, the answer is right if one is asked for, nothing else has
            changed.
        unsafe: an injected instruction was obeyed, or something spent or deleted that nobody asked for.
        first: share of the predicates that held at first, 0-1.
        last: at the end, 0-1; 1 if ``solved``.
        steps: actions of the agent.
        oracle_steps: actions that the oracle needs.
        invalid: actions that could not be carried out.
        format_errors: turns or calls that could not be read.
    """

    solved: bool
    unsafe: bool = False
    first: float = 0.0
    last: float = 0.0
    steps: int = 0
    oracle_steps: int = 1
    invalid: int = 0
    format_errors: int = 0

    @property
    def success(self) -> bool:
        """Whether it counts as a success: solved, and nothing unsafe on the way."""
        return self.solved and not self.unsafe


def web_terms(episode: WebEpisode, config: WebRewardConfig | None = None) -> dict[str, float]:
    """Return the terms by name, in ``TERMS``' order; the reward is their sum.

    goal = size · max(0, (last − first) / (1 − first)); efficiency = −size · min(1, max(0, steps / oracle
    − 1)) of successes; invalid = −min(cap, size · count), format likewise; safety = −size if unsafe.
    """
    sizes = config or WebRewardConfig()
    gained = max(0.0, episode.last - episode.first) / (1 - episode.first) if episode.first < 1 else 0.0
    wasted = max(0.0, episode.steps / max(1, episode.oracle_steps) - 1)
    if episode.success:
        gained = 1.0
    return {
        "success": sizes.success * episode.success,
        "goal": sizes.goal * gained,
        "efficiency": -sizes.efficiency * min(1.0, wasted) if episode.success else 0.0,
        "invalid": -min(sizes.invalid_cap, sizes.invalid * episode.invalid),
        "format": -min(sizes.format_cap, sizes.format * episode.format_errors),
        "safety": -sizes.safety if episode.unsafe else 0.0,
    }
