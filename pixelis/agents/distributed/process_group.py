"""The processes that ``torchrun`` has started, and the connection between them.

Process 0 leads: it keeps the run and takes the optimiser's steps. The others help it. What they say goes by
gloo (torch.distributed) between processes that trust each other; nothing that is received is executed.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from pixelis.agents.distributed.launched import launched
from pixelis.agents.distributed.wire import pack, unpack
from pixelis.errors import LostProcessError, TrainingError

LEADER = 0
_FOREVER = datetime.timedelta(days=7)
"""How long a process waits for another that lives: an evaluation of the leader's can take hours."""


@dataclass(frozen=True)
class ProcessGroup:
    """The connected processes.

    Attributes:
        rank: of this one, from 0.
        size: how many there are, at least 2.
    """

    rank: int
    size: int

    @classmethod
    def join(cls) -> ProcessGroup:
        """Connect to the other processes; each CUDA process takes the device of its place on its machine.

        Raises:
            TrainingError: they cannot be reached.
        """
        rank, size = launched()
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        try:
            if not dist.is_initialized():
                dist.init_process_group("gloo", timeout=_FOREVER)
        except (RuntimeError, ValueError) as error:
            raise TrainingError(
                f"process {rank} of {size} cannot reach the others ({str(error).splitlines()[0]}); start all "
                "of them with one torchrun command"
            ) from error
        return cls(rank, size)

    @property
    def helpers(self) -> range:
        """The ranks of those who help."""
        return range(1, self.size)

    def send(self, rank: int, value: Any, tensors: dict[str, torch.Tensor] | None = None) -> None:
        """Send a message, see `pack`.

        Raises:
            LostProcessError: the other process is gone.
        """
        data = torch.frombuffer(bytearray(pack(value, tensors)), dtype=torch.uint8)
        self._try(lambda: dist.send(torch.tensor([len(data)]), rank), rank)
        self._try(lambda: dist.send(data, rank), rank)

    def receive(self, rank: int) -> tuple[Any, dict[str, torch.Tensor]]:
        """Wait for a message and return it.

        Raises:
            LostProcessError: the other process is gone.
        """
        size = torch.zeros(1, dtype=torch.long)
        self._try(lambda: dist.recv(size, rank), rank)
        data = torch.zeros(int(size), dtype=torch.uint8)
        self._try(lambda: dist.recv(data, rank), rank)
        return unpack(data.numpy().tobytes())

    def broadcast(self, tensors: list[torch.Tensor]) -> None:
        """Give everyone the leader's numbers, in place; every process calls this at the same time.

        Raises:
            LostProcessError: another process is gone.
        """
        for each in tensors:
            held = each.detach().cpu().contiguous()
            self._try(lambda held=held: dist.broadcast(held, LEADER), None)
            if self.rank != LEADER:
                with torch.no_grad():
                    each.copy_(held)

    def add_up(self, tensors: list[torch.Tensor]) -> None:
        """Leave the sums over all processes with the leader, in place; every process calls this.

        Raises:
            LostProcessError: another process is gone.
        """
        for each in tensors:
            held = each.detach().float().cpu().clone()
            self._try(lambda held=held: dist.reduce(held, LEADER), None)
            if self.rank == LEADER:
                with torch.no_grad():
                    each.copy_(held)

    def sums(self, numbers: list[int]) -> list[int]:
        """Return the sums over all processes of some numbers; every process calls this at the same time.

        Raises:
            LostProcessError: another process is gone.
        """
        held = torch.tensor(numbers)
        self._try(lambda: dist.all_reduce(held), None)
        return held.tolist()

    def lost(self, rank: int | None = None) -> LostProcessError:
        """Return what is to be said when another process is gone, None: nobody knows which."""
        who = "another process" if rank is None else f"process {rank}"
        return LostProcessError(
            f"{who} of {self.size} is gone, its connection is closed; go on from the last checkpoint "
            "with --resume, with as many processes as you like"
        )

    def leave(self) -> None:
        """Close the connection."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _try(self, work: Any, rank: int | None) -> None:
        try:
            work()
        except (RuntimeError, ValueError) as error:
            raise self.lost(rank) from error
