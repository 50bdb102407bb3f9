"""The reward terms of a run: paid while it plays, taught once a step, kept in its checkpoints."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.episodes.rewarder import Rewarder
from pixelis.agents.run_files.state_files import read_tensors, write_tensors
from pixelis.agents.runs.metrics import EVERY_STEP
from pixelis.agents.settings.algorithm import Grpo, Ppo
from pixelis.agents.settings.vote import read_vote
from pixelis.errors import CheckpointError, ConfigError, StateError
from pixelis.rewards.stack.curriculum import StageChange
from pixelis.rewards.stack.stack import RewardStack, build_stack
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import user_code

_FILE = "rewards.pt"
_LOG = logging.getLogger(__name__)


def build_rewards(values: Mapping[str, Any], traits: RewardTraits | None = None) -> RewardStack | None:
    """Return the stack that a run's ``rewards`` describe, None for none.

    Args:
        values: as ``pixelis.rewards.stack.reward_config.read_rewards`` takes them; empty: none.
        traits: of the environment that is played; None where only the values are to be checked.

    Raises:
        ConfigError: a name or a setting is wrong, nobody computes a metric of the curriculum, or nobody says
            the task's gap.
        UserCodeError: a term's own code raised.
    """
    with user_code("a reward term that was made"):
        return build_stack(values, EVERY_STEP, traits) if values else None


def check_credit(stack: RewardStack | None, algorithm: Grpo | Ppo) -> None:
    """Check that an algorithm can learn by terms whose sum over an episode is the same whatever is done.

    Raises:
        ConfigError: it compares whole episodes.
    """
    if stack is None or not isinstance(algorithm, Grpo) or algorithm.credit.type == "turn":
        return
    for name, term in stack.terms.items():
        if getattr(term, "telescopes", False):
            raise ConfigError(
                f"rewards.{name} only moves reward between the turns of an episode, and algorithm.credit "
                "episode compares their sums, which it leaves as they are: set algorithm.credit: turn and "
                f"algorithm.credit.gamma: 0.7, or leave {name} out (docs/guide/rewards.md)"
            )


class TermRewards:
    """What a trainer does with reward terms; without any, nothing.

    Args:
        values: as ``pixelis.rewards.stack.reward_config.read_rewards`` takes them; empty: the env's
            reward alone. ``vote`` is no term of an episode, see `pixelis.agents.rl.vote`.
        traits: of the environment that is played.

    Attributes:
        stack: the terms, None without any.
        rewarder: what a `Collector` pays by, None without any.
        change: the change of stage that the last step brought, None for none.
    """

    def __init__(self, values: Mapping[str, Any], traits: RewardTraits | None = None) -> None:
        self.stack = None if read_vote(values) else build_rewards(values, traits)
        self.rewarder = None if self.stack is None else Rewarder(self.stack)
        self.change: StageChange | None = None
        self._told: set[str] = set()

    def warn_of_length(self, steps: int) -> None:
        """Say if a training of so many steps ends before the curriculum's later stages can begin."""
        if self.stack is None or self.stack.curriculum is None:
            return
        late = [one for one in self.stack.curriculum.earliest.items() if one[1] >= steps]
        if late:
            _LOG.warning(
                "rewards.curriculum: training ends with step %d, and stage %r cannot begin before step %d "
                "is done: its weights are never paid. Train longer, or give stages with fewer steps and a "
                "smaller check_every (docs/guide/rewards.md)",
                steps,
                *late[0],
            )

    def learn(self) -> Row:
        """Let the terms learn from the step's episodes; return what they measure, and the weights."""
        if self.stack is None:
            return {}
        start = time.perf_counter()
        weights = {f"{name}/weight": value for name, value in self.stack.weights.items()}
        with user_code("a reward term that learns"):
            learnt = self.stack.learn()
        row: Row = {f"rewards/{name}": value for name, value in (learnt | weights).items()}
        return row | {"time/reward_learning": time.perf_counter() - start}

    def observe(self, step: int, row: Row) -> Row:
        """Show the curriculum a step's metrics; return the number of the stage that was on."""
        if self.stack is None or self.stack.curriculum is None:
            return {}
        stage = self.stack.curriculum.index
        self.change = change = self.stack.observe(step, row)
        if change is not None:
            _LOG.info(
                "curriculum: %s from stage %s to %s at step %d: %s; weights are now %s",
                change.event,
                change.previous,
                change.stage,
                change.step,
                change.reason,
                ", ".join(f"{name} {value:g}" for name, value in self.stack.weights.items()),
            )
        for metric in sorted({*self.stack.curriculum.unmeasured} - self._told):
            self._told.add(metric)
            _LOG.warning(
                "rewards.curriculum: %s has had no value by step %d, so an exit that goes by it cannot end "
                "stage %r%s",
                metric,
                step,
                self.stack.curriculum.stage.name,
                "; does the environment say success in info?" if "success" in metric else "",
            )
        return {"rewards/stage": stage}

    def remember(self) -> Callable[[], None]:
        """Return what puts the terms back to where they are now."""
        if self.stack is None:
            return lambda: None
        stack, state = self.stack, deepcopy(self.stack.state_dict())
        return lambda: stack.load_state_dict(state)

    def save_files(self, folder: Path) -> None:
        """Write what the terms have learnt into a checkpoint's folder."""
        if self.stack is not None:
            write_tensors(folder / _FILE, self.stack.state_dict())

    def take_over(self, folder: Path) -> list[str]:
        """Take what another run's terms have learnt, where both have them; return what that was, in words.

        Raises:
            CheckpointError: it is damaged, of another version, or of other settings.
        """
        if not (folder / _FILE).is_file():
            return []
        if self.stack is None:
            return ["not what its reward terms have learnt (there are none here)"]
        try:
            return self.stack.take_over(read_tensors(folder / _FILE))
        except StateError as error:
            raise CheckpointError(f"from_run: checkpoint {str(folder)!r}: {error}") from error

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote.

        Raises:
            CheckpointError: it is missing, damaged, or of another version.
        """
        if self.stack is None:
            return
        try:
            self.stack.load_state_dict(read_tensors(folder / _FILE))
        except StateError as error:
            raise CheckpointError(f"checkpoint {str(folder)!r}: {error}") from error
