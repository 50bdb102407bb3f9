"""Rows on their way to sinks that are slow, stuck or broken: training waits for none of them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pixelis.agents.runs.metrics import MetricsLog, read_metrics
from pixelis.agents.runs.sinks.background import MOST_SAMPLES, Background
from pixelis.agents.runs.sinks.sink import Sink, StepSample

SAMPLE = StepSample({"histograms/rewards": np.ones(3)})


class PipeSink(Sink):
    """Writes a line a row into a named pipe, and so waits for whoever reads it."""

    name = "pipe"

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self.begun, self.flushed, self.samples = path, threading.Event(), 0, 0

    def open(self):
        self.begun.set()
        self._file = self.path.open("w")  # until there is a reader

    def write(self, row, sample):
        self.samples += sample is not None
        self._file.write(f"{row['step']}\n")

    def flush(self):
        self.flushed += 1
        self._file.flush()

    def close(self):
        self._file.close()


def test_rows_arrive_in_order_and_the_end_waits_for_them(tmp_path):
    carrier = Background(PipeSink(tmp_path / "pipe"))
    for step in range(1, 301):
        carrier.put({"step": step}, SAMPLE if step == 7 else None)
    carrier.flush()
    carrier.ask_to_end()
    assert [int(line) for line in (tmp_path / "pipe").read_text().split()] == list(range(1, 301))
    carrier.join(time.monotonic() + 10)
    assert carrier.error is None and carrier.dropped == 0
    assert (carrier.sink.flushed, carrier.sink.samples) == (1, 1)


def test_who_puts_never_waits_for_a_sink_that_is_stuck(tmp_path, caplog):
    """Nobody reads the pipe: all but what fits into the queue is left out, counted, and told once."""
    sink = PipeSink(tmp_path / "pipe")
    carrier = Background(sink, most_waiting=50)
    assert sink.begun.wait(10)
    times = []
    with caplog.at_level(logging.WARNING):
        for step in range(1, 1001):
            start = time.perf_counter()
            carrier.put({"step": step}, SAMPLE)
            times.append(time.perf_counter() - start)
        assert [each.getMessage().partition(":")[0] for each in caplog.records] == ["pipe cannot keep up"]
        assert carrier.dropped == 950 and carrier.samples_dropped >= 1000 - 950 - MOST_SAMPLES
        assert np.median(times) < 1e-3
        carrier.flush()  # there is no room for it either
        carrier.ask_to_end()
        carrier.join(time.monotonic() + 0.05)
    assert "pipe did not end in time: up to 50 rows are not there" in caplog.text
    assert "it lacks 951 rows" in caplog.text
    lines = (tmp_path / "pipe").read_text().split()  # now it is read, and so ends
    carrier.join(time.monotonic() + 10)
    assert [int(line) for line in lines] == list(range(2, 51)) and sink.samples == MOST_SAMPLES - 1


def test_a_sink_that_fails_is_told_once_and_left(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        carrier = Background(PipeSink(tmp_path / "pipe"))
        reader = (tmp_path / "pipe").open()
        reader.close()  # a broken pipe from now on
        for step in range(20_000):
            carrier.put({"step": step})
        carrier.ask_to_end()
        carrier.join(time.monotonic() + 10)
        carrier.put({"step": 0})
        carrier.flush()
    assert isinstance(carrier.error, BrokenPipeError)
    assert caplog.text.count("pipe takes no more metrics (BrokenPipeError: ") == 1
    assert "the run goes on" in caplog.text
    with contextlib.suppress(BrokenPipeError):
        carrier.sink.close()


def test_the_file_has_every_row_whatever_a_sink_does(tmp_path):
    """A carrier that is stuck stands among the log's: its rows are left out, the file's are not."""
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, tmp_path / "board") as log:
        stuck = Background(PipeSink(tmp_path / "pipe"), most_waiting=5)
        log._sinks.append(stuck)
        for step in range(1, 101):
            log.write({"step": step, "a/b": step / 3}, SAMPLE)
        assert [row["step"] for row in read_metrics(path)] == list(range(1, 101))
        assert stuck.dropped >= 94
        reader = threading.Thread(target=(tmp_path / "pipe").read_text)
        reader.start()
    reader.join()


@pytest.mark.parametrize("count", [0, 1])
def test_an_end_without_rows(tmp_path, count):
    carrier = Background(PipeSink(tmp_path / "pipe"))
    for step in range(count):
        carrier.put({"step": step})
    carrier.ask_to_end()
    assert len((tmp_path / "pipe").read_text().split()) == count
    carrier.join(time.monotonic() + 10)
    assert carrier.error is None
