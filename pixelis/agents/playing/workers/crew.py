"""The workers of a training: they are given pieces, and who is lost is replaced."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pixelis.agents.playing.workers.actor import Worker
from pixelis.agents.playing.workers.cluster import Cluster
from pixelis.agents.playing.workers.ledger import Ledger, Piece
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import SamplerError, TrainingError
from pixelis.files import one_line

_LOG = logging.getLogger(__name__)
START_SECONDS = 600.0
"""How long is waited for anybody to be ready."""
OTHERS_SECONDS = 60.0
"""How long is waited at the start, once one is ready, for the others."""
CLOSE_SECONDS = 5.0
"""How long workers may take to close what they have open; then they are killed."""
MOST_LOSSES = 3
"""Times that everyone may be lost without a piece played between."""


class PieceOfWork(NamedTuple):
    """A piece of work.

    Attributes:
        order: see `play_order`, as a message.
        weights: reference to those that play, as a message.
        version: of the weights.
    """

    order: bytes
    weights: Any
    version: int


@dataclass
class Hand:
    """One worker, as the crew sees it.

    Attributes:
        number: no other has it, before or after.
        actor: Ray's handle.
        greeting: what it will say of itself; None once it is ready.
        machine: where it is.
        given: Ray's references to what it will reply → the piece.
        heard: when it last replied, or was given something to do; of a clock that only goes on.
    """

    number: int
    actor: Any
    greeting: Any
    machine: str = "?"
    given: dict[Any, Piece] = field(default_factory=dict)
    heard: float = 0.0


class Crew:
    """Workers that play pieces.

    Args:
        cluster: where they live.
        config: of the run.
        about: what must be the same in all of them, see `Player.about`.

    Attributes:
        ledger: the books.

    Raises:
        TrainingError: one cannot play this run, or has other code or another base model.
        SamplerError: none is ready in time.
    """

    def __init__(self, cluster: Cluster, config: TrainConfig, about: Mapping[str, Any]) -> None:
        assert config.workers is not None
        self._cluster, self._config, self._about = cluster, config, about
        self._wanted = config.workers
        self._at_once = None if config.max_staleness else 1  # who plays ahead is given all there is
        self.ledger = Ledger()
        self._jobs: dict[Piece, PieceOfWork] = {}
        self._replies: dict[Piece, bytes] = {}
        self._hands: dict[int, Hand] = {}
        self._hired = self._losses = 0
        self._why = "none has answered yet"
        self._ready_last = time.monotonic()
        options: dict[str, Any] = {"num_cpus": config.worker_threads, "scheduling_strategy": "SPREAD"}
        if config.worker_gpus:
            options["num_gpus"] = config.worker_gpus
        if config.worker_labels:
            options["label_selector"] = config.worker_labels
        self._actors = cluster.ray.remote(Worker).options(**options)
        try:
            for _ in range(self._wanted):
                self._hire()
            self._gather()
        except BaseException:
            self.close()
            raise

    @property
    def ready(self) -> list[Hand]:
        """Those that play."""
        return [hand for hand in self._hands.values() if hand.greeting is None]

    def plan(self, jobs: Mapping[Piece, PieceOfWork]) -> None:
        """Have pieces played, the earliest first."""
        self._jobs |= jobs
        self.ledger.plan(sorted(jobs))
        self._give()

    def take(self, rollout: int) -> list[bytes]:
        """Wait for all pieces of a rollout; return the replies in order.

        Raises:
            TrainingError: a worker that has been replaced cannot play, and nobody else is left.
            SamplerError: nobody plays.
        """
        self._ready_last = time.monotonic()  # while nobody waited, nobody looked who is ready
        while self.ledger.open(rollout):
            self._go_on()
        pieces = sorted(piece for piece in self._replies if piece.rollout == rollout)
        for piece in pieces:
            del self._jobs[piece]
        return [self._replies.pop(piece) for piece in pieces]

    def close(self) -> None:
        """End the workers."""
        self._end(*self._hands.values())
        self._hands.clear()

    # ------------------------------------------------------------------ private

    def _gather(self) -> None:
        """Wait until all are ready, or one is and the others take long."""
        until = time.monotonic() + START_SECONDS
        while len(self.ready) < self._wanted:
            self._go_on()
            if self.ready:
                until = min(until, time.monotonic() + OTHERS_SECONDS)
            if time.monotonic() > until:
                _LOG.warning("%d of %d workers are ready; it begins with them", len(self.ready), self._wanted)
                return

    def _go_on(self) -> None:
        """Give what waits, and hear who has something to say, for at most a second."""
        self._give()
        references = {
            ref: hand for hand in self._hands.values() for ref in [*hand.given, hand.greeting] if ref
        }
        said: list[Any] = []
        if references:
            wait = self._cluster.ray.wait
            said, _ = wait([*references], num_returns=len(references), timeout=0)
            if not said:
                said, _ = wait([*references], num_returns=1, timeout=1.0)
        else:
            time.sleep(0.1)
        for reference in said:
            if references[reference].number in self._hands:  # not lost by what was said before
                self._hear(references[reference], reference)
        if not said:
            self._replace_silent()
        if self.ready:
            self._ready_last = time.monotonic()
        elif time.monotonic() - self._ready_last > START_SECONDS:
            raise self._nobody(f"none was ready for {START_SECONDS:g} s: {self._why}")

    def _give(self) -> None:
        while True:
            free = [h for h in self.ready if self._at_once is None or len(h.given) < self._at_once]
            if not free:
                return
            hand = min(free, key=lambda each: (len(each.given), each.number))
            piece = self.ledger.give(hand.number)
            if piece is None:
                return
            if not hand.given:
                hand.heard = time.monotonic()
            job = self._jobs[piece]
            hand.given[hand.actor.play.remote(job.order, job.weights)] = piece

    def _hear(self, hand: Hand, reference: Any) -> None:
        try:
            value = self._cluster.ray.get(reference)
        except self._cluster.ray.exceptions.RayError as error:
            self._lose(hand, one_line(error))
            return
        hand.heard = time.monotonic()
        if reference is hand.greeting:
            self._greet(hand, value)
            return
        piece = hand.given.pop(reference)
        versions, reply = value
        job = self._jobs.get(piece)  # none where it was kept before
        if job is not None and set(versions) - {job.version}:
            self._lose(hand, f"it played by the weights of steps {versions}, not of {job.version}")
        elif self.ledger.keep(piece, hand.number):
            self._replies[piece] = reply
            self._losses = 0

    def _greet(self, hand: Hand, value: Mapping[str, Any]) -> None:
        """Take a worker in, if it can play."""
        hand.machine, hand.greeting = value["machine"], None
        wrong = value.get("error")
        for what, wanted in self._about.items():
            if wrong is None and value[what] != wanted:
                wrong = f"it has another {what} than the trainer; let every machine have the same"
        if wrong is None:
            return
        told = f"the worker on {hand.machine} cannot play: {wrong}"
        self._end(self._hands.pop(hand.number))
        if hand.number < self._wanted or not self._hands:
            raise TrainingError(told)
        _LOG.warning("%s; it is left out", told)

    def _replace_silent(self) -> None:
        longest = self._config.worker_timeout_seconds
        for hand in self.ready:
            if hand.given and time.monotonic() - hand.heard > longest:
                self._lose(hand, f"it was silent for {longest:g} s")

    def _lose(self, hand: Hand, why: str) -> None:
        """Have a worker's pieces played by others, and get another one."""
        pieces = self.ledger.lose(hand.number)
        self._end(self._hands.pop(hand.number))
        self._why, self._losses = why, self._losses + 1
        _LOG.warning(
            "the worker on %s is lost (%s); another is started, %d pieces are played again",
            hand.machine,
            why[:300],
            len(pieces),
        )
        if self._losses > MOST_LOSSES * self._wanted:
            raise self._nobody(f"they end as fast as they are started: {why}")
        self._hire()

    def _hire(self) -> None:
        actor = self._actors.remote(self._config.to_mapping(), sys.path)
        self._hands[self._hired] = Hand(self._hired, actor, actor.about.remote())
        self._hired += 1

    def _end(self, *hands: Hand) -> None:
        """Let workers close what they have open, for a short time, and kill them."""
        try:
            with contextlib.suppress(Exception):  # they are gone, or the cluster is
                closing = [hand.actor.close.remote() for hand in hands if hand.greeting is None]
                if closing:
                    self._cluster.ray.wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
        finally:
            for hand in hands:
                with contextlib.suppress(Exception):
                    self._cluster.ray.kill(hand.actor)

    def _nobody(self, why: str) -> SamplerError:
        needs = f"{self._config.worker_threads} processors"
        if self._config.worker_labels:
            needs += f" and the labels {self._config.worker_labels}"
        return SamplerError(
            f"no worker plays ({why}); see that Ray has nodes with {needs}, and go on from the last "
            "checkpoint with --resume"
        )
