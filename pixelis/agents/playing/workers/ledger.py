"""The books of what workers play: every piece is kept once, whoever is lost meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Piece(NamedTuple):
    """Some groups of a rollout, which one worker plays together.

    Attributes:
        rollout: number of the rollout.
        number: of the piece in it.
    """

    rollout: int
    number: int


class Ledger:
    """Which pieces wait, who has which, and which are kept.

    Attributes:
        planned: pieces that there have been.
        kept: pieces whose episodes have come.
        lost: pieces that were with a worker when it was lost, and were given again.
    """

    def __init__(self) -> None:
        self._waiting: list[Piece] = []
        self._with: dict[Piece, int] = {}
        self.planned = self.kept = self.lost = 0

    def plan(self, pieces: Iterable[Piece]) -> None:
        """Enter new pieces, which are given in order."""
        new = list(pieces)
        self._waiting += new
        self.planned += len(new)

    def give(self, worker: int) -> Piece | None:
        """Give a worker the first piece that waits; None where none does."""
        if not self._waiting:
            return None
        piece = self._waiting.pop(0)
        self._with[piece] = worker
        return piece

    def keep(self, piece: Piece, worker: int) -> bool:
        """Enter that a worker has played a piece; False: somebody else has it now, or it was kept before."""
        if self._with.get(piece) != worker:
            return False
        del self._with[piece]
        self.kept += 1
        return True

    def lose(self, worker: int) -> list[Piece]:
        """Let the pieces of a worker wait again, before all others; return them."""
        found = self.held_by(worker)
        for piece in found:
            del self._with[piece]
        self._waiting = sorted([*found, *self._waiting])
        self.lost += len(found)
        return found

    def held_by(self, worker: int) -> list[Piece]:
        """Return the pieces that a worker has."""
        return [piece for piece, holder in self._with.items() if holder == worker]

    def open(self, rollout: int) -> int:
        """Return how many pieces of a rollout are not kept."""
        return sum(piece.rollout == rollout for piece in [*self._waiting, *self._with])

    @property
    def balance(self) -> int:
        """What has been planned and is neither kept, nor with a worker, nor waiting: 0 at any time."""
        return self.planned - self.kept - len(self._with) - len(self._waiting)
