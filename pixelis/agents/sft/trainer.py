"""The SFT trainer: batches of demonstrations by stage, measured on those held out."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.settings.sft_curriculum import DifficultyCurriculum
from pixelis.agents.sft.learner import HeldOutScore, rate_factor
from pixelis.agents.sft.polychromic import DiversitySettings, DiversityTerm, SampledSets
from pixelis.agents.sft.pool import Draws, Pool
from pixelis.agents.sft.stepper import SupervisedStepper
from pixelis.errors import CheckpointError

_LOG = logging.getLogger(__name__)


class SftTrainer(SupervisedStepper[SftConfig]):
    """Trains a policy's adapter on demonstrations.

    Args:
        config: see `SftConfig`.
        policy: see `Stepper`.
        run: where files go.
        pool: the demonstrations, some held out.

    Attributes:
        curriculum: None without one.
    """

    def __init__(self, config: SftConfig, policy: Policy, run: RunFolder, pool: Pool) -> None:
        super().__init__(config, policy, run)
        self.pool = pool
        self.curriculum = config.make_curriculum()
        self._draws = Draws(self.pool.train, config.seed)
        self._diversity = diversity_term(config, policy)
        self._every = config.diversity.every if config.diversity else 1

    @property
    def total_steps(self) -> int:
        """The step with which training ends."""
        if self.config.steps is not None:
            return self.config.steps
        count = sum(map(len, self.pool.train.values()))
        return self.config.epochs * math.ceil(count / self.config.batch_size)

    def take_step(self, number: int) -> Row:
        """Learn one batch; measure where it is time to."""
        if self.curriculum is None:
            batch = self._draws.batch(self.config.batch_size)
        else:
            batch = self._draws.mixed(self.config.batch_size, self.curriculum.stage.shares, number)
        rate = self.rate * rate_factor(number - 1, self.total_steps, self.config.warmup)
        sets, also = self._sets(batch, number), None
        if sets is not None and self._diversity is not None:
            also = partial(self._diversity.backward, sets)
        step = self.learner.step(batch, rate, also)
        row: Row = {
            "train/loss": step.loss,
            "train/grad_norm": step.grad_norm,
            "train/lr": step.learning_rate,
            "train/epochs": self._draws.epochs,
            "tokens/demonstrated": step.tokens,
            "tokens/fill": step.fill,
        }
        row |= {} if sets is None else sets.metrics
        if self.curriculum is not None:
            row["curriculum/stage"] = self.curriculum.index
        is_due = number % self.config.eval_every == 0 or number == self.total_steps
        if is_due or (self.curriculum is not None and self.curriculum.is_over(number)):
            row |= self._measure(number)
        return row

    def progress(self) -> dict[str, Any]:
        """Return the state of draws and curriculum, and which demonstrations they are of."""
        state = {
            "draws": self._draws.state_dict(),
            "curriculum": self.curriculum.state_dict() if self.curriculum is not None else None,
            "demonstrations": self.pool.digest,
        }
        return {"progress": state}

    def load_progress(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned.

        Raises:
            CheckpointError: the demonstrations are not those that the run began with.
        """
        state = progress["progress"]
        if state["demonstrations"] != self.pool.digest:
            raise CheckpointError(
                "the demonstrations are not those that the run began with; put the file back, or start anew"
            )
        self._draws.load_state_dict(state["draws"])
        if self.curriculum is not None:
            self.curriculum.load_state_dict(state["curriculum"])

    # ------------------------------------------------------------------ private

    def _sets(self, batch: Sequence[Episode], number: int) -> SampledSets | None:
        if self._diversity is None or (number - 1) % self._every:
            return None
        return self._diversity.draw(batch, number)

    def _measure(self, number: int) -> Row:
        levels = [level for level, episodes in self.pool.held_out.items() if episodes]
        scores = {level: self.learner.score(self.pool.held_out[level]) for level in levels}
        if not scores:
            return {}
        tokens = sum(score.tokens for score in scores.values())
        row: Row = {
            "held_out/loss": sum(score.loss * score.tokens for score in scores.values()) / tokens,
            "held_out/accuracy": sum(score.accuracy * score.tokens for score in scores.values()) / tokens,
        }
        if len(scores) > 1:
            for level, score in scores.items():
                row[f"held_out/loss/level{level}"] = score.loss
                row[f"held_out/accuracy/level{level}"] = score.accuracy
        if self.curriculum is not None:
            self._observe(number, self.curriculum, scores)
        return row

    def _observe(
        self, number: int, curriculum: DifficultyCurriculum, scores: Mapping[int, HeldOutScore]
    ) -> None:
        metrics = {level: {"loss": each.loss, "accuracy": each.accuracy} for level, each in scores.items()}
        event = curriculum.observe(number, metrics)
        if event is not None:
            _LOG.info("step %d: %s to stage %r", number, event, curriculum.names[curriculum.index])


def diversity_term(config: SftConfig, policy: Policy) -> DiversityTerm | None:
    """Return the term of the loss for the diversity of samples, None where none are drawn.

    Raises:
        ConfigError: there is no such measure.
    """
    asked = config.diversity
    if asked is None:
        return None
    sampling = SamplingSettings(config.temperature, max_new_tokens=config.max_new_tokens)
    settings = DiversitySettings(
        asked.measure,
        asked.weight,
        asked.samples,
        asked.prompts,
        sampling,
        config.seed,
        config.micro_batch_size,
    )
    return DiversityTerm(policy, settings)
