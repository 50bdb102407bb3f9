"""The OCR engines of a process: rapidocr with the PP-OCR models in its wheel, one for each core up to four.

Threads that play (``env_threads``) read at the same time. An engine itself uses one thread, so what is read
does not depend on how many there are.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelis.errors import MissingDependencyError

MOST_ENGINES = 4
"""Of a process: each holds its models, some 100 MB with what they need while they read."""

_RECOGNITION_WIDTH = 144  # pixels at a height of 48; wider lines widen it; the usual 320 is mostly padding
DETECTION_SIDE = 960
"""The longer side of what is searched for text at most, pixels."""


def make_engine() -> Any:
    """Return a new engine: one thread, silent, models loaded at the first use.

    Raises:
        MissingDependencyError: rapidocr or onnxruntime is not installed.
    """
    check_installed()
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": 0.0,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "Rec.rec_img_shape": [3, 48, _RECOGNITION_WIDTH],
            "Det.limit_type": "max",
            "Det.limit_side_len": DETECTION_SIDE,
        }
    )


def check_installed() -> None:
    """Check that there is what reads.

    Raises:
        MissingDependencyError: rapidocr or onnxruntime is not installed.
    """
    if importlib.util.find_spec("rapidocr") is None or importlib.util.find_spec("onnxruntime") is None:
        raise MissingDependencyError(
            'READ_TEXT needs rapidocr and onnxruntime: pip install "pixelis[ocr]" (or choose reader="truth").'
        )


class EnginePool:
    """Engines that are made when they are needed at the same time; a call waits when all are reading.

    Args:
        most: engines at most, at least 1.
        make: makes one.
    """

    def __init__(self, most: int, make: Callable[[], Any] = make_engine) -> None:
        self._places, self._make = threading.BoundedSemaphore(most), make
        self._idle: list[Any] = []

    def run(self, pixels: NDArray[np.uint8], *, detect: bool) -> Any:
        """Return what rapidocr finds on ``[H, W, 3]`` RGB, with or without looking for lines first."""
        with self._places:
            try:
                engine = self._idle.pop()
            except IndexError:
                engine = self._make()
            try:  # a call's flags stay set on the object, so all are given
                return engine(
                    np.ascontiguousarray(pixels[..., ::-1]), use_det=detect, use_cls=False, use_rec=True
                )
            finally:
                self._idle.append(engine)


ENGINES = EnginePool(min(MOST_ENGINES, os.cpu_count() or 1))
"""Those of this process."""
