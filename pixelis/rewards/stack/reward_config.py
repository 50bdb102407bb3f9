"""From plain data, such as a YAML file's, to what a stack of rewards or of wrappers is made of."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pixelis.errors import ConfigError, shown, suggest
from pixelis.rewards.stack.normalisation import NormaliserSettings
from pixelis.rewards.stack.orchestrator import OrchestratorSettings
from pixelis.rewards.terms.registry import TERMS, check_term_name, why_off
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.rewards.terms.weights import (
    ALONE_WEIGHTS,
    DEFAULT_ALONE_WEIGHT,
    ORCHESTRATED_WEIGHTS,
    STEPWISE_WEIGHTS,
    TASK,
    check_weight,
)

_ORCHESTRATOR = tuple(item.name for item in fields(OrchestratorSettings) if item.name != "normaliser")
_NORMALISER = tuple(item.name for item in fields(NormaliserSettings))
_LOG = logging.getLogger(__name__)
_OWN = (TASK, "orchestrate", "curriculum", *_ORCHESTRATOR, *_NORMALISER)


@dataclass(frozen=True)
class TermEntry:
    """A term: its name or ``module:Class``, its weight, and the keywords of its constructor.

    ``shipped`` tells that nobody gave a weight, and that it is a shipped one that follows the task's gap.
    """

    name: str
    weight: float
    settings: Mapping[str, Any]
    shipped: bool = False


@dataclass(frozen=True)
class RewardConfig:
    """What plain data said.

    Attributes:
        terms: in order.
        task_weight: the task's weight under an orchestrator.
        orchestrator: its settings, or None to pay every term by itself.
        curriculum: as ``read_curriculum`` takes it, or None.
        orchestrator_values: the same settings as plain data, as the wrapper takes them.
    """

    terms: tuple[TermEntry, ...]
    task_weight: float
    orchestrator: OrchestratorSettings | None
    curriculum: Any
    orchestrator_values: Mapping[str, Any]


def default_weight(name: str, orchestrated: bool) -> float:
    """Return the shipped weight of a term."""
    table = {**(ORCHESTRATED_WEIGHTS if orchestrated else ALONE_WEIGHTS), **STEPWISE_WEIGHTS}
    return table.get(name, DEFAULT_ALONE_WEIGHT)


def read_rewards(values: Mapping[str, Any]) -> RewardConfig:
    """Return what a mapping describes.

    Keys: a term's name (``curiosity``, ``coherence``, ``penalty``, ``potential``, ``progress``, or
    ``module:Class``) with ``{weight: …, **settings}``; any other name with a function, ``{function:
    module:name, weight: …}`` or the function itself; ``task`` with ``{weight: …}``; ``orchestrate`` (default
    true); ``curriculum``; and the fields of ``OrchestratorSettings`` and ``NormaliserSettings``.

    Raises:
        ConfigError: a key is unknown, or a value is of the wrong kind; the message names it.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"rewards: expected a mapping such as {{coherence: {{weight: 0.2}}}}, got {shown(values)}"
        )
    orchestrated = values.get("orchestrate", True)
    if not isinstance(orchestrated, bool):
        raise ConfigError(f"rewards: orchestrate must be true or false, got {shown(orchestrated)}")
    terms = [_read_term(str(key), entry, orchestrated) for key, entry in values.items() if key not in _OWN]
    if not orchestrated:
        for key in (TASK, "curriculum", *_ORCHESTRATOR, *_NORMALISER):
            if values.get(key) is not None:
                raise ConfigError(
                    f"rewards: {key} is a setting of the orchestrator; leave it or orchestrate out"
                )
    task = _read_entry(TASK, values.get(TASK), {"weight"})
    return RewardConfig(
        tuple(terms),
        check_weight(task.get("weight", ORCHESTRATED_WEIGHTS[TASK]), TASK),
        orchestrator_settings(values) if orchestrated else None,
        values.get("curriculum"),
        {name: values[name] for name in (*_ORCHESTRATOR, *_NORMALISER) if name in values},
    )


def fitting(config: RewardConfig, traits: RewardTraits) -> RewardConfig:
    """Return what is left of rewards in an environment: terms with nothing to measure there are off.

    Each is named in the log, with the reason.

    Raises:
        ConfigError: a curriculum goes by such a term; or a term without an orchestrator has its shipped
            weight, which is 0 in this environment.
    """
    for entry in config.terms:
        if config.orchestrator is None and entry.shipped and traits.task_gap == 0:
            raise ConfigError(
                f"rewards: the environment's task_gap is 0, so that without an orchestrator {entry.name} has "
                "the weight 0; leave orchestrate: false out, or give the term a weight (that no failure is "
                "then paid more than a success is yours to see to)"
            )
    reasons = {entry.name: why_off(entry.name, entry.settings, traits) for entry in config.terms}
    off = {name: reason for name, reason in reasons.items() if reason}
    for name, reason in off.items():
        if config.curriculum is not None:
            raise ConfigError(
                f"rewards: {name} is off, because {reason}; a curriculum needs all of its terms: leave both "
                "out, or the curriculum"
            )
        _LOG.warning("rewards: %s is off: %s", name, reason)
    return replace(config, terms=tuple(entry for entry in config.terms if entry.name not in off))


def orchestrator_settings(values: Mapping[str, Any]) -> OrchestratorSettings:
    """Return the orchestrator's settings among ``values``, its normaliser's included."""
    inner = {name: values[name] for name in _NORMALISER if name in values}
    outer = {name: values[name] for name in _ORCHESTRATOR if name in values}
    return OrchestratorSettings(**outer, normaliser=NormaliserSettings(**inner))


def check_orchestrator_keys(values: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` for a name that is no setting of the orchestrator or its normaliser."""
    for key in values:
        if key not in (*_ORCHESTRATOR, *_NORMALISER):
            raise ConfigError(
                f"the orchestrator has no setting {shown(key)}.{suggest(key, (*_ORCHESTRATOR, *_NORMALISER))}"
            )


def _read_term(key: str, entry: Any, orchestrated: bool) -> TermEntry:
    if key == "vote":
        raise ConfigError(
            "rewards: vote compares the members of a group, so that only training by GRPO has it "
            "(docs/guide/without_labels.md); leave it out here"
        )
    given = _read_entry(key, {"function": entry} if callable(entry) else entry, None)
    name = key
    if ":" not in key and key not in TERMS:
        if "function" not in given:
            raise ConfigError(
                f"rewards: unknown name {key!r}.{suggest(key, (*TERMS, *_OWN))} For a function of your own: "
                f"{{{key}: {{function: module:name}}}}"
            )
        name, given = "function", {**given, "name": key}
    check_term_name(name)
    shipped = "weight" not in given and name not in STEPWISE_WEIGHTS  # those need not shrink with the gap
    weight = check_weight(given.pop("weight", default_weight(name, orchestrated)), key)
    return TermEntry(name, weight, given, shipped)


def _read_entry(key: str, entry: Any, known: set[str] | None) -> dict[str, Any]:
    if entry is None:
        return {}
    if not isinstance(entry, Mapping):
        raise ConfigError(f"rewards: {key} takes a mapping such as {{weight: 0.2}}, got {shown(entry)}")
    for name in entry:
        if not isinstance(name, str) or (known is not None and name not in known):
            hint = suggest(name, known) if known is not None else ""
            raise ConfigError(f"rewards: {key} has no setting {shown(name)}.{hint}")
    return dict(entry)
