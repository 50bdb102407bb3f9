"""``VectorEpisodeReward``: what the reward wrappers of vector environments share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import iterate

from pixelis.errors import RewardError
from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack
from pixelis.wrappers.reward.episodes import StepScorer
from pixelis.wrappers.scoring.order import check_calling_wrappers, is_orchestrator, is_term, layers
from pixelis.wrappers.scoring.scoring import (
    READ_KEYS,
    TASK_KEY,
    CutEpisodes,
    EnvStep,
    LearningSchedule,
    as_text,
)
from pixelis.wrappers.scoring.traits import progress_of_lanes
from pixelis.wrappers.vector.base import AnyVectorWrapper


class VectorEpisodeReward(AnyVectorWrapper):
    """Follows the episodes of a vector environment and lets a scorer change their rewards, all at once.

    Every autoreset mode is followed. Next step: the step that only resets an environment is not scored.
    Same step: the last step's observation, calls and terms are those of ``final_obs`` and ``final_info``.
    Disabled: ``reset(options={"reset_mask": …})`` begins episodes anew.

    Args:
        env: the vector environment.
        scorer: gives the rewards.
    """

    def __init__(self, env: VectorEnv[Any, Any, np.ndarray], scorer: StepScorer) -> None:
        super().__init__(env)
        self._scorer = scorer
        mode = self.metadata.get("autoreset_mode", "NextStep")  # Gymnasium's own default
        self._mode = getattr(mode, "value", mode)
        self._reused = not getattr(env.unwrapped, "copy", True)  # observations are overwritten in place
        self._memories: list[EpisodeMemory | None] = [None] * self.num_envs
        self._observations: list[Any] = [None] * self.num_envs
        self._read = READ_KEYS if _is_paid_inside(env) else tuple(set(READ_KEYS) - {TASK_KEY})
        self._learning = LearningSchedule(scorer.stack)
        self._asks = scorer.stack.needs_progress
        self._cut = CutEpisodes(type(self).__name__)

    @property
    def stack(self) -> RewardStack:
        """The reward stack behind this wrapper, with ``state`` and ``load_state_dict``."""
        return self._scorer.stack

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes: all, or those of ``options["reset_mask"]`` (bool [num_envs]).

        Raises:
            WrapperOrderError: a wrapper outside ends episodes.
        """
        if self._cut.begin():
            check_calling_wrappers(self)
        mask = None if options is None else options.get("reset_mask")
        begun = np.ones(self.num_envs, np.bool_) if mask is None else np.array(mask)
        observations, infos = self.env.reset(seed=seed, options=options)
        self._observations = self._split(observations)
        for lane in np.flatnonzero(begun):
            self._memories[lane] = self.stack.begin()
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play a step in every environment and score them together.

        Raises:
            RewardError: an env's reward or a term is not finite; the message names the component.
        """
        said = [as_text(action) for action in iterate(self.action_space, actions)]
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        near = progress_of_lanes(self.env) if self._asks else [None] * self.num_envs
        paid = np.array(rewards, dtype=np.float64)
        ended = np.asarray(terminated) | np.asarray(truncated)
        shown = self._split(observations)
        lanes = [lane for lane, memory in enumerate(self._memories) if memory is not None]
        steps = [
            self._step_of(lane, said[lane], shown[lane], (paid, terminated, truncated), infos, near[lane])
            for lane in lanes
        ]
        for lane, step, scored in zip(lanes, steps, self._scorer.score(steps), strict=True):
            paid[lane] = scored.reward
            home = infos["final_info"] if self._is_final(step.ended) else infos
            self._add_info(home, dict(scored.info), int(lane))
        self._observations = shown
        self._cut.count(bool(ended.any()))
        self._move_on(ended)
        return observations, paid, terminated, truncated, infos

    # ------------------------------------------------------------------ private

    def _is_final(self, ended: bool) -> bool:
        return ended and self._mode == "SameStep"

    def _step_of(
        self,
        lane: int,
        action: str,
        shown: Any,
        result: tuple[Any, Any, Any],
        infos: dict[str, Any],
        near: float | None,
    ) -> EnvStep:
        memory = self._memories[lane]
        assert memory is not None  # the caller leaves the others out
        rewards, terminated, truncated = result
        final = self._is_final(bool(terminated[lane] or truncated[lane]))
        if final and not {"final_obs", "final_info"} <= infos.keys():
            raise RewardError(
                "vector rewards: autoreset mode SameStep without final_obs and final_info in infos; a "
                "wrapper inside has taken them out, put it outside"
            )
        if final and self._asks:  # the environment speaks of the episode that has begun since
            near = float(_at(infos["final_info"], "success", lane))
        return EnvStep(
            memory,
            self._observations[lane],
            action,
            infos["final_obs"][lane] if final else shown,
            float(rewards[lane]),
            bool(terminated[lane]),
            bool(truncated[lane]),
            lane_info(infos["final_info"] if final else infos, lane, self._read),
            near,
        )

    def _move_on(self, ended: np.ndarray) -> None:
        """Let terms learn, and begin the episodes that begin with the observations just seen."""
        self._learning.count(self.num_envs, bool(ended.any()))
        for lane, memory in enumerate(self._memories):
            if ended[lane]:
                self._memories[lane] = self.stack.begin() if self._mode == "SameStep" else None
            elif memory is None and self._mode == "NextStep":
                self._memories[lane] = self.stack.begin()  # this step has only reset the environment

    def _split(self, observations: Any) -> list[Any]:
        kept = deepcopy(observations) if self._reused else observations
        return list(iterate(self.observation_space, kept))


def lane_info(infos: Mapping[str, Any], lane: int, keys: Sequence[str] = READ_KEYS) -> dict[str, Any]:
    """Return what one environment said, of a vector's ``infos``, under the keys that rewards are made of."""
    return {key: _at(infos, key, lane) for key in keys if _has(infos, key, lane)}


def _is_paid_inside(env: VectorEnv[Any, Any, Any]) -> bool:
    """Return whether a reward wrapper of ours is inside, whose ``reward_task`` an env's own key is not."""
    envs: Any = env.unwrapped
    if any(is_term(layer) or is_orchestrator(layer) for layer in layers(env)):
        return True
    # In other processes: asking for what is not there would end them.
    return hasattr(envs, "call") and any(envs.call("has_wrapper_attr", "reward_role"))


def _has(infos: Mapping[str, Any], key: str, lane: int) -> bool:
    return key in infos and (f"_{key}" not in infos or bool(infos[f"_{key}"][lane]))


def _at(infos: Mapping[str, Any], key: str, lane: int) -> Any:
    value = infos[key]
    if isinstance(value, Mapping):
        names = [name for name in value if not (name.startswith("_") and name[1:] in value)]
        return {name: _at(value, name, lane) for name in names if _has(value, name, lane)}
    return value[lane]
