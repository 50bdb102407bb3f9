"""Potential-based shaping: the one kind that cannot change which policy is best.

The potential is a function of yours, or what the environment knows of its own progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.rewards.terms.weights import check_number
from pixelis.user_code import load

Potential = Callable[[Mapping[str, Any]], float]
"""From an observation to how promising it is, in [0, 1]."""


class _Shaping:
    """What terms of γ·Φ(s') − Φ(s) share: a discount, and nothing to learn.

    Attributes:
        name: what the term is called.
        gamma: discount of the agent, in (0, 1].
        telescopes: whether its sum over an episode is set by the first state, whatever is done.
    """

    def __init__(self, name: str, gamma: float) -> None:
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 < gamma <= 1:
            raise ConfigError(f"{name}: gamma must be in (0, 1], got {gamma!r}; give the agent's discount")
        self.name, self.gamma = name, gamma
        self.telescopes = gamma == 1

    def learn(self) -> dict[str, float]:
        """Learn nothing: the term is fixed."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the term is fixed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the term is fixed."""

    def _checked(self, value: Any) -> float:
        number = check_number(value, self.name)
        if not 0 <= number <= 1:
            raise RewardError(f"{self.name}: expected a potential in [0, 1], got {number}; rescale it")
        return number


class PotentialTerm(_Shaping):
    """F(s, s') = γ·Φ(s') − Φ(s), with Φ = 0 after an episode's last step.

    Added to the reward under any weight, F leaves the set of optimal policies as it is, and no other kind
    of shaping does so in every environment (Ng, Harada and Russell 1999, "Policy invariance under
    reward transformations"). Φ is 0 where a limit ends an episode too (Grzes 2017, "Reward shaping in
    episodic reinforcement learning"): here nothing is bootstrapped from there.

    The guarantee is for F as it is. With γ = 1 the sum over an episode is −Φ(s₀) whatever is done, and no
    bound of the stack or a wrapper cuts it: it moves nothing between episodes of one task, so that what
    learns by it must look at single turns. With γ < 1 the sum is −Φ(s₀) − (1 − γ)·ΣΦ(s₁ …), and what of it is
    below −1 is cut; a potential of at most 1/(1 + (1 − γ)·n) in episodes of at most n steps never comes
    there. Use the term in its own wrapper: under an orchestrator the sum is paid at the end and z-scored.

    Args:
        potential: Φ, also as ``"module:name"``.
        gamma: discount of the agent, in (0, 1].
        name: what the term is called.
    """

    def __init__(self, *, potential: Potential | str, gamma: float = 1.0, name: str = "potential") -> None:
        super().__init__(name, gamma)
        self._potential: Potential = load(potential) if isinstance(potential, str) else potential

    def begin(self) -> None:
        """Return nothing: a step's value needs no memory."""
        return None

    def score(self, steps: Sequence[tuple[None, Transition]]) -> list[float]:
        """Return γ·Φ(s') − Φ(s) of each step, in [-1, 1].

        Raises:
            RewardError: the potential is not in [0, 1].
        """
        return [self._score(step) for _, step in steps]

    def _score(self, step: Transition) -> float:
        after = 0.0 if step.ended else self._checked(self._potential(step.next_observation))
        return self.gamma * after - self._checked(self._potential(step.observation))


@dataclass
class LastProgress:
    """How near its goal an episode was after its last step, 0-1."""

    value: float = 0.0


AtFailure = Literal["take_back", "keep"]


class ProgressTerm(_Shaping):
    """F(s, s') = γ·Φ(s') − Φ(s) for Φ = `ToolEnv.progress`: what a turn brought the episode nearer its goal.

    ``take_back``: Φ is 0 after the last step, so this is potential-based (see `PotentialTerm`). With γ = 1 an
    episode's sum is 0 whatever is done and however it ends: only the credit of its turns changes, and an
    orchestrator pays it with every step (``paid_by_step``).

    ``keep``: a failure keeps what it had reached before its last turn, and a success reaches 1, so the sum is
    a graded reward of failures. That is not potential-based and can change which policy is best where nobody
    can be sure to succeed. But it is below 1 for every failure and 1 for every success: whatever the weight,
    it only widens the gap.

    Args:
        at_failure: ``take_back`` or ``keep``.
        gamma: discount of the agent, in (0, 1]; with ``keep`` 1.
        name: what the term is called.

    Raises:
        ConfigError: a value is none of these.
    """

    needs_progress = True

    def __init__(
        self, *, at_failure: AtFailure = "take_back", gamma: float = 1.0, name: str = "progress"
    ) -> None:
        super().__init__(name, gamma)
        if at_failure not in ("take_back", "keep"):
            raise ConfigError(f"{name}: at_failure must be take_back or keep, got {at_failure!r:.80}")
        self._keeps = at_failure == "keep"
        if self._keeps and gamma != 1:
            raise ConfigError(f"{name}: at_failure keep has no discount, got gamma {gamma}; leave gamma out")
        self.paid_by_step, self.telescopes = gamma == 1, gamma == 1 and not self._keeps

    def adapt(self, traits: RewardTraits) -> None:
        """Check that the environment knows its progress.

        Raises:
            ConfigError: it does not.
        """
        if not traits.has_progress:
            raise ConfigError(
                f"{self.name}: the environment does not say how near its goal an episode is (and no "
                "recording holds it); leave the term out, override ToolEnv.nearness() if it is yours "
                "(docs/guide/new_env.md), or give the term potential a function of the observation"
            )

    def begin(self) -> LastProgress:
        """Return the memory of an episode that begins: no progress."""
        return LastProgress()

    def score(self, steps: Sequence[tuple[LastProgress, Transition]]) -> list[float]:
        """Return what each step added to the progress, in [-1, 1].

        Raises:
            RewardError: the environment did not say, or said a number outside 0-1.
        """
        return [self._score(last, step) for last, step in steps]

    def _score(self, last: LastProgress, step: Transition) -> float:
        if step.progress is None:
            raise RewardError(
                f"{self.name}: nobody said how near its goal the episode is; play it in its environment (a "
                "recording does not hold it), and let nearness() return a number"
            )
        now = self._checked(step.progress)
        if step.ended:
            now = (now if now == 1 else last.value) if self._keeps else 0.0
        gained, last.value = self.gamma * now - last.value, now
        return gained
