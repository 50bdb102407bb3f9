"""The books of what workers play."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pixelis.agents.playing.workers.ledger import Ledger, Piece

WORKERS = st.integers(0, 3)


def test_who_is_lost_has_its_pieces_played_first_and_late_replies_do_not_count():
    books = Ledger()
    books.plan([Piece(0, 0), Piece(0, 1), Piece(1, 0)])
    assert [books.give(1), books.give(2)] == [Piece(0, 0), Piece(0, 1)]
    assert books.lose(1) == [Piece(0, 0)] and books.lost == 1
    assert books.give(2) == Piece(0, 0)  # before (1, 0)
    assert not books.keep(Piece(0, 0), 1)  # it was only slow
    assert books.keep(Piece(0, 0), 2) and not books.keep(Piece(0, 0), 2)
    assert (books.open(0), books.open(1)) == (1, 1)
    assert (books.planned, books.kept, books.balance) == (3, 1, 0)


class LedgerMachine(RuleBasedStateMachine):
    """Pieces are planned, given, kept and lost in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.books, self.rollouts = Ledger(), 0
        self.planned: set[Piece] = set()
        self.given: list[tuple[Piece, int]] = []
        self.kept: list[Piece] = []

    @rule(count=st.integers(1, 4))
    def plan(self, count):
        new = [Piece(self.rollouts, number) for number in range(count)]
        self.books.plan(new)
        self.planned |= set(new)
        self.rollouts += 1

    @rule(worker=WORKERS)
    def give(self, worker):
        if (piece := self.books.give(worker)) is not None:
            self.given.append((piece, worker))

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def reply(self, data):
        """Anyone who ever had a piece may reply, also late and twice."""
        piece, worker = data.draw(st.sampled_from(self.given))
        if self.books.keep(piece, worker):
            self.kept.append(piece)

    @rule(worker=WORKERS)
    def lose(self, worker):
        self.books.lose(worker)
        assert self.books.held_by(worker) == []

    @invariant()
    def balances(self):
        assert self.books.balance == 0
        assert len(set(self.kept)) == len(self.kept) == self.books.kept
        assert sum(map(self.books.open, range(self.rollouts))) == len(self.planned) - len(self.kept)

    def teardown(self):
        """In the end everything can be played once."""
        for worker in range(4):
            self.books.lose(worker)
        while (piece := self.books.give(9)) is not None:
            assert self.books.keep(piece, 9)
            self.kept.append(piece)
        assert set(self.kept) == self.planned and len(self.kept) == len(self.planned)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
