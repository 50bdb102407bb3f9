"""What runs in a worker of Ray: a `Player` that is made when it is first needed."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from pixelis.agents.distributed.wire import pack, unpack
from pixelis.agents.playing.player import Player
from pixelis.agents.settings.rl import TrainConfig
from pixelis.files import one_line


class Worker:
    """Plays what it is given, by weights that it is given. What goes wrong is a reply.

    Args:
        config: settings of the run.
        path: where the trainer finds modules, for environments and rewards of the user's own: looked for
            last, and of no use on machines that have no such folders.
    """

    def __init__(self, config: Mapping[str, Any], path: Sequence[str]) -> None:
        self._config = config
        sys.path += [place for place in path if place not in sys.path]
        self._player: Player | None = None

    def about(self) -> dict[str, Any]:
        """Return the machine, and what must be the same on all of them; or ``error``."""
        here = {"machine": socket.gethostname()}
        try:
            return here | self._ready().about()
        except Exception as error:
            return here | {"error": f"{type(error).__name__}: {one_line(error)}"}

    def play(self, order: bytes, weights: bytes) -> tuple[list[int], bytes]:
        """Return the reply to an order, and before it the versions of the weights that sampled it.

        Args:
            order: see `play_order`; as the reply a message, see `pixelis.agents.distributed.wire`.
            weights: the trained parameters, named by their numbers, and their ``version``.
        """
        versions: frozenset[int] = frozenset()
        try:
            player = self._ready()
            about, tensors = unpack(weights)
            with torch.no_grad():
                for number, parameter in enumerate(player.policy.trainable_parameters()):
                    parameter.copy_(tensors[str(number)])
            player.policy.weights_version = about["version"]
            episodes, reply = player.play(unpack(order)[0])
            versions = versions.union(*(episode.weights_versions for episode in episodes))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {one_line(error)}"}, {}
        return sorted(versions), pack(*reply)

    def close(self) -> None:
        """Close the envs, and take the adapter from servers that others have started."""
        if self._player is not None:
            self._player.close()
            self._player = None

    def _ready(self) -> Player:
        if self._player is None:
            config = TrainConfig.from_mapping(self._config)
            torch.set_num_threads(config.worker_threads)
            self._player = Player(config, None, Path(tempfile.gettempdir()))
        return self._player
