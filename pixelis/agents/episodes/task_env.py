"""The environment that a command names, checked before anything slow begins."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from pixelis.agents.episodes.scripted import scripted_names
from pixelis.agents.episodes.timed_env import EnvTimeoutError, TimedEnv
from pixelis.envs.registration import check_env_id
from pixelis.envs.tool_env import ToolEnv
from pixelis.errors import ConfigError, PixelisError, TaskError, suggest
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import RAISED, failed_code
from pixelis.wrappers.scoring.traits import traits_of

_PROBES = 8  # seeds that are tried before an env counts as one that cannot be reset

NO_SPLIT = "same distribution, no split"
"""What evaluations of an environment are called in which nothing is held out."""


@dataclass(frozen=True)
class TaskEnv:
    """A Gymnasium id with its keywords and reset options.

    Attributes:
        id: the Gymnasium id.
        kwargs: keyword arguments for ``gymnasium.make``.
        reset_options: for ``reset``, the split left out.
        max_turns: longest episode in steps; 1 when the env does not say.
        has_splits: whether ``reset`` takes the option ``split``.
        holds_out: whether the split ``test`` then has other tasks than ``train``.
        draws: whether the env can render to an array.
        shows_images: whether its observations hold pictures.
        difficulty: of its first task; None when the env has no difficulties.
        players: names of the scripted players the env ships.
        traits: what it declares to reward terms: its task's gap, and its tools.
        tool_schemas: its tools in OpenAI's function form.
        scorers: its own scorers, name → ``module:Class``, see `ToolEnv.scorers`.
        timeout_seconds: longest time that making, resetting, stepping or closing an env may take; None for no
            limit.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reset_options: Mapping[str, Any] = field(default_factory=dict)
    max_turns: int = 1
    has_splits: bool = False
    holds_out: bool = False
    draws: bool = False
    shows_images: bool = False
    difficulty: int | None = None
    players: tuple[str, ...] = ()
    traits: RewardTraits = field(default_factory=RewardTraits)
    tool_schemas: Sequence[Mapping[str, Any]] = ()
    scorers: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float | None = None

    @classmethod
    def open(
        cls,
        env_id: str,
        kwargs: Mapping[str, Any],
        reset_options: Mapping[str, Any],
        timeout_seconds: float | None = None,
    ) -> TaskEnv:
        """Make the environment once, reset it, and describe it.

        Raises:
            UnknownEnvError: the id.
            ConfigError: a keyword, an env whose observations hold no text, or one that is late.
            DifficultyError, SplitError: a reset option out of range.
            UserCodeError: it cannot be made, or none of the first seeds could be reset.
        """
        check_env_id(env_id)
        draft = cls(env_id, dict(kwargs), dict(reset_options), timeout_seconds=timeout_seconds)
        try:
            return draft._described()
        except EnvTimeoutError as error:
            raise ConfigError(
                f"environment {env_id!r}: {error}; raise --env-timeout-seconds, or see why it hangs"
            ) from error

    def make(self, **extra: Any) -> gym.Env[Any, Any]:
        """Return a new environment; ``extra`` keywords are added to its own."""
        kwargs = {**self.kwargs, **extra}

        def factory() -> gym.Env[Any, Any]:
            return gym.make(self.id, disable_env_checker=True, **kwargs)

        return factory() if self.timeout_seconds is None else TimedEnv(factory, self.timeout_seconds)

    def options(self, split: str) -> dict[str, Any]:
        """Return the options for ``reset`` that ask for tasks of a split, where the env has splits."""
        return {**self.reset_options, **({"split": split} if self.has_splits else {})}

    def held_out_seeds(self, count: int) -> list[int]:
        """Return reset seeds for evaluation.

        They count from 0 where the ``test`` split keeps tasks apart, else from 2**31, above training's.
        """
        first = 0 if self.holds_out else 2**31
        return list(range(first, first + count))

    def check_test(self) -> None:
        """Check that there are tasks for evaluation.

        Raises:
            ConfigError: the split ``test`` has none.
        """
        if not self.has_splits:
            return
        env = self._made()
        try:
            env.reset(seed=0, options=self.options("test"))
        except TaskError as error:
            raise ConfigError(f"{error}; or evaluate nothing (--eval-episodes 0)") from error
        except (EnvTimeoutError, *RAISED):
            pass  # one seed says nothing of the others
        finally:
            env.close()

    def tasks_named(self, split: str) -> str:
        """Return what the tasks of a split are to be called: held out only where they are."""
        if not self.holds_out:
            return NO_SPLIT
        return "held-out tasks" if split == "test" else "training tasks"

    @property
    def split_note(self) -> str | None:
        """What to say where nothing is held out, and how to change that; None where it is."""
        if self.holds_out:
            return None
        what = (
            "its splits 'train' and 'test' have the same tasks"
            if self.has_splits
            else "it has no keyword 'split'"
        )
        return (
            f"{NO_SPLIT}: nothing of {self.id} is held out ({what}), so it is evaluated on what it trains "
            "on, with other seeds; for held-out tasks give the environment an attribute and reset option "
            "'split' ('train' or 'test') whose tasks never meet, see docs/guide/new_env.md"
        )

    def _described(self) -> TaskEnv:
        """Return a copy with what an env that was made and reset says of itself."""
        env = self._probe()
        try:
            inner: Any = env.unwrapped
            turns = getattr(inner, "max_turns", None) or (env.spec and env.spec.max_episode_steps) or 1
            return replace(
                self,
                max_turns=int(turns),
                has_splits=hasattr(inner, "split"),
                holds_out=hasattr(inner, "split") and self._splits_differ(env),
                draws="rgb_array" in env.metadata.get("render_modes", ()),
                shows_images="image" in cast(gym.spaces.Dict, env.observation_space).spaces,
                difficulty=_difficulty(inner),
                players=scripted_names(env),
                traits=traits_of(env),
                tool_schemas=tuple(inner.toolset.schemas()) if isinstance(inner, ToolEnv) else (),
                scorers=inner.scorers if isinstance(inner, ToolEnv) else {},
            )
        finally:
            env.close()

    def _probe(self) -> gym.Env[Any, Any]:
        """Return an env that was reset, with the first seed that it can be reset with.

        One seed that cannot be played says nothing of the others; such episodes are left out when they come.
        """
        failure: BaseException | None = None
        for seed in range(_PROBES):
            env = self._made()
            try:
                _check_text(self.id, env)
                env.reset(seed=seed, options=dict(self.reset_options) or None)
                return env
            except (PixelisError, EnvTimeoutError):
                env.close()
                raise
            except RAISED as error:
                failure = failure or error
                env.close()
        assert failure is not None  # there are probes
        raise failed_code(f"environment {self.id!r}: reset", failure) from failure

    def _splits_differ(self, env: gym.Env[Any, Any]) -> bool:
        """Whether the same seeds give other tasks in ``test`` than in ``train``."""
        for seed in range(_PROBES // 2):
            seen = []
            for split in ("train", "test"):
                try:
                    observation, _ = env.reset(seed=seed, options={**self.reset_options, "split": split})
                    seen.append(_fingerprint(env, observation))
                except EnvTimeoutError:
                    raise
                except Exception:  # such as a split without rows, which is told when it is to be played
                    return True
            if seen[0] != seen[1]:
                return True
        return False

    def _made(self) -> gym.Env[Any, Any]:
        try:
            return self.make()
        except (PixelisError, EnvTimeoutError):
            raise
        except RAISED as error:
            if isinstance(error, TypeError) and not _is_of_body(self.id, error):
                raise _explained(self.id, self.kwargs, error) from error  # an unknown keyword
            raise failed_code(f"environment {self.id!r}: making it", error) from error


def _is_of_body(env_id: str, error: TypeError) -> bool:
    """Whether an error was raised inside the code that makes an env, not by the call of it."""
    creator: Any = gym.spec(env_id).entry_point
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    code = getattr(getattr(creator, "__init__", creator), "__code__", getattr(creator, "__code__", None))
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is code for frame, _ in frames)


def _fingerprint(env: gym.Env[Any, Any], observation: Any) -> tuple[Any, ...]:
    """Return what tells two tasks apart: what is seen first, and what the env knows of the task."""
    task: Any = getattr(env.unwrapped, "task", None)
    known = [repr(getattr(task, name, None)) for name in ("question", "answer", "data")]
    image = observation.get("image")
    return observation["text"], None if image is None else image.tobytes(), *known


def _explained(env_id: str, kwargs: Mapping[str, Any], error: TypeError) -> ConfigError:
    creator = gym.spec(env_id).entry_point
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    known = [name for name in inspect.signature(creator).parameters if name != "self"] if creator else []
    for name in kwargs:
        if known and name not in known:
            return ConfigError(f"environment {env_id!r} has no keyword {name!r}.{suggest(name, known)}")
    return ConfigError(f"environment {env_id!r} does not take {dict(kwargs)!r}: {error}")


def _check_text(env_id: str, env: gym.Env[Any, Any]) -> None:
    space = env.observation_space
    if not isinstance(space, gym.spaces.Dict) or "text" not in space.spaces:
        raise ConfigError(
            f"a language policy needs observations that are a dict with 'text', {env_id!r} has {space}; "
            "use an env whose observation_space is Dict(text=..., [image=...])"
        )


def _difficulty(env: Any) -> int | None:
    """Return the difficulty of the task that an env was reset to."""
    return env.task.difficulty if isinstance(env, ToolEnv) and env.task is not None else None
