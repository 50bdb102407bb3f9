"""How many episodes go through the model at a time, and what happens when that is too many.

A batch's gradient is a sum over its episodes, normalised by counts of the whole step, so the split into
micro-batches changes memory and nothing else. When memory runs out, the same work is therefore done again in
halves.
"""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from pixelis.errors import TrainingError
from pixelis.files import one_line

_LOG = logging.getLogger(__name__)
R = TypeVar("R")

# torch raises OutOfMemoryError for its CUDA allocator only; elsewhere it is a RuntimeError with these words.
_WORDS = (
    "out of memory",  # CUDA driver, MPS, XPU
    "can't allocate memory",  # the CPU allocator on Linux and macOS
    "not enough memory",  # the CPU allocator on Windows
    "bad_alloc",  # C++ outside the allocator
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory, of the device or the machine, could not be had."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _WORDS)


@contextlib.contextmanager
def explain_out_of_memory(doing: str, advice: str) -> Iterator[None]:
    """Turn running out of memory, where halving does not help, into one clear error.

    Args:
        doing: what the block does, for the message.
        advice: what to do about it, for the message.

    Raises:
        TrainingError: memory ran out inside the block.
    """
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        reason = one_line(error)
    else:
        return
    raise TrainingError(f"out of memory while {doing} ({reason}); {advice}")


class MicroBatchSize:
    """A number of episodes that is halved whenever memory runs out, and stays so.

    Args:
        size: episodes to begin with, at least 1.

    Attributes:
        value: episodes now.
    """

    def __init__(self, size: int) -> None:
        self.value = size

    def fit(self, work: Callable[[int], R], batch: int) -> R:
        """Return ``work(value)``; when that runs out of memory, do it again with half the value.

        Args:
            work: is given a number of episodes. It must be able to begin again after it has failed anywhere.
            batch: episodes there are at all; a larger value is first cut down to it, as its half would be no
                smaller.

        Raises:
            TrainingError: memory ran out with one episode.
        """
        while True:
            try:
                return work(self.value)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                reason = one_line(error)
            # Outside the except block: the error's traceback holds the tensors that filled the memory.
            self._halve(batch, reason)

    def _halve(self, batch: int, reason: str) -> None:
        used = max(1, min(self.value, batch))
        if used == 1:
            raise TrainingError(
                f"out of memory with a micro-batch of one episode ({reason}); resume from the last checkpoint"
                " on a larger device, or start again with a smaller --max-new-tokens or model"
            )
        self.value = used // 2
        _LOG.warning(
            "out of memory: at most %d episodes in a micro-batch from here on (%s)", self.value, reason
        )
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
