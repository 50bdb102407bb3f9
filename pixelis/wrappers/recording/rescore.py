"""Scoring recorded episodes again under other rewards, with no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.errors import RecordingError, RewardError, shown
from pixelis.rewards.stack.orchestrator import Part
from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack, StepReward
from pixelis.rewards.terms.term import CALLS_KEY
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.rewards.terms.weights import TASK
from pixelis.wrappers.recording.images import FOLDER, ImageFolder
from pixelis.wrappers.recording.replay import Replayer
from pixelis.wrappers.recording.trajectory import RecordedStep, Trajectory
from pixelis.wrappers.recording.values import decode, tag_of
from pixelis.wrappers.scoring.scoring import (
    TASK_KEY,
    EnvStep,
    LearningSchedule,
)

Load = Callable[[Mapping[str, Any]], np.ndarray]


@dataclass(frozen=True)
class Rescored:
    """An episode under its old and its new rewards.

    Attributes:
        recorder, episode, lane, seed, success, finished: as recorded.
        steps: number of steps.
        old_return: sum of the recorded rewards.
        new_return: sum of the new ones.
        new_rewards: the new reward of each step.
        terms: the task's reward and each new term's raw values, summed over the episode.
        parts: component → raw, normalised and weighted, of an episode that ended; empty for a cut-off one.
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
    new_rewards: tuple[float, ...]
    terms: Mapping[str, float]
    parts: Mapping[str, Part]
    images_from: str | None


def rescore(
    trajectories: Iterable[Trajectory], stack: RewardStack, replayer: Replayer | None = None
) -> Iterator[Rescored]:
    """Yield each episode's return under other rewards, in order.

    What is paid is, bit for bit, what the wrappers of the same rewards pay an env that plays these episodes
    in this order: terms learn and statistics move after each episode, and an unfinished one gets no last
    step. (A vector's twins score several episodes at once; here they come one after the other.)

    Text, tool calls and small arrays come out of the recording. A picture is fetched when a term looks at it:
    from its file where there is one, else by playing the episode again.

    Args:
        trajectories: recorded episodes.
        stack: the new rewards, for example of ``pixelis.rewards.stack.stack.build_stack``.
        replayer: plays episodes again for their pictures.

    Raises:
        ConfigError: the stack has an orchestrator, and neither its settings nor the recording say the task's
            gap; or the settings name a larger one than the recording.
        RewardError: a term gave, or the recording holds, a number that is not finite; or a term needs tool
            calls and there are none.
        RecordingError: a picture cannot be had.
    """
    learning = LearningSchedule(stack)
    traits: RewardTraits | None = None
    with replayer or Replayer() as playing:
        for trajectory in trajectories:
            recorded = _traits_of(trajectory)
            if recorded != traits:
                stack.adapt(recorded)
                traits = recorded
            yield _rescore(trajectory, stack, learning, _Pictures(trajectory, playing))


def task_reward(step: RecordedStep, trajectory: Trajectory) -> float:
    """Return what the env itself paid for a step.

    That is ``info["reward_task"]``, which reward wrappers below the recorder put there, and the recorded
    reward where none lay below.

    Raises:
        RecordingError: it is no number.
    """
    if TASK_KEY not in step.info or not _is_wrapped(trajectory):
        return step.reward
    value = decode(step.info[TASK_KEY])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordingError(
            f"{trajectory.path}, line {trajectory.line}: {TASK_KEY} must be a number, got {shown(value)}; "
            "the line is damaged, record again"
        )
    return float(value)


# ---------------------------------------------------------------------- private


def _is_wrapped(trajectory: Trajectory) -> bool:
    """Return whether wrappers may lie below the recorder; an env's own ``reward_task`` means nothing."""
    env = trajectory.env
    below = env.get("wrappers") or (env.get("vector") or {}).get("wrappers")
    return bool(below) or env.get("id") is None


def _traits_of(trajectory: Trajectory) -> RewardTraits:
    """Return what the recorded env declared.

    Raises:
        RecordingError: that cannot be read.
    """
    try:
        return RewardTraits.from_json(trajectory.env.get("traits"))
    except RecordingError as error:
        raise RecordingError(f"{trajectory.path}, line {trajectory.line}: {error}") from error


def _rescore(
    trajectory: Trajectory, stack: RewardStack, learning: LearningSchedule, pictures: _Pictures
) -> Rescored:
    memory = stack.begin()
    scores: list[StepReward] = []
    sums = {TASK: 0.0}
    for number, played in enumerate(_steps(trajectory, memory, pictures.load), start=1):
        try:
            score = _score(stack, played)
        except RewardError as error:
            raise RewardError(f"{trajectory.path}, line {trajectory.line}, step {number}: {error}") from error
        learning.count(1, played.ended)
        scores.append(score)
        for name, value in {TASK: played.reward, **score.terms}.items():
            sums[name] = sums.get(name, 0.0) + value
    rewards = tuple(score.reward for score in scores)
    return Rescored(
        recorder=trajectory.recorder,
        episode=trajectory.episode,
        lane=trajectory.lane,
        seed=trajectory.start.seed,
        success=trajectory.success,
        finished=trajectory.finished,
        steps=len(trajectory.steps),
        old_return=trajectory.total_reward,
        new_return=float(sum(rewards)),
        new_rewards=rewards,
        terms=sums,
        parts=scores[-1].parts if scores else {},
        images_from=pictures.source,
    )


def _score(stack: RewardStack, played: EnvStep) -> StepReward:
    needy = stack.needs_calls
    transition = played.transition(needy or "rewards", needy is not None)
    (score,) = stack.score([(played.memory, transition, played.reward)])
    return score


def _steps(trajectory: Trajectory, memory: EpisodeMemory, load: Load) -> Iterator[EnvStep]:
    """Yield an episode's steps as a reward wrapper saw them; the reward is the task's."""
    before = _observation(trajectory.start.row["observation"], load)
    for step in trajectory.steps:
        after = _observation(step.row["observation"], load)
        info = {CALLS_KEY: _calls(step.info[CALLS_KEY], load)} if CALLS_KEY in step.info else {}
        yield EnvStep(
            memory,
            before,
            decode(step.action),
            after,
            task_reward(step, trajectory),
            step.row["terminated"],
            step.row["truncated"],
            info,
        )
        before = after


def _observation(encoded: Any, load: Load) -> Mapping[str, Any]:
    """Return what ``as_mapping`` makes of an observation, with parts that are decoded when looked at."""
    tag = tag_of(encoded)
    if tag == "$dict":
        return decode(encoded, load)
    if tag is None and isinstance(encoded, dict):
        return _Parts(encoded, load)
    about = encoded[tag] if tag in ("$image", "$array", "$digest") else {}
    picture = about.get("dtype") == "|u1" and len(about.get("shape", ())) == 3
    name = "text" if isinstance(encoded, str) else "image" if picture else "value"
    return _Parts({name: encoded}, load)


def _calls(encoded: Any, load: Load) -> Any:
    """Return records of tool calls, likewise: what nobody looks at need not have been written out."""
    items = encoded["$tuple"] if tag_of(encoded) == "$tuple" else encoded
    if not isinstance(items, list):
        return decode(items, load)
    plain = [isinstance(each, dict) and tag_of(each) is None for each in items]
    return [
        _Parts(each, load) if is_plain else decode(each, load)
        for each, is_plain in zip(items, plain, strict=True)
    ]


class _Parts(Mapping[str, Any]):
    """A dict whose values are decoded when they are looked at, each once."""

    def __init__(self, encoded: Mapping[str, Any], load: Load) -> None:
        self._encoded, self._load = encoded, load
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = decode(self._encoded[name], self._load)
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
        return any(sha256 not in self._files for row in rows for sha256 in _digests(row["observation"]))

    def _play(self) -> None:
        self._played = self._replayer.arrays(self._trajectory)
        self.source = "env"


def _digests(value: Any) -> Iterator[str]:
    """Yield the digests of everything in an encoded observation that is given by one."""
    tag = tag_of(value)
    if tag in ("$image", "$digest"):
        yield value[tag]["sha256"]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _digests(each)
