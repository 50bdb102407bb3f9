"""A thread that carries rows to a sink, so that whoever trains never waits for it.

Its queue is bounded: a sink that cannot keep up loses rows, which are counted and told, and never memory or
time of the training. ``metrics.jsonl`` has every row all the same.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import dataclass

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.runs.sinks.sink import Sink, StepSample
from pixelis.files import one_line

_LOG = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Rows that may wait for a sink, a few MB."""
MOST_SAMPLES = 4
"""Samples that may wait: their pictures take memory."""
CLOSE_SECONDS = 30.0
"""How long the end of a run waits for a sink to take what is left."""


@dataclass(frozen=True)
class _Flush:
    """Asks the thread to flush."""


@dataclass(frozen=True)
class _End:
    """Asks the thread to end."""


_Work = tuple[Row, "StepSample | None"] | _Flush | _End


class Background:
    """Carries rows to one sink.

    Args:
        sink: is opened, used and closed in the thread alone.
        most_waiting: rows that may wait.

    Attributes:
        dropped: rows that the sink did not get because too many waited.
        samples_dropped: samples, likewise; their rows may have come through.
        error: what it failed with, None while it works.
    """

    def __init__(self, sink: Sink, most_waiting: int = MOST_WAITING) -> None:
        self.sink = sink
        self.dropped = self.samples_dropped = 0
        self.error: BaseException | None = None
        self._queue: queue.Queue[_Work] = queue.Queue(most_waiting)
        self._places = threading.Semaphore(MOST_SAMPLES)
        self._told = False
        self._thread = threading.Thread(target=self._work, name=f"pixelis-{sink.name}", daemon=True)
        self._thread.start()

    def put(self, row: Row, sample: StepSample | None = None) -> None:
        """Hand a row over, or count it as dropped; returns at once whatever the sink does."""
        if self.error is not None:
            return
        if sample is not None and not self._places.acquire(blocking=False):
            self.samples_dropped, sample = self.samples_dropped + 1, None
        try:
            self._queue.put_nowait((row, sample))
        except queue.Full:
            self.dropped += 1
            if sample is not None:
                self._places.release()
            if not self._told:
                self._told = True
                _LOG.warning(
                    "%s cannot keep up: %d rows wait, and those that come now are left out there until it "
                    "has taken some; metrics.jsonl has them",
                    self.sink.name,
                    self._queue.maxsize,
                )

    def flush(self) -> None:
        """Ask the sink to flush once it has taken what waits; returns at once."""
        if self.error is None and self._queue.qsize() < self._queue.maxsize:
            self._queue.put_nowait(_Flush())  # only this thread puts, so there is room

    def ask_to_end(self) -> None:
        """Let the sink take what waits and then close; returns at once."""
        try:
            self._queue.put_nowait(_End())
        except queue.Full:
            self._make_room()
            self._queue.put_nowait(_End())

    def join(self, until: float) -> None:
        """Wait for the end that `ask_to_end` asked for, and tell what did not come through.

        Args:
            until: `time.monotonic` at which waiting ends.
        """
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            waiting = self._queue.qsize()
            _LOG.warning(
                "%s did not end in time: up to %d rows are not there; metrics.jsonl has them",
                self.sink.name,
                waiting,
            )
        if self.dropped or self.samples_dropped:
            _LOG.warning(
                "%s could not keep up: it lacks %d rows and %d samples; metrics.jsonl has every row",
                self.sink.name,
                self.dropped,
                self.samples_dropped,
            )

    # ------------------------------------------------------------------ private

    def _make_room(self) -> None:
        try:
            self._queue.get_nowait()
            self.dropped += 1
        except queue.Empty:
            pass

    def _work(self) -> None:
        try:
            self.sink.open()
            while not isinstance(work := self._queue.get(), _End):
                if isinstance(work, _Flush):
                    self.sink.flush()
                else:
                    self.sink.write(*work)
                    if work[1] is not None:
                        self._places.release()
            self.sink.close()
        except BaseException as error:  # of whatever kind: the sink is another library
            self.error = error
            if not self.sink.essential:
                _LOG.warning(
                    "%s takes no more metrics (%s: %s); the run goes on, metrics.jsonl has everything",
                    self.sink.name,
                    type(error).__name__,
                    one_line(error),
                )
