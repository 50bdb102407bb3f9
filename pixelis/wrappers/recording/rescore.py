"""Scoring recorded episodes again under other rewards, with no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pixelis.errors import RecordingError
from pixelis.rewards.term import Transition
from pixelis.wrappers.recording.images import FOLDER, ImageFolder
from pixelis.wrappers.recording.replay import Replayer
from pixelis.wrappers.recording.trajectory import Step, Trajectory
from pixelis.wrappers.recording.values import decode

TASK = "task"


class StepScore(Protocol):
    """What a step is worth: ``reward``, and the raw values of its ``terms``."""

    @property
    def reward(self) -> float:
        """What the step pays."""
        ...

    @property
    def terms(self) -> Mapping[str, float]:
        """Term → raw value."""
        ...


class Scorer(Protocol):
    """Turns steps into rewards, as a stack of reward terms does."""

    def begin(self) -> Any:
        """Return the memory of an episode that begins."""
        ...

    def score(self, batch: Sequence[tuple[Any, Transition, float]], /) -> Sequence[StepScore]:
        """Return the rewards of steps of different episodes: memory, transition, the env's own reward."""
        ...

    def learn(self) -> dict[str, float]:
        """Learn from what was scored; return metrics."""
        ...


@dataclass(frozen=True)
class Rescored:
    """An episode under its old and its new rewards.

    Attributes:
        recorder, episode, lane, seed, success, finished: as recorded.
        steps: number of steps.
        old_return: sum of the recorded rewards.
        new_return: sum of the new ones.
        terms: the task's reward and each new term's raw values, summed over the episode.
        images_from: where pictures came from: ``files``, ``env`` (it was played again), or None where no
            term looked at one.
    """

    recorder: str
    episode: int
    lane: int
    seed: int | None
    success: bool | None
    finished: bool
    steps: int
    old_return: float
    new_return: float
    terms: Mapping[str, float]
    images_from: str | None


def rescore(
    trajectories: Iterable[Trajectory], scorer: Scorer, replayer: Replayer | None = None
) -> Iterator[Rescored]:
    """Yield each episode's return under other rewards, in order; the scorer learns after each.

    Text, tool calls and small arrays come out of the recording. A picture is fetched when a term looks at it:
    from its file where there is one, else by playing the episode again. The last step of an unfinished
    episode counts as truncated.

    Args:
        trajectories: recorded episodes.
        scorer: the new rewards.
        replayer: plays episodes again for their pictures.

    Raises:
        RewardError: a term gave, or the recording holds, a number that is not finite.
        RecordingError: a picture cannot be had.
    """
    with replayer or Replayer() as playing:
        for trajectory in trajectories:
            yield _rescore(trajectory, scorer, playing)
            scorer.learn()


def task_reward(step: Step, trajectory: Trajectory) -> float:
    """Return what the task itself paid for a step.

    That is the recorded reward, unless reward wrappers of Pixelis lay below the recorder: then the term
    ``task`` of ``info["reward_terms"]``, 0 where a step has none.
    """
    if not _is_shaped(trajectory):
        return step.reward
    terms = step.info.get("reward_terms")
    return float(decode(terms.get(TASK, 0.0))) if isinstance(terms, dict) else 0.0


# ---------------------------------------------------------------------- private


def _is_shaped(trajectory: Trajectory) -> bool:
    wrappers = trajectory.env.get("wrappers") or []
    ours = any(str(one.get("entry_point", "")).startswith("pixelis.wrappers") for one in wrappers)
    return ours or bool((trajectory.env.get("vector") or {}).get("wrappers"))


def _rescore(trajectory: Trajectory, scorer: Scorer, replayer: Replayer) -> Rescored:
    pictures = _Pictures(trajectory, replayer)
    memory = scorer.begin()
    new, sums = 0.0, {TASK: 0.0}
    for transition, step in zip(_transitions(trajectory, pictures), trajectory.steps, strict=True):
        task = task_reward(step, trajectory)
        (score,) = scorer.score([(memory, transition, task)])
        new += score.reward
        for name, value in {TASK: task, **score.terms}.items():
            sums[name] = sums.get(name, 0.0) + value
    return Rescored(
        recorder=trajectory.recorder,
        episode=trajectory.episode,
        lane=trajectory.lane,
        seed=trajectory.start.seed,
        success=trajectory.success,
        finished=trajectory.finished,
        steps=len(trajectory.steps),
        old_return=trajectory.total_reward,
        new_return=new,
        terms=sums,
        images_from=pictures.source,
    )


def _transitions(trajectory: Trajectory, pictures: _Pictures) -> Iterator[Transition]:
    before = _Observation(trajectory.start.row["observation"], pictures)
    for number, step in enumerate(trajectory.steps):
        after = _Observation(step.row["observation"], pictures)
        action = decode(step.action)
        transition = Transition(
            observation=before,
            action=action if isinstance(action, str) else str(action),
            next_observation=after,
            calls=tuple(decode(step.info.get("tool_calls") or [])),
            terminated=step.row["terminated"],
            truncated=step.row["truncated"],
        )
        if number == len(trajectory.steps) - 1 and not transition.ended:
            transition = replace(transition, truncated=True)
        yield transition
        before = after


class _Observation(Mapping[str, Any]):
    """An observation whose parts are decoded when they are looked at, each once.

    One that is no dict has the one part ``observation``.
    """

    def __init__(self, encoded: Any, pictures: _Pictures) -> None:
        plain = isinstance(encoded, dict) and not any(name.startswith("$") for name in encoded)
        self._encoded: dict[str, Any] = encoded if plain else {"observation": encoded}
        self._pictures = pictures
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = decode(self._encoded[name], self._pictures.load)
        return self._decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._encoded  # Mapping's own would load the picture

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)


class _Pictures:
    """The pictures of an episode: from files, or from the env played again, at most once.

    Attributes:
        source: where they came from so far.
    """

    def __init__(self, trajectory: Trajectory, replayer: Replayer) -> None:
        self.source: str | None = None
        self._trajectory, self._replayer = trajectory, replayer
        self._files = ImageFolder(trajectory.path.parent / FOLDER)
        self._played: dict[str, np.ndarray] = {}
        vector = trajectory.env.get("vector") or {}
        # Such an episode can only be played after the one before it, which may not have been looked at yet.
        if vector.get("autoreset") == "SameStep" and self._lacks_files():
            self._play()

    def load(self, about: Mapping[str, Any]) -> np.ndarray:
        """Return a picture.

        Raises:
            RecordingError: it is in no file, and the env shows others.
        """
        sha256 = about["sha256"]
        if sha256 in self._files:
            self.source = self.source or "files"
            return self._files.load(about)
        if sha256 not in self._played:
            self._play()
        if sha256 not in self._played:
            raise RecordingError(
                f"{self._trajectory.path}, line {self._trajectory.line}: the env played again does not show "
                f"the picture {sha256[:12]}…; record with images=True, or replay to see where it differs"
            )
        return self._played[sha256]

    def _lacks_files(self) -> bool:
        rows = (self._trajectory.start.row, *(step.row for step in self._trajectory.steps))
        observations = [row["observation"] for row in rows]
        parts = [part for one in observations if isinstance(one, dict) for part in one.values()]
        wanted = [part["$image"] for part in parts if isinstance(part, dict) and "$image" in part]
        return any(about["sha256"] not in self._files for about in wanted)

    def _play(self) -> None:
        self._played = self._replayer.arrays(self._trajectory)
        self.source = "env"
