"""Transitions as rows of numbers, and the memory of the latest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from pixelis.rewards.features.state_encoder import ACTION_DIMS, STATE_DIMS

ROW_DIMS = 2 * STATE_DIMS + ACTION_DIMS


class EncodedRows(NamedTuple):
    """Encoded transitions: states [n, 768], actions [n, 128] and next states [n, 768], float32."""

    states: torch.Tensor
    actions: torch.Tensor
    next_states: torch.Tensor

    def packed(self) -> torch.Tensor:
        """Return one tensor, float16 [n, 1664]: a third of the size, precise enough to learn from."""
        return torch.cat(self, 1).clamp_(-6e4, 6e4).to(torch.float16)

    @classmethod
    def unpacked(cls, packed: torch.Tensor) -> EncodedRows:
        """Return the rows of what `packed` returned."""
        return cls(*packed.float().split([STATE_DIMS, ACTION_DIMS, STATE_DIMS], 1))


def check_packed(rows: Any) -> torch.Tensor:
    """Return a copy of packed rows, [n, 1664], that were saved.

    Raises:
        ValueError: they are none.
    """
    good = isinstance(rows, torch.Tensor) and rows.dtype == torch.float16
    if not good or rows.ndim != 2 or rows.shape[1] != ROW_DIMS or not torch.isfinite(rows).all():
        found = f"{rows.dtype} {list(rows.shape)}" if isinstance(rows, torch.Tensor) else type(rows).__name__
        raise ValueError(f"expected finite float16 rows [n, {ROW_DIMS}], got {found}")
    return rows.clone()


class Experience:
    """The latest transitions, as packed rows; a new one takes the place of the oldest.

    Args:
        capacity: rows kept, at least 1.
    """

    def __init__(self, capacity: int) -> None:
        self._rows = torch.zeros(capacity, ROW_DIMS, dtype=torch.float16)
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, len(self._rows))

    def add(self, packed: torch.Tensor) -> None:
        """Keep packed rows [n, 1664]."""
        places = (self._added + torch.arange(len(packed))) % len(self._rows)
        newest = max(0, len(packed) - len(self._rows))
        self._rows[places[newest:]] = packed[newest:]
        self._added += len(packed)

    def sample(self, count: int, generator: torch.Generator) -> EncodedRows:
        """Return ``count`` rows drawn with replacement, or fewer where fewer are kept."""
        size = len(self)
        return EncodedRows.unpacked(self._rows[torch.randint(size, (min(count, size),), generator=generator)])

    def state_dict(self) -> dict[str, Any]:
        """Return the rows kept and how many there ever were."""
        return {"rows": self._rows[: len(self)].clone(), "added": self._added}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what `state_dict` returned."""
        rows = check_packed(state["rows"])
        self._added = int(state["added"])
        if len(rows) != len(self):
            raise ValueError(f"expected {len(self)} remembered rows, got {len(rows)}")
        self._rows[: len(self)] = rows
