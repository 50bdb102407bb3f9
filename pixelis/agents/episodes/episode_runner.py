"""An episode in play: its env, what the env said last, and the record that is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episodes.episode import Episode, Exchange
from pixelis.agents.episodes.timed_env import EnvTimeoutError
from pixelis.envs.spaces import clean_text
from pixelis.errors import PixelisError, RewardError, UserCodeError, shown
from pixelis.rewards.stack.stack import EpisodeMemory, StepReward
from pixelis.rewards.terms.weights import as_number
from pixelis.user_code import RAISED, described, place_of, place_of_function, trace_of
from pixelis.wrappers.recording.values import is_picture
from pixelis.wrappers.scoring.traits import progress_of, traits_of

_KEPT_APART = ("tool_calls", "reward_terms", "success", "valid_for_training", "failure_reason")


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode to play.

    Attributes:
        seed: the env's reset seed; equal for the members of a group.
        group: which group of the batch.
        member: index inside the group.
        options: the env's reset options (``difficulty``, ``split``, ``task``, ...).
        pictures: whether the episode keeps copies of the pictures it saw, for people to look at.
    """

    seed: int
    group: int = 0
    member: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    pictures: bool = False


class EpisodeRunner:
    """Plays one request in one env and keeps the books; whoever holds it decides the actions.

    Args:
        env: an env of dict observations, with ``text`` and perhaps ``image``.
        request: what to play.
        reads_text: whether an observation without ``text`` is a failure of the env.

    Attributes:
        episode: the record so far; its segments are left to the holder.
        observation: the last one.
        before: the one to which the last action answered.
        action: the last action.
        memory: what reward terms keep of this episode, see `rewarder`; None without any.
        progress: what the env last said of its own progress, see `ask_progress`; None before.
        info: the env's last info, whole.
        done: nothing more to play.
        timed_out: a call of the env did not return in time.
    """

    def __init__(self, env: gym.Env[Any, Any], request: EpisodeRequest, *, reads_text: bool = True) -> None:
        self.env, self.request, self._reads_text = env, request, reads_text
        env_id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        self.episode = Episode(env_id, request.seed, request.group, request.member)
        traits = traits_of(env)
        self.episode.visual_tools = None if traits.tools is None else traits.visual
        self.episode.options = dict(request.options)
        self.observation: Any = None
        self.before: Any = None
        self.action = ""
        self.memory: EpisodeMemory | None = None
        self.progress: float | None = None
        self.info: dict[str, Any] = {}
        self.done = self.timed_out = False

    def reset(self) -> None:
        """Reset the env; if it raises or is late, the episode is over and not valid for training.

        Raises:
            PixelisError: a wrong option, which is the caller's mistake and the same for every episode.
        """
        options = dict(self.request.options) or None
        try:
            self.observation, self.info = self.env.reset(seed=self.request.seed, options=options)
        except PixelisError:
            raise
        except RAISED as error:
            self._record_failure("reset", error)
        else:
            self.episode.asked = _text_of(self.observation)
            self._note("reset")
            self._keep_picture()

    def step(self, action: str) -> None:
        """Play one turn.

        If the env raises or is late, or its reward is no finite number, the episode is over and not valid for
        training.
        """
        episode = self.episode
        self.before, self.action = self.observation, action
        try:
            self.observation, given, terminated, truncated, self.info = self.env.step(action)
            episode.terminated, episode.truncated = bool(terminated), bool(truncated)
        except RAISED as error:  # whatever an env does wrong, the other episodes go on
            episode.exchanges.append(Exchange(action, None, 0))
            episode.pictures += [None] * self.request.pictures
            self._record_failure("step", error)
            return
        known, terms = len(episode.tool_calls), dict(episode.reward_terms)
        reward = as_number(given)
        episode.turns += 1
        self._add(0.0 if reward is None else reward)
        self.done = episode.terminated or episode.truncated
        self._note("step")
        calls = len(episode.tool_calls) - known
        turn = self.info.get("turn")  # what a wrapper with actions of its own has said in the place of one
        said = turn if isinstance(turn, str) else action
        added = _added(terms, episode.reward_terms)
        episode.exchanges.append(Exchange(said, _text_of(self.observation), calls, added))
        self._keep_picture()
        if reward is None:
            got = str(given) if isinstance(given, float) else shown(given, 60)
            self._fail_in("step", f"task: step returned the reward {got}, expected a finite number")

    def ask_progress(self) -> None:
        """Ask the env how near its goal the episode is; if it raises or is late, the episode is over."""
        try:
            self.progress = progress_of(self.env)
        except RAISED as error:
            self._record_failure("progress", error)

    def pay(self, scored: StepReward) -> None:
        """Put a reward in the place of the one that the env gave for the last step."""
        self.episode.turn_rewards.pop()
        self._add(scored.reward)
        self.episode.reward_parts = {name: part.to_json() for name, part in scored.parts.items()}
        last = self.episode.exchanges[-1]
        self.episode.exchanges[-1] = replace(last, terms={**last.terms, **scored.terms})

    def fail(self, reason: str, place: str | None = None, trace: str | None = None) -> None:
        """End the episode as one that a trainer must leave out.

        Args:
            reason: why.
            place: the line that it comes from, as ``file:line``.
            trace: the traceback, where something was raised.
        """
        self.done = True
        self.episode.valid_for_training = False
        self.episode.failure_reason = reason
        self.episode.failure_place, self.episode.failure_trace = place, trace

    def blame(self, what: str, error: BaseException) -> None:
        """End the episode for what somebody's code raised; ``what`` says which, where the error does not."""
        said = str(error) if isinstance(error, UserCodeError) else f"{what} raised {described(error)}"
        self.fail(said, place_of(error), trace_of(error))

    def seen(self) -> tuple[str, np.ndarray | None]:
        """Return the observation's text, and its image (uint8 [H, W, 3]) if that is a new one."""
        image = self.observation.get("image") if self.info.get("view_changed", True) else None
        return clean_text(self.observation["text"]), image

    def starts_like(self, other: EpisodeRunner) -> bool:
        """Whether both show the same text and image."""
        (text, image), (text_2, image_2) = self.seen(), other.seen()
        if image is None or image_2 is None:
            return text == text_2 and image is image_2
        return text == text_2 and np.array_equal(image, image_2)

    def tool_schemas(self) -> Sequence[Mapping[str, Any]]:
        """Return the env's tools as OpenAI function schemas; none if it is no ``ToolEnv``."""
        toolset = getattr(self.env.unwrapped, "toolset", None)
        return toolset.schemas() if toolset is not None else ()

    def _add(self, reward: float) -> None:
        self.episode.turn_rewards.append(reward)
        self.episode.reward = math.fsum(self.episode.turn_rewards)

    def _record_failure(self, call: str, error: BaseException) -> None:
        self.timed_out = isinstance(error, EnvTimeoutError)
        if self.timed_out:
            self.fail(str(error), self._place_of(call))
        else:
            self.blame(call, error)
            if _is_ours(error):  # such as a tuple of the wrong length, which is noticed here
                self.episode.failure_place = self._place_of(call)

    def _fail_in(self, call: str, reason: str) -> None:
        self.fail(reason, self._place_of(call))

    def _place_of(self, call: str) -> str | None:
        """Return where the env's own method is written."""
        method = getattr(type(self.env.unwrapped), call, None)
        return None if method is None else place_of_function(method)

    def _note(self, call: str) -> None:
        """Keep what the info says; an info, or an observation to go on from, that cannot be read fails it."""
        try:
            self._read_info()
        except RAISED as error:
            said = str(error) if isinstance(error, RewardError) else described(error)
            self._fail_in(call, f"the info of {call} cannot be read: {said}")
            self.episode.failure_trace = trace_of(error)
        seen = self.observation
        if self._reads_text and not self.done and not _has_text(seen):
            got = f"a dict with {shown([*seen], 60)}" if isinstance(seen, Mapping) else type(seen).__name__
            self._fail_in(
                call, f"{call} returned the observation {got}, expected a dict whose 'text' is a text"
            )

    def _keep_picture(self) -> None:
        if not self.request.pictures:
            return
        is_new = isinstance(self.info, Mapping) and self.info.get("view_changed", True)
        found = self.observation.get("image") if isinstance(self.observation, Mapping) and is_new else None
        shown = found.copy() if isinstance(found, np.ndarray) and is_picture(found) else None
        self.episode.pictures.append(shown)

    def _read_info(self) -> None:
        info, episode = self.info, self.episode
        if not isinstance(info, Mapping):
            self.info = {}
            raise TypeError(f"expected a dict, got {type(info).__name__}")
        calls = info.get("tool_calls", ())
        for call in calls:
            if not isinstance(call, Mapping):
                raise TypeError(f"tool_calls holds {shown(call, 60)}, expected a dict for each call")
        episode.tool_calls.extend(calls)
        for name, value in info.get("reward_terms", {}).items():
            number = as_number(value)
            if number is None:
                raise RewardError(f"the reward term {name!r} is {shown(value, 60)}, expected a finite number")
            episode.reward_terms[name] = episode.reward_terms.get(name, 0.0) + number
        if (success := info.get("success")) is not None:
            if (number := as_number(success)) is None:
                raise RewardError(f"success is {shown(success, 60)}, expected true or false")
            episode.success = bool(number)
        episode.info = {key: value for key, value in info.items() if key not in _KEPT_APART}
        if not info.get("valid_for_training", True):
            self.fail(str(info.get("failure_reason", "the environment gave no reason")))


def _added(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return by how much sums have grown, those that have."""
    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    return {name: value for name, value in grown.items() if value}


def _text_of(observation: Any) -> str | None:
    text = observation.get("text") if isinstance(observation, Mapping) else None
    return clean_text(text) if isinstance(text, str) else None


def _is_ours(error: BaseException) -> bool:
    """Whether an exception was raised in this module, by what an env returned."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == __file__


def _has_text(observation: Any) -> bool:
    return isinstance(observation, Mapping) and isinstance(observation.get("text"), str)
