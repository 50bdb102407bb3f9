"""Reward terms by name, imported when they are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pixelis.errors import ConfigError, MissingDependencyError, suggest
from pixelis.rewards.terms.term import RewardTerm
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import load

TERMS: Mapping[str, str] = {
    "curiosity": "pixelis.rewards.curiosity.term:CuriosityTerm",
    "coherence": "pixelis.rewards.terms.coherence:CoherenceTerm",
    "function": "pixelis.rewards.terms.function:FunctionTerm",
    "penalty": "pixelis.rewards.terms.penalties:PenaltyTerm",
    "potential": "pixelis.rewards.terms.potential:PotentialTerm",
    "progress": "pixelis.rewards.terms.potential:ProgressTerm",
}
_METHODS = ("begin", "score", "learn", "state_dict", "load_state_dict")


S = TypeVar("S")


def make_settings(kind: Callable[..., S], component: str, values: Mapping[str, Any]) -> S:
    """Return a settings dataclass made from keywords.

    Raises:
        ConfigError: a keyword is unknown; the message names the component.
    """
    known = [item.name for item in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for key in values:
        if key not in known:
            raise ConfigError(f"{component}: unknown setting {key!r}.{suggest(str(key), known)}")
    return kind(**values)


def check_term_name(name: str) -> str:
    """Return the ``module:Class`` of a shipped term's name or of itself.

    Raises:
        ConfigError: there is no such term.
    """
    if ":" in name:
        return name
    if name not in TERMS:
        raise ConfigError(
            f"there is no reward term {name!r}.{suggest(name, TERMS)} A term of your own is module:Class."
        )
    return TERMS[name]


def make_term(name: str, settings: Mapping[str, Any] | None = None) -> RewardTerm[Any]:
    """Return a term.

    Args:
        name: ``curiosity``, ``coherence``, ``penalty``, ``potential``, ``progress``, ``function`` (plain), or
            ``module:Class`` of your own.
        settings: keywords of its constructor.

    Raises:
        ConfigError: the name or a setting is unknown, or what was made is no reward term.
    """
    made_by = load(check_term_name(name))
    try:
        term = made_by(**dict(settings or {}))
    except (ConfigError, MissingDependencyError):
        raise
    except TypeError as error:
        raise ConfigError(f"reward term {name!r}: {error}") from error
    return check_term(term)


def why_off(name: str, settings: Mapping[str, Any], traits: RewardTraits) -> str:
    """Return why a term has nothing to measure in an environment; empty where it has something.

    Its class says so by a function ``off(traits, settings)``; one that has none always measures.

    Args:
        name: as for `make_term`.
        settings: keywords of its constructor.
        traits: of the environment.

    Raises:
        ConfigError: there is no such term.
    """
    off = getattr(load(check_term_name(name)), "off", None)
    return str(off(traits, settings)) if callable(off) else ""


def as_term(term: Any) -> RewardTerm[Any]:
    """Return a term; a plain function from a step to a number becomes one under its own name.

    Raises:
        ConfigError: it is neither.
    """
    return check_term(make_term("function", {"function": term}) if inspect.isroutine(term) else term)


def check_term(term: Any) -> RewardTerm[Any]:
    """Return ``term`` when it has what a reward term has.

    Raises:
        ConfigError: it lacks a name or a method.
    """
    missing = [method for method in _METHODS if not callable(getattr(term, method, None))]
    if missing or not isinstance(getattr(term, "name", None), str):
        lacks = ", ".join(missing) or "name"
        raise ConfigError(
            f"{type(term).__name__} is no reward term: it lacks {lacks}; see pixelis.rewards.terms.term"
        )
    return term
