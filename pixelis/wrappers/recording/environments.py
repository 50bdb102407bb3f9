"""How a recorded env was made, as JSON, and the same env again.

A description holds ``id``, ``kwargs``, ``max_episode_steps``, ``wrappers`` (``name``, ``entry_point`` and
``kwargs`` of each, the innermost first), ``obstacle`` (why the env cannot be made again, or None) and, for
one env of a vector, ``vector``: the ``autoreset`` mode and the names of the vector ``wrappers`` below the
recorder. The recorders add ``traits``: the task's gap and the tools that the env declares to reward terms.

What a stranger's recording may do: make an env that is registered, with the recorded keywords, and put
Gymnasium wrappers of importable modules on it. Nothing else that it names is called.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, WrapperSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from pixelis.envs.registration import check_env_id
from pixelis.errors import PixelisError, RecordingError, UnknownEnvError, shown
from pixelis.wrappers.recording.values import decode, encode, opaque_type

RECORDER = "pixelis.wrappers.recording.record:RecordTrajectory"  # left out: a replay records nothing
_OF_MAKE_VEC = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")


def describe_spec(spec: EnvSpec | None) -> dict[str, Any]:
    """Return the description of an env that has this spec."""
    if spec is None:
        why = "it was made without gymnasium.make, so the recording does not know how"
        return {"id": None, "kwargs": {}, "max_episode_steps": None, "wrappers": [], "obstacle": why}
    kwargs = encode(spec.kwargs)
    wrappers = [
        {"name": wrapper.name, "entry_point": wrapper.entry_point, "kwargs": encode(wrapper.kwargs)}
        for wrapper in spec.additional_wrappers
        if wrapper.entry_point != RECORDER
    ]
    return {
        "id": spec.id,
        "kwargs": kwargs,
        "max_episode_steps": spec.max_episode_steps,
        "wrappers": wrappers,
        "obstacle": _obstacle(kwargs, wrappers),
    }


def describe_lanes(env: VectorEnv[Any, Any, Any]) -> list[dict[str, Any]]:
    """Return the description of each env of a vector."""
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    about = {"autoreset": getattr(mode, "value", str(mode)), "wrappers": _vector_wrappers(env)}
    return [{**one, "vector": about} for one in _describe_lanes(env.unwrapped)]


def make_env(description: Mapping[str, Any], env_id: str | None = None) -> gym.Env[Any, Any]:
    """Make the env that a description is of.

    Args:
        description: see the module.
        env_id: made instead of the recorded id, with the recorded keywords and wrappers; ``module:Id-v0``
            imports the module that registers it.

    Raises:
        UnknownEnvError: the id is not registered.
        RecordingError: the description cannot be followed.
    """
    if description.get("obstacle"):
        raise RecordingError(
            f"env {description.get('id')!r} cannot be made from the recording: {description['obstacle']}; "
            "in Python, give Replayer a function that makes it"
        )
    name = _registered(env_id or str(description.get("id")))
    kwargs = decode(description.get("kwargs", {}))
    if kwargs.get("render_mode") == "human":
        kwargs["render_mode"] = None  # a replay opens no window
    wrappers = tuple(_wrapper_spec(wrapper) for wrapper in description.get("wrappers", []))
    spec = copy.deepcopy(gym.spec(name))
    spec.kwargs, spec.additional_wrappers = kwargs, wrappers
    spec.max_episode_steps = description.get("max_episode_steps")
    try:
        return gym.make(spec, disable_env_checker=True)
    except PixelisError:
        raise
    except Exception as error:  # whatever a stranger's constructor raises
        raise RecordingError(f"cannot make env {shown(name)} as it was recorded: {error}") from error


# ---------------------------------------------------------------------- private


def _obstacle(kwargs: Any, wrappers: list[dict[str, Any]]) -> str | None:
    kind = opaque_type(kwargs)
    if kind:
        return f"its keywords hold a {kind}, which JSON cannot"
    for wrapper in wrappers:
        if wrapper["kwargs"] is None:
            return (
                f"its wrapper {wrapper['name']} is not a RecordConstructorArgs, so its arguments are unknown"
            )
        kind = opaque_type(wrapper["kwargs"])
        if kind:
            return f"the arguments of its wrapper {wrapper['name']} hold a {kind}, which JSON cannot"
    return None


def _describe_lanes(env: VectorEnv[Any, Any, Any]) -> list[dict[str, Any]]:
    """Describe the envs of an unwrapped vector, without asking other processes where that can be avoided."""
    specs: Any = [one.spec for one in getattr(env, "envs", [])]  # SyncVectorEnv
    if not specs and env.spec is not None:
        return [_describe_made(env.spec)] * env.num_envs
    if not specs and hasattr(env, "get_attr"):
        specs = env.get_attr("spec")  # type: ignore[attr-defined]
    return [describe_spec(spec) for spec in specs or [None] * env.num_envs]


def _describe_made(spec: EnvSpec) -> dict[str, Any]:
    """Describe one env of a vector that ``gymnasium.make_vec`` made."""
    spec = copy.deepcopy(spec)
    extra = {name: spec.kwargs.pop(name) for name in _OF_MAKE_VEC if name in spec.kwargs}
    description = describe_spec(spec)
    if extra.get("vectorization_mode") == "vector_entry_point":
        description["obstacle"] = "it is a part of a vector env that has no envs of its own to make again"
    elif extra.get("wrappers"):
        description["obstacle"] = "make_vec put wrappers on it that only Python can name"
    return description


def _vector_wrappers(env: VectorEnv[Any, Any, Any]) -> list[str]:
    """Return the names of the vector wrappers on an env, the innermost first."""
    names = []
    while isinstance(env, VectorWrapper):
        names.insert(0, type(env).__name__)
        env = env.env
    return names


def _registered(env_id: str) -> str:
    try:
        return check_env_id(env_id).rpartition(":")[2]
    except UnknownEnvError as error:
        hint = "" if ":" in env_id else f" If a module registers it, give --env module:{env_id}"
        raise UnknownEnvError(f"{error}{hint}") from None


def _wrapper_spec(wrapper: Any) -> WrapperSpec:
    try:
        name, entry_point = str(wrapper["name"]), str(wrapper["entry_point"])
        kwargs = decode(wrapper["kwargs"])
        creator: Any = load_env_creator(entry_point)
    except Exception as error:  # malformed, or a module that is not installed
        raise RecordingError(f"the recorded wrapper {shown(wrapper)} cannot be imported: {error}") from error
    if not (isinstance(creator, type) and issubclass(creator, gym.Wrapper)) or not isinstance(kwargs, dict):
        raise RecordingError(f"{shown(entry_point)} is recorded as a wrapper and is no Gymnasium wrapper")
    return WrapperSpec(name, entry_point, kwargs)
