"""What every dataclass of settings can do: check itself, be a mapping and come back, tell runs apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

from pixelis.agents.settings.options import check_options, default_of, option_of, rows
from pixelis.errors import CheckpointError, ConfigError, suggest

S = TypeVar("S", bound="Settings")


@dataclass(frozen=True)
class Settings:
    """Base of the dataclasses whose fields are rows, see `pixelis.agents.settings.options.option`.

    Rows that several kinds of run share are written once, in a base class of theirs.

    Attributes:
        headings: the groups in the order in which ``--help`` and YAML files have them; others follow.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    headings: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Check every field."""
        check_options(self)

    @classmethod
    def from_mapping(cls: type[S], values: Mapping[str, Any]) -> S:
        """Build one from a mapping such as a loaded YAML file.

        Raises:
            ConfigError: an unknown key (with a suggestion) or a bad value.
        """
        names = [item.name for item in fields(cls)]
        for key in values:
            if key not in names:
                raise ConfigError(f"unknown setting {key!r}.{suggest(str(key), names)}")
        return cls(**values)

    def to_mapping(self) -> dict[str, Any]:
        """Return the values as plain data for YAML or JSON, in the order of the headings."""
        values = asdict(self)
        return {item.name: values[item.name] for item in rows(type(self))}

    def with_values(self: S, **values: Any) -> S:
        """Return a copy with some values replaced."""
        return replace(self, **values)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that decide a run's numbers, as JSON gives them back (keys of mappings are text).

        Where a run is written and how long it takes are no part of it.
        """
        values = {item.name: getattr(self, item.name) for item in fields(self) if option_of(item).identity}
        return json.loads(json.dumps(values))

    @property
    def digest(self) -> str:
        """SHA-256 of `identity`."""
        return digest_of(self.identity)

    def check_same(self, saved: Any) -> None:
        """Check that a checkpoint belongs to a run with these settings.

        A setting that came after the checkpoint counts as its default, which is what was done before.

        Args:
            saved: the `identity` that was written into the checkpoint.

        Raises:
            CheckpointError: naming the settings that differ.
        """
        if not isinstance(saved, dict):
            raise CheckpointError("the checkpoint does not say which settings it belongs to")
        now = self.identity
        defaults = {item.name: default_of(item) for item in fields(self) if item.name in now}
        saved = {**defaults, **saved}
        different = sorted(name for name in {*saved, *now} if saved.get(name) != now.get(name))
        if different:
            changes = ", ".join(
                f"{name} was {saved.get(name)!r} and is {now.get(name)!r}" for name in different
            )
            raise CheckpointError(
                f"the checkpoint belongs to other settings: {changes}; use the same, or a new run"
            )


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-able values, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
