"""The trainer of an `Sb3Agent`: a step is a rollout and its updates, measured like every other trainer's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.failures import FailureWatch
from pixelis.agents.optimisation.optimiser import schedule
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import MovingMeans, Row, episode_metrics
from pixelis.agents.runs.sinks.samples import episode_sample
from pixelis.agents.runs.sinks.sink import StepSample
from pixelis.agents.runs.stepper import Stepper
from pixelis.agents.runs.transcripts import episode_row
from pixelis.agents.sb3.agent import Sb3Agent
from pixelis.agents.sb3.config import Sb3Config
from pixelis.errors import TrainingError

SAMPLES = 8
_OF_TOKENS = ("completion/", "tokens/")


class Sb3Trainer(Stepper[Sb3Config]):
    """Trains an agent; a resumed run gives the numbers of one that never stopped.

    Args:
        config: see `Sb3Config`.
        agent: what is trained.
        run: where files go.
    """

    def __init__(self, config: Sb3Config, agent: Sb3Agent, run: RunFolder) -> None:
        trained: Any = agent  # Stepper asks nothing of it but save_trained
        super().__init__(config, trained, run)
        self.agent, self.learner, self._rate = agent, agent.model, config.lr
        self._success, self._failures, self._episodes = MovingMeans(), FailureWatch(), 0
        self._last: list[dict[str, Any]] = []
        self._played: list[Episode] = []

    @property
    def total_steps(self) -> int:
        """The step with which training ends."""
        return self.config.steps

    def take_step(self, number: int) -> Row:
        """Play, learn, measure.

        Raises:
            TrainingError: the weights are no longer finite.
        """
        lr = self._rate * schedule(number - 1, 0, self.config.decay_steps)
        self.learner.lr_schedule = lambda _: lr  # SB3 asks it before every update
        episodes, learnt = self.learner.take_step(number)
        self._failures.note(episodes, f"step {number}")
        if not all(bool(torch.isfinite(each).all()) for each in self.learner.policy.parameters()):
            raise TrainingError(f"the weights are not finite after step {number}; resume with a lower --lr")
        self._episodes += len(episodes)
        measured = episode_metrics(episodes)
        left_out = _OF_TOKENS if self.config.agent.type == "sb3-grpo" else (*_OF_TOKENS, "groups/")
        row: Row = {name: value for name, value in measured.items() if not name.startswith(left_out)}
        self._success.add(row["success/rate"])
        row |= {f"success/ma{window}": mean for window, mean in self._success.means().items()}
        row |= {"episodes/total": self._episodes, "env_steps/total": self.learner.num_timesteps}
        self._played, self._last = episodes, [episode_row(episode) for episode in episodes[:SAMPLES]]
        if number % self.config.sample_every == 0:
            self.run.write_trajectories(number, self._last)
        return row | learnt

    def lower_rate(self, factor: float) -> Row:
        """Multiply the learning rate."""
        self._rate *= factor
        return {}

    def sample(self) -> StepSample:
        """Return the distributions of the last step's episodes, which have neither tokens nor text."""
        return episode_sample(self._played)

    def parameter_counts(self) -> tuple[int, int]:
        """Return the size of the network, all of which is trained."""
        count = sum(parameter.numel() for parameter in self.learner.policy.parameters())
        return count, count

    def after_last_step(self) -> None:
        """Write the sample episodes of the last step, whichever it was."""
        self.run.write_trajectories(self.finished_steps, self._last)

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state, and the learning rate without its schedule."""
        return {"optimiser": self.learner.policy.optimizer.state_dict(), "rate": self._rate}

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.learner.policy.optimizer.load_state_dict(tensors["optimiser"])
        self._rate = float(tensors.get("rate", self._rate))  # older checkpoints: it was never lowered

    def progress(self) -> dict[str, Any]:
        """Return the moving means and the learner's counters."""
        counters = {"episodes": self._episodes, "learner": self.learner.counters()}
        return {"progress": {"success": self._success.state_dict(), **counters}}

    def load_progress(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned."""
        saved = progress["progress"]
        self._success.load_state_dict(saved["success"])
        self._episodes = int(saved["episodes"])
        self.learner.restore_counters(saved["learner"])

    def save_files(self, folder: Path) -> None:
        """Write the replay buffer, where there is one."""
        self.agent.save_replay(folder)

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote."""
        self.agent.load_replay(folder)

    def close(self) -> None:
        """Close the environments."""
        self.agent.close()
