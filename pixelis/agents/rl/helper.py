"""Several processes that train one model: what those do that help, see `pixelis.agents.rl.team`."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pixelis.agents.distributed.process_group import LEADER, ProcessGroup
from pixelis.agents.distributed.shards import Shards
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.playing.player import Player, Reply
from pixelis.agents.rl.gradient import BatchGradient
from pixelis.agents.rl.parts import update_settings
from pixelis.agents.rl.team import add_up
from pixelis.agents.run_files.saved_run import trained_in
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import LostProcessError, TrainingError
from pixelis.files import one_line


def help_out() -> None:
    """Do what process 0 orders until it says that training is over.

    Signals to end are ignored once all are connected: they go to all processes, and process 0 ends its step
    first. This process ends when that does, however it ends.

    Raises:
        TrainingError: process 0 is gone.
    """
    world = ProcessGroup.join()
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    try:
        _serve(world)
    finally:
        world.leave()


def _serve(world: ProcessGroup) -> None:
    helper: Helper | None = None
    with contextlib.ExitStack() as opened:
        while True:
            order, _ = world.receive(LEADER)
            if order["do"] == "end":
                return
            try:
                if order["do"] == "begin":
                    helper = opened.enter_context(contextlib.closing(Helper(world, order)))
                    reply: Reply = helper.about(), {}
                else:
                    assert helper is not None  # the first order is to begin
                    reply = helper.do(order)
            except Exception as error:
                is_gone = isinstance(error, LostProcessError)
                if is_gone or (helper is not None and helper.is_broken):
                    raise
                reply = {"error": f"{type(error).__name__}: {one_line(error)}"}, {}
            world.send(LEADER, *reply)


class Helper:
    """Plays episodes and computes gradients for process 0.

    Args:
        world: the connection.
        order: the settings of the run, and the checkpoint it starts from.
    """

    def __init__(self, world: ProcessGroup, order: Mapping[str, Any]) -> None:
        self._world = world
        config = TrainConfig.from_mapping(order["config"])
        torch.manual_seed(config.seed + world.rank)  # dropout, which is another one in every process
        checkpoint = Path(order["checkpoint"])
        self._player = Player(config, trained_in(checkpoint), checkpoint.parents[1])
        self._policy = self._player.policy
        self._gradient = BatchGradient(self._policy, update_settings(config))
        self._played: list[Episode] = []

    def about(self) -> dict[str, Any]:
        """Return what must be the same in every process."""
        return self._player.about()

    @property
    def is_broken(self) -> bool:
        """Whether the others wait for this process in the middle of a pass that it has left."""
        return self._policy.shards is not None and self._policy.shards.is_broken

    def do(self, order: Mapping[str, Any]) -> Reply:
        """Do what process 0 orders, and what others need for theirs; return the reply."""
        try:
            reply = self._do(order)
        except Exception:
            with contextlib.suppress(TrainingError):
                self._finish()
            raise
        self._finish()
        return reply

    def _finish(self) -> None:
        if self._policy.shards is not None:
            self._policy.shards.finish()

    def _do(self, order: Mapping[str, Any]) -> Reply:
        if order["do"] == "shard":
            Shards(self._world, self._policy, order["offload"])
            return {}, {}
        if order["do"] == "join":
            return {}, {}
        if order["do"] == "play":
            return self._play(order)
        if order["do"] == "hold":
            return self._hold(order["numbers"], order["advantages"])
        if order["do"] == "compute":
            return self._compute(StepCounts(**order["counts"]))
        add_up(self._world, self._policy.trainable_parameters())
        return {}, {}

    def close(self) -> None:
        """Close the envs."""
        self._player.close()

    # ------------------------------------------------------------------ private

    def _take_weights(self) -> None:
        self._world.broadcast([each.data for each in self._policy.trainable_parameters()])

    def _play(self, order: Mapping[str, Any]) -> Reply:
        self._take_weights()
        self._policy.weights_version = order["weights_version"]
        episodes, (reply, tensors) = self._player.play(order)
        first = len(self._played)
        self._played += episodes
        return reply | {"first": first}, tensors

    def _hold(self, numbers: list[int], advantages: np.ndarray) -> Reply:
        self._take_weights()
        held = [self._played[number] for number in numbers]
        self._played = []  # those of the next step are numbered from 0
        if advantages.ndim == 2 and held:  # padded for the longest episode of all processes
            advantages = advantages[:, : max(map(len, held))]
        self._gradient.begin(held, advantages)
        return {}, {}

    def _compute(self, counts: StepCounts) -> Reply:
        self._take_weights()
        totals = self._gradient.compute(counts)
        has = [each.grad is not None for each in self._policy.trainable_parameters()]
        return {"totals": totals.to_json(), "has": has}, {}
