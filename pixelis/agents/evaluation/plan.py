"""What is played when models are evaluated or compared: what flags say, else what runs were trained in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pixelis.agents.endpoint.address import is_address
from pixelis.agents.run_files.trained_settings import is_run_folder, trained_settings
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from pixelis.agents.episodes.task_env import TaskEnv
    from pixelis.agents.rollout.sampling import SamplingSettings

DEFAULTS: Mapping[str, Any] = {
    "max_new_tokens": 64,
    "temperature": 1.0,
    "top_p": 1.0,
    "dtype": "float32",
    "quantization": "none",
}
"""What holds where neither a flag nor a run says otherwise."""
ADDRESS_TOKENS = 1024
"""Of a turn of a model at an address, in the place of the default: others serve models that think first."""
_SAME = ("env", "env_kwargs", "difficulty", "max_new_tokens", "temperature", "top_p")


class Asked(Protocol):
    """The flags that a run's settings stand in for where they are None."""

    @property
    def env(self) -> str | None:
        """Gymnasium id."""
        ...

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """Keywords, in place of those of the run."""
        ...

    @property
    def difficulty(self) -> int | str | None:
        """Difficulties, separated by commas."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is played, when flags and the settings of runs have been looked at.

    Attributes:
        env: the environment.
        difficulties: those that tasks are of in turn; None: the environment's own.
        max_new_tokens: of a turn.
        temperature: of sampling.
        top_p: of sampling.
        dtype: of the weights.
        quantization: of the weights.
        origins: setting → where it comes from, in words.
        pictures: whether episodes keep what they were shown.
    """

    env: TaskEnv
    difficulties: tuple[int | None, ...]
    max_new_tokens: int
    temperature: float
    top_p: float
    dtype: str
    quantization: str
    origins: Mapping[str, str]
    pictures: bool = False

    def sampling(self, mode: str) -> SamplingSettings:
        """Return how a language model chooses tokens in a mode, ``greedy`` or ``sampled``."""
        from pixelis.agents.rollout.sampling import SamplingSettings

        if mode == "greedy":
            return SamplingSettings(max_new_tokens=self.max_new_tokens, greedy=True)
        return SamplingSettings(self.temperature, self.top_p, self.max_new_tokens)

    def told(self) -> str:
        """Return in one line what is played and where that comes from, defaults left out."""
        shown = {
            "env": self.env.id,
            "env_kwargs": dict(self.env.kwargs),
            "difficulty": ",".join(map(str, self.difficulties)),
            **{name: getattr(self, name) for name in ("max_new_tokens", "temperature", "top_p")},
        }
        origins = {"env": "", **{name: f" from {origin}" for name, origin in self.origins.items()}}
        parts = [f"{name} {shown[name]}{origins[name]}" for name in _SAME if name in origins]
        return f"environment {', '.join(parts).removeprefix('env ')}"


def plan_for(names: Sequence[str], asked: Asked, default_env: str | None = None) -> Plan:
    """Return what is played by models of these names.

    A flag wins. Else what the runs among them were trained with holds for all; where there is none, adapters
    inside runs and exported folders count as such. Keywords and difficulty go with an environment: those of a
    run hold in its own only.

    Args:
        names: of the models, the most important last.
        asked: the flags; those that it lacks are not asked for.
        default_env: where neither flag nor run names one; None: that is an error.

    Raises:
        ConfigError: no environment is known, or runs disagree and no flag decides.
        CheckpointError: the settings of a run cannot be read.
        PixelisError: the environment cannot be made; see `TaskEnv.open`.
    """
    from pixelis.agents.episodes.task_env import TaskEnv

    found = {name: each for name in names if (each := trained_settings(name)) is not None}
    runs = {name: each for name, each in found.items() if is_run_folder(name)} or found
    values, origins = _chosen(runs, asked)
    env_id = values.get("env") or default_env
    if env_id is None:
        raise ConfigError("--env must be given: neither model is a run folder that knows its environment")
    difficulties = _difficulties(values.get("difficulty"))
    options = [{} if each is None else {"difficulty": each} for each in difficulties]
    timeout = values.get("env_timeout_seconds")
    envs = [TaskEnv.open(env_id, values.get("env_kwargs") or {}, each, timeout) for each in options]
    defaults = {**DEFAULTS, **({"max_new_tokens": ADDRESS_TOKENS} if any(map(is_address, names)) else {})}
    rest: dict[str, Any] = {name: values.get(name, default) for name, default in defaults.items()}
    return Plan(envs[0], difficulties, origins=origins, **rest)  # all were tried before a model is loaded


def check_runs_fit(names: Sequence[str], env_id: str | None) -> None:
    """Refuse runs of another environment than the one that is played.

    Args:
        names: of models.
        env_id: what is played; None: what the last run was trained in.

    Raises:
        ConfigError: there is one.
    """
    trained = {name: (trained_settings(name) or {}).get("env") for name in names if is_run_folder(name)}
    known = {name: str(other) for name, other in trained.items() if other}
    env_id = env_id or next(reversed(known.values()), None)
    for name, other in known.items():
        if other != env_id:
            raise ConfigError(
                f"{name!r} was trained in {other}, and the comparison is in {env_id}; if that is meant, "
                "name its adapter folder in place of the run"
            )


def _chosen(runs: Mapping[str, Mapping[str, Any]], asked: Asked) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings, and where those come from that no default makes."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    env = asked.env
    at_home = {name: run for name, run in runs.items() if env is None or run.get("env") == env}
    for name in (*_SAME, "dtype", "quantization", "env_timeout_seconds"):
        of_env = name in ("env_kwargs", "difficulty", "env_timeout_seconds")
        heard = at_home if of_env else runs
        known = {run: found[name] for run, found in heard.items() if _says(found, name)}
        given = getattr(asked, name, None)
        if name == "env_kwargs":
            given = given or None
        if given is None and name in _SAME:
            _check_agree(name, heard)
        if known:
            run = list(known)[-1]
            values[name], origins[name] = known[run], run
        if given is not None:
            was = f" ({origins[name]} has {values[name]})" if known and values[name] != given else ""
            merged = {**(values.get(name) or {}), **given} if name == "env_kwargs" else given
            values[name], origins[name] = merged, f"--{name.replace('_', '-')}{was}"
    return values, origins


def _says(settings: Mapping[str, Any], name: str) -> bool:
    return settings.get(name) not in (None, {})


def _check_agree(name: str, runs: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse runs that differ in a setting; those without an environment or the setting have no say."""
    items = [(run, each[name] or None) for run, each in runs.items() if each.get("env") and name in each]
    for run, value in items[:-1]:
        last, wanted = items[-1]
        if value != wanted:
            what = "environment" if name == "env" else name
            raise ConfigError(
                f"{run!r} was trained with {what} {value!r} and {last!r} with {wanted!r}; evaluate them "
                f"apart, or say with --{name.replace('_', '-')} what both shall play"
            )


def _difficulties(given: Any) -> tuple[int | None, ...]:
    if given is None:
        return (None,)
    try:
        found = tuple(int(part) for part in str(given).split(","))
    except ValueError:
        raise ConfigError(f"difficulty must be integers separated by commas, got {given!r}") from None
    if len(set(found)) < len(found):
        raise ConfigError(f"difficulty must name each difficulty once, got {given!r}")
    return found
