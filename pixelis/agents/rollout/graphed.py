"""Decoding one token a row as a CUDA graph, see https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs.

A step of a small model is some thousand operations of a few microseconds each, which Python hands to a GPU
more slowly than the GPU does them. A graph is handed over once and then replayed whole. It has fixed shapes
and may ask nothing of the device on its way, so the rows' own keys get room for a stretch of tokens
beforehand, and rows that have finished stay in the batch until the turn is over.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from pixelis.agents.models.policy import Policy
from pixelis.agents.scoring.store import PrefixStore
from pixelis.files import one_line

STRETCH = 256
"""Tokens a row that a graph has room for; after that many the next one is made."""
BEFORE = 4
"""Steps of a turn that are taken without a graph: making one costs as much as some steps."""
_LOG = logging.getLogger(__name__)


class FixedSteps:
    """Steps of one token a row in which every shape stays the same; it runs on any device.

    Args:
        policy: whose model reads.
        store: what the rows have read; its lengths are changed in place.
        following: int64 [n], the rows' next positions; changed in place.
        room: most steps.
    """

    def __init__(self, policy: Policy, store: PrefixStore, following: Tensor, room: int) -> None:
        self._policy, self._store, self._next, self._left = policy, store, following, room
        store.fix(room)

    @property
    def is_full(self) -> bool:
        """Whether the room is used up."""
        return self._left == 0

    def __call__(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read one token a row, which rows that are not alive forget; return logits [n, V]."""
        self._left -= 1
        return self._step(tokens, alive)

    def end(self) -> None:
        """Let the store find out how far its rows have come."""
        self._store.unfix()

    def _step(self, tokens: Tensor, alive: Tensor) -> Tensor:
        self._store.expect_one()
        positions = self._next[None, :, None].expand(self._policy.position_axes, -1, -1)
        hidden = self._policy.hidden(tokens[:, None], positions, (), self._store)
        self._store.accept_one(alive)
        self._next += alive
        return self._policy.head(hidden[:, -1])


class GraphedSteps(FixedSteps):
    """`FixedSteps` as a CUDA graph; what it returns is written over by the next step.

    Raises:
        RuntimeError: the model asks the device for something on its way, so it cannot be captured.
    """

    def __init__(self, policy: Policy, store: PrefixStore, following: Tensor, room: int) -> None:
        super().__init__(policy, store, following, room)
        device = following.device
        self._tokens = torch.zeros(len(store), dtype=torch.long, device=device)
        self._alive = torch.zeros(len(store), dtype=torch.bool, device=device)
        side, here, read = _side_stream(device), torch.cuda.current_stream(device), policy.tokens_read
        self._graph = torch.cuda.CUDAGraph()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            # Beforehand a step in which no row is alive, to make ready what is made once. A capture that
            # fails leaves torch's generator unusable, so that it would fail is found out here.
            with _no_questions():
                self._step(self._tokens, self._alive)
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._logits = self._step(self._tokens, self._alive)
            finally:
                self._graph.capture_end()
        here.wait_stream(side)
        policy.tokens_read = read

    def __call__(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read one token a row; see `FixedSteps`."""
        self._left -= 1
        self._tokens.copy_(tokens)
        self._alive.copy_(alive)
        self._graph.replay()
        self._policy.tokens_read += len(tokens)
        return self._logits


@functools.cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


@contextlib.contextmanager
def _no_questions() -> Iterator[None]:
    """Inside the block it is a `RuntimeError` to wait for the device."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype", UserWarning)
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def graphed(policy: Policy, store: PrefixStore, following: Tensor, room: int = STRETCH) -> FixedSteps | None:
    """Return a graph of the next steps; None, and a line in the log, where the model does not fit one."""
    try:
        return GraphedSteps(policy, store, following, room)
    except RuntimeError as error:
        store.unfix()
        _LOG.warning(
            "%s is decoded without a CUDA graph (slower): %s", type(policy.base).__name__, one_line(error)
        )
        return None
