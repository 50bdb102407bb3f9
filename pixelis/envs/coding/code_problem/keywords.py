"""What the keywords of ``Pixelis/CodeProblem-v0`` may be, beyond what is everybody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

from annotated_types import Interval
from pydantic import PlainValidator

from pixelis.envs.coding.families import FAMILIES
from pixelis.envs.coding.sandbox import Limits, SandboxSettings
from pixelis.envs.coding.sandbox.jobs import Isolation
from pixelis.envs.keywords import Expected, FilePath, Flag, Keyword, Names, Number, Whole, declared
from pixelis.errors import ConfigError, DatasetError, shown, suggest

DEFAULT_LIMITS = Limits(wall_seconds=6.0, cpu_seconds=2.0)
"""Of one candidate over all its tests: a policy writes endless loops by the dozen."""

FamilyNames = Annotated[str | Sequence[str], Names(lambda: FAMILIES, "'fizzbuzz'")]
PartialCredit = Annotated[Number, Interval(ge=0, lt=1), Expected(advice="0.5 is usual")]

_SECONDS = Annotated[Number, Interval(gt=0, le=3_600)]
_AMOUNT = Annotated[Whole, Interval(ge=1, le=1 << 40)]
_LIMITS = {
    one.name: declared(f"sandbox: {one.name}", _SECONDS if one.name.endswith("_seconds") else _AMOUNT)
    for one in fields(Limits)
}
_SETTINGS: dict[str, Keyword] = {
    "isolation": declared("sandbox: isolation", Isolation),
    "allow_threads": declared("sandbox: allow_threads", Flag),
}


def sandbox_settings(given: Any) -> SandboxSettings:
    """Return the sandbox's settings: given whole, or as names (those of the limits included) and values.

    Raises:
        ConfigError: an unknown name, or a value out of range.
        ValueError: neither settings nor a mapping.
    """
    if isinstance(given, SandboxSettings):
        values = {**vars(given.limits), "isolation": given.isolation, "allow_threads": given.allow_threads}
        sandbox_settings(values)
        return given
    if not isinstance(given, Mapping):
        raise ValueError("for example {'cpu_seconds': 5}")
    known = {**_SETTINGS, **_LIMITS}
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ConfigError(f"sandbox has no setting {shown(name, 60)}.{suggest(name, known)}")
    values = {name: known[name].read(value) for name, value in given.items()}
    limits = {**vars(DEFAULT_LIMITS), **{name: values.pop(name) for name in _LIMITS if name in values}}
    return SandboxSettings(**values, limits=Limits(**limits))


ProblemPath = Annotated[FilePath, Expected("the path of a JSONL file of coding problems", error=DatasetError)]
SandboxKeyword = Annotated[
    SandboxSettings | Mapping[str, Any],
    PlainValidator(sandbox_settings),
    Expected("SandboxSettings or a mapping of its names and limits"),
]
