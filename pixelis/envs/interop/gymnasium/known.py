"""What Gymnasium's documentation says of its own environments and their code does not.

From https://gymnasium.farama.org/environments/, version 1.4.
"""

from __future__ import annotations

ACTIONS: dict[str, tuple[str, ...]] = {
    "Acrobot": ("torque -1", "no torque", "torque 1"),
    "Blackjack": ("stick", "hit"),
    "CartPole": ("left", "right"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "FrozenLake8x8": ("left", "down", "right", "up"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "MountainCar": ("left", "nothing", "right"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
}
NUMBERS: dict[str, tuple[str, ...]] = {
    "Acrobot": ("cos θ1", "sin θ1", "cos θ2", "sin θ2", "θ1 velocity", "θ2 velocity"),
    "Blackjack": ("your sum", "the dealer's card", "a usable ace"),
    "CartPole": ("cart position", "cart velocity", "pole angle", "pole velocity"),
    "MountainCar": ("position", "velocity"),
    "Pendulum": ("x", "y", "angular velocity"),
}
NOTES: dict[str, str] = {
    "CliffWalking": "x is where you are, C the cliff, T the target.",
    "FrozenLake": "S is the start, F frozen, H a hole, G the goal; [ ] is where you are.",
    "FrozenLake8x8": "S is the start, F frozen, H a hole, G the goal; [ ] is where you are.",
    "Taxi": "[ ] is the taxi, blue where the passenger waits, magenta the destination; | is a wall.",
}
GOALS = ("Acrobot", "CliffWalking", "MountainCar", "Taxi")
"""Whose episodes end, but for their time limit, only at the goal."""


def family_of(env_id: str) -> str:
    """Return an id without namespace, module and version: ``FrozenLake`` of ``FrozenLake-v1``."""
    return env_id.rpartition(":")[2].rpartition("/")[2].rpartition("-v")[0]
