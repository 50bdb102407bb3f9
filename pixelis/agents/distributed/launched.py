"""What ``torchrun`` says of the processes it has started."""

from __future__ import annotations

import os

from pixelis.errors import ConfigError


def launched() -> tuple[int, int]:
    """Return this process's rank and the number of processes, as ``torchrun`` says them; (0, 1) without it.

    Raises:
        ConfigError: what it says are no such numbers.
    """
    given = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
    try:
        rank, size = map(int, given)
    except ValueError:
        rank, size = -1, 0
    if not 0 <= rank < size:
        raise ConfigError(
            f"RANK and WORLD_SIZE in the environment must be a number below another, got {given[0]!r} and "
            f"{given[1]!r}; start with torchrun, or unset both"
        )
    return rank, size


def alone(what: str) -> None:
    """Check that this is the only process.

    Args:
        what: trains in one process, for the message.

    Raises:
        ConfigError: ``torchrun`` has started several.
    """
    _, size = launched()
    if size > 1:
        raise ConfigError(
            f"{what} trains in one process, and torchrun has started {size}; leave torchrun out "
            "(several processes are for GRPO and PPO on language models)"
        )
