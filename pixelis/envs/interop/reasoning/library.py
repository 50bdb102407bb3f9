"""What this package takes from reasoning-gym, in one place: the extra ``reasoning`` may not be installed."""

from __future__ import annotations

from pixelis.errors import MissingDependencyError

try:
    from reasoning_gym.factory import CURRICULA, DATASETS
except ImportError as error:
    raise MissingDependencyError(
        f"Pixelis/ReasoningGym-v0 needs reasoning-gym ({error}); "
        "install it with: pip install 'pixelis[reasoning]'"
    ) from error

__all__ = ["CURRICULA", "DATASETS"]
