"""Has the episodes of later steps played while a step is learnt from.

The lag is fixed: step n is played by the weights after step n - 1 - ``max_staleness`` (those of the start
where there are none), whoever is fast or slow. So the numbers of a run depend on its settings alone, and one
that is killed goes on to the same ones: its checkpoints hold the older weights, and what is paid by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.playing.workers.collector import Acting, RayCollector
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.state_files import read_tensors, write_tensors

_FILE = "played_ahead.pt"


class StepRequest(NamedTuple):
    """What a step plays.

    Attributes:
        episodes: those to play.
        settings: how to sample them.
        rng_seed: of the rollout.
    """

    episodes: Sequence[EpisodeRequest]
    settings: SamplingSettings
    rng_seed: int


class Lookahead:
    """Plays ahead by a fixed number of steps.

    Args:
        workers: who play.
        policy: what is trained.
        staleness: steps that are played ahead, at least 1.
        last_step: with which training ends.
        ask: from the number of a step to what it plays.
    """

    def __init__(
        self,
        workers: RayCollector,
        policy: Policy,
        staleness: int,
        last_step: int,
        ask: Callable[[int], StepRequest],
    ) -> None:
        self._workers, self._policy, self._ask = workers, policy, ask
        self._staleness, self._last = staleness, last_step
        self._acting: dict[int, Acting] = {}  # version of the weights → by what is played with them
        self._rollouts: dict[int, int] = {}  # step → its rollout

    def take(self, step: int) -> list[Episode]:
        """Return the episodes of a step, and have those of later ones begun; steps follow each other.

        Raises:
            TrainingError: see `RayCollector.finish`.
        """
        now = self._workers.acting(self._policy)
        copy = [each.detach().cpu().clone() for each in now.weights]
        self._acting[now.version] = Acting(now.version, copy, deepcopy(now.rewards))
        for number in range(step, min(step + self._staleness, self._last) + 1):
            if number not in self._rollouts:
                acting = self._acting[self.played_by(number)]
                self._rollouts[number] = self._workers.begin(acting, *self._ask(number))
        episodes = self._workers.finish(self._rollouts.pop(step))
        needed = self.played_by(step + 1)
        self._acting = {version: each for version, each in self._acting.items() if version >= needed}
        return episodes

    def played_by(self, step: int) -> int:
        """Return the version of the weights that play a step."""
        return max(0, step - 1 - self._staleness)

    def save_files(self, folder: Path) -> None:
        """Write by what the steps are played that have begun."""
        write_tensors(
            folder / _FILE, {"acting": {version: tuple(each) for version, each in self._acting.items()}}
        )

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote.

        Raises:
            CheckpointError: it is damaged.
        """
        saved = read_tensors(folder / _FILE)["acting"]
        self._acting = {version: Acting(*each) for version, each in saved.items()}
