"""Potential-based shaping: the one kind that cannot change which policy is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.weights import check_number
from pixelis.user_code import load

Potential = Callable[[Mapping[str, Any]], float]
"""From an observation to how promising it is, in [0, 1]."""


class PotentialTerm:
    """F(s, s') = γ·Φ(s') − Φ(s), with Φ = 0 after an episode's last step.

    Added to the reward under any weight, F leaves the set of optimal policies as it is, and no other kind
    of shaping does so in every environment (Ng, Harada and Russell 1999, "Policy invariance under
    reward transformations"). Φ is 0 where a limit ends an episode too (Grzes 2017, "Reward shaping in
    episodic reinforcement learning"): here nothing is bootstrapped from there.

    The guarantee is for F as it is. With γ = 1 the sum over an episode is −Φ(s₀) whatever is done, and no
    bound of the stack or a wrapper cuts it; with γ < 1 use the term in its own wrapper and keep episodes
    shorter than 1/(1 − γ) steps. Under an orchestrator the sum is paid at the end and z-scored: a
    constant of the first state when γ = 1, so that the episodes of one task still compare as before.

    Args:
        potential: Φ, also as ``"module:name"``.
        gamma: discount of the agent, in (0, 1].
        name: what the term is called.
    """

    def __init__(self, *, potential: Potential | str, gamma: float = 1.0, name: str = "potential") -> None:
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 < gamma <= 1:
            raise ConfigError(f"{name}: gamma must be in (0, 1], got {gamma!r}; give the agent's discount")
        self.name, self.gamma = name, gamma
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

    def learn(self) -> dict[str, float]:
        """Learn nothing: the term is fixed."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the term is fixed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the term is fixed."""

    def _score(self, step: Transition) -> float:
        after = 0.0 if step.ended else self._value(step.next_observation)
        return self.gamma * after - self._value(step.observation)

    def _value(self, observation: Mapping[str, Any]) -> float:
        value = check_number(self._potential(observation), self.name)
        if not 0 <= value <= 1:
            raise RewardError(f"{self.name}: expected a potential in [0, 1], got {value}; rescale it")
        return value
