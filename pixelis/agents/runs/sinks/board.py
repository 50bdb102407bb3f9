"""TensorBoard: curves, histograms, pictures and texts of a run, and its settings in the tab HPARAMS."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.runs.sinks.sink import RunFacts, Sink, StepSample

FLUSH_SECONDS = 10
LONGEST_SIDE = 512
"""Pixels of a picture's longer side; larger ones are made smaller."""
LONGEST_TEXT = 8_000
"""Characters of a text; the middle of a longer one is left out."""
_THEIR_THREAD = "_AsyncWriterThread"
LARGEST = 1e19
"""Magnitude from which a value is in none of the histogram's bins, which end near 1e20."""
FINAL_SUCCESS = "final/success"
"""Success in the evaluation after training, which only TensorBoard has as a curve of one point."""
TOLD = ("success/ma10", "reward/mean", "held_out/accuracy", "held_out/loss", "train/loss")
"""Metrics beside the settings in the tab HPARAMS, those of them that a run has."""


class Board(Sink):
    """Writes event files. A disk that is full ends the training, as it would end it at ``metrics.jsonl``.

    Args:
        folder: of the event files.
        facts: of the run.

    Attributes:
        writer: torch's, None before `open`.
    """

    name = "TensorBoard"
    essential = True

    def __init__(self, folder: Path, facts: RunFacts) -> None:
        from torch.utils.tensorboard import SummaryWriter  # here: it takes a second, not in the thread

        self.folder, self._facts = folder, facts
        self.writer: Any = None
        self._make = SummaryWriter
        self._step, self._begun = 0, False
        self._hook = threading.excepthook

    def open(self) -> None:
        """Start an event file."""
        after = self._facts.after_step
        self.writer = self._make(str(self.folder), purge_step=after + 1, flush_secs=FLUSH_SECONDS)
        self._hook, threading.excepthook = threading.excepthook, self._pass_over

    def write(self, row: Row, sample: StepSample | None) -> None:
        """Write a row as one event, which costs a tenth of an event for each number."""
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[attr-defined]

        self._step = int(row["step"] or 0)
        values = {key: value for key, value in row.items() if key != "step" and value is not None}
        if not self._begun:
            self._begun = True
            self._write_settings([name for name in TOLD if name in row])
        summary = Summary(value=[Summary.Value(tag=key, simple_value=float(values[key])) for key in values])
        self.writer.file_writer.add_summary(summary, self._step)
        if sample is not None:
            self._write_sample(sample)

    def flush(self) -> None:
        """Give what was written to the operating system."""
        self.writer.flush()

    def close(self) -> None:
        """End the event file."""
        try:
            if self._begun:
                self.writer.file_writer.add_summary(_hparams({}, [])[2])
            self.writer.close()
        finally:
            if threading.excepthook == self._pass_over:  # else somebody's is above it, who calls it
                threading.excepthook = self._hook

    # ------------------------------------------------------------------ private

    def _pass_over(self, said: threading.ExceptHookArgs) -> None:
        """Print nothing of TensorBoard's own thread, whose error (a full disk) the next write raises."""
        if type(said.thread).__name__ != _THEIR_THREAD or not issubclass(said.exc_type, OSError):
            self._hook(said)

    def _write_settings(self, told: list[str]) -> None:
        settings = self._facts.flat_settings()
        if settings:
            for summary in _hparams(settings, [*told, FINAL_SUCCESS])[:2]:
                self.writer.file_writer.add_summary(summary)

    def _write_sample(self, sample: StepSample) -> None:
        for name, values in sample.histograms.items():
            if (inside := values[np.abs(values) < LARGEST]).size:
                self.writer.add_histogram(name, inside, self._step)
        for name, picture in sample.pictures.items():
            self.writer.add_image(name, small(picture), self._step, dataformats="HWC")
        for name, text in sample.texts.items():
            self.writer.add_text(name, as_written(text), self._step)


def write_final_success(folder: Path, step: int, success: float) -> None:
    """Add the success after training to a run's event files, in one of its own.

    Raises:
        OSError: it cannot be written.
    """
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder), filename_suffix=".final") as writer:
        writer.add_scalar(FINAL_SUCCESS, success, step)


def small(picture: np.ndarray) -> np.ndarray:
    """Return a picture of at most `LONGEST_SIDE` pixels a side."""
    longest = max(picture.shape[:2])
    if longest <= LONGEST_SIDE:
        return picture
    scale = LONGEST_SIDE / longest
    height, width = (max(1, round(side * scale)) for side in picture.shape[:2])
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)


def as_written(text: str) -> str:
    """Return text as a block that TensorBoard shows letter by letter: no markup in it is one."""
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
    return "\n".join(f"    {line}" for line in text.splitlines())


def _hparams(settings: Mapping[str, Any], metrics: list[str]) -> tuple[Any, Any, Any]:
    """Return the three summaries of the tab: what there is, this run's values, and that it ended."""
    from torch.utils.tensorboard.summary import hparams

    return hparams(dict(settings), dict.fromkeys(metrics, 0.0))
