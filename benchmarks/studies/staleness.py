"""What do episodes of old weights cost? ``python benchmarks/studies/staleness.py [--task zoom_read | cuts]``.

Workers that play while the learner learns give it episodes of weights that are some steps old. Here one
process plays that: in step n episodes are sampled with the weights from before step n - s, for s of 0, 1, 2,
4 and 8, with truncated weights (``truncate``) and without (the clipped ratio to what sampled, alone). The
first steps have no older weights than those of the start. ``cuts`` compares ways to correct, on ZoomRead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from toy_runs import main

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rl.team import Plays
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings

STALENESS = (0, 1, 2, 4, 8)
TASKS: Mapping[str, Mapping[str, Any]] = {
    "toy": {"groups": 8, "group_size": 8, "steps": 60},
    "zoom_read": {
        "env": "Pixelis/ZoomRead-v0",
        "env_kwargs": {"reader": "truth"},
        "model": "pixelis-tiny",
        "difficulty": 1,
        "max_new_tokens": 64,
        "groups": 8,
        "group_size": 8,
        "steps": 40,
    },
}
"""The toy at a fixed rate, ZoomRead at the one that finds itself."""
CUTS_STALENESS = 4
CUTS: Mapping[str, Mapping[str, Any]] = {
    "none": {"correction": {"type": "none"}},
    "none, not clipped": {
        "correction": {"type": "none"},
        "surrogate": {"epsilon_low": 0.999, "epsilon_high": 99.0},
    },
    "truncate at 3": {"correction": {"type": "truncate"}},
    "truncate at 1": {"correction": {"type": "truncate", "cap": 1.0}},
    "mask above 1.2": {"correction": {"type": "mask", "cap": 1.2}},
    "none, clipped above alone": {"correction": {"type": "none"}, "surrogate": {"epsilon_low": 0.999}},
    "none, clipped below alone": {"correction": {"type": "none"}, "surrogate": {"epsilon_high": 99.0}},
}
"""What ``cuts`` compares; without a correction the ratio to what sampled weighs, clipped or not."""


class StaleCollector:
    """Plays with the weights of some steps ago.

    Args:
        own: plays.
        steps: how many.

    Attributes:
        stats: of the last call.
    """

    def __init__(self, own: Plays, steps: int) -> None:
        self._own, self.stats = own, own.stats
        self._past: deque[tuple[int, list[torch.Tensor]]] = deque(maxlen=steps + 1)

    def collect(
        self, policy: Policy, requests: Sequence[EpisodeRequest], settings: SamplingSettings, rng_seed: int
    ) -> list[Episode]:
        """Put the old weights in, play, and put those of now back; called once a step."""
        parameters = policy.trainable_parameters()
        version, now = policy.weights_version, [each.detach().clone() for each in parameters]
        self._past.append((version, now))
        policy.weights_version, then = self._past[0]
        _put(parameters, then)
        try:
            episodes = self._own.collect(policy, requests, settings, rng_seed)
        finally:
            policy.weights_version = version
            _put(parameters, now)
        self.stats = self._own.stats
        return episodes

    def close(self) -> None:
        """Close the envs."""
        self._own.close()


@torch.no_grad()
def _put(parameters: Sequence[torch.nn.Parameter], weights: Sequence[torch.Tensor]) -> None:
    for parameter, each in zip(parameters, weights, strict=True):
        parameter.copy_(each)


def delayed(run: TrainingRun, settings: Mapping[str, Any]) -> None:
    """Let a run play with old weights, as old as its variant says."""
    run.trainer.collector = StaleCollector(run.trainer.collector, settings["staleness"])


def variants(task: str) -> dict[str, dict[str, Any]]:
    """Return the settings of every variant, by name."""
    if task == "cuts":
        common = {**TASKS["zoom_read"], "staleness": CUTS_STALENESS}
        return {name: {**common, "loss": loss} for name, loss in CUTS.items()}
    return {
        f"{steps} steps old, {correction}": {
            **TASKS[task],
            "staleness": steps,
            "loss": {"correction": {"type": correction}},
        }
        for steps in STALENESS
        for correction in ("none", "truncate")
        if steps or correction == "none"
    }


if __name__ == "__main__":
    main(__doc__, variants, tasks=(*TASKS, "cuts"), arrange=delayed)
