"""What the settings of a command are: pydantic models that check themselves, go to plain data and come back.

A field is the flag, the YAML key, the help line and the check. Fields that belong together are a `Section`;
where there is a choice, each alternative is a section of its own with a ``type``, so that what it does not
read cannot be given. Its name alone is short for it: ``levels: plr`` is ``levels: {type: plr}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from pixelis.agents.settings.plain import Path, digest_of, laid_over, leaves
from pixelis.envs.keywords import expectation
from pixelis.errors import CheckpointError, ConfigError, closest, shown, suggest

S = TypeVar("S", bound="Section")
MOST_TOLD = 5
"""Mistakes that one error lists."""


def setting(default: Any, help: str, *, identity: bool = True, more: bool = False, **bounds: float) -> Any:
    """Return a field of a `Section`.

    Args:
        default: its value where none is given.
        help: one line for people, units included; ``gt``, ``ge``, ``lt``, ``le`` are its bounds.
        identity: whether it decides the numbers of a run; a run can only be resumed with the same values.
        more: whether ``--help`` leaves it to ``--help.more``.
        **bounds: see ``help``.
    """
    notes = {"identity": identity, "more": more}
    return Field(default, description=help, json_schema_extra=notes, **bounds)  # type: ignore


def note_of(field: FieldInfo, name: str) -> bool:
    """Return a mark that `setting` left: ``identity`` or ``more``."""
    notes = field.json_schema_extra
    return bool(notes[name]) if isinstance(notes, dict) and name in notes else name == "identity"


def _of_a_module(name: str) -> str:
    if not all(name.rpartition(":")):
        raise ValueError
    return name


Own = Annotated[str, AfterValidator(_of_a_module)]
"""The ``module:name`` of what another module registers."""
OWN = "module:name"
"""What stands for any such name in messages and in `tags_of`."""


class Alternatives:
    """A note on a union of sections: the one of the ``type`` that is given, the first where none is."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic reads it."""
        kinds = {tag: handler.generate_schema(kind) for kind in get_args(source) for tag in tags_of(kind)}
        first = next(iter(kinds))

        def tag_of(value: Any) -> Any:
            tag = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
            return OWN if isinstance(tag, str) and tag not in kinds and all(tag.rpartition(":")) else tag

        def whole(value: Any) -> Any:
            if isinstance(value, str):
                return {"type": value}
            return {"type": first, **value} if isinstance(value, Mapping) else value

        union = core_schema.tagged_union_schema(kinds, discriminator=tag_of)
        return core_schema.no_info_before_validator_function(whole, union)


class Section(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def to_mapping(self) -> dict[str, Any]:
        """Return the values as plain data for YAML or JSON."""
        return self.model_dump(warnings=False)

    def with_values(self: S, **values: Any) -> S:
        """Return a copy with some values replaced; of a section, those that a mapping names."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        for name, value in values.items():
            now = getattr(self, name, None)
            given[name] = laid_over(now, value) if isinstance(now, Section) else value
        return type(self)(**given)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that decide a run's numbers, as JSON gives them back (keys of mappings are text).

        Where a run is written and how long it takes are no part of it.
        """
        fields = type(self).model_fields.items()
        return _as_json({name: getattr(self, name) for name, field in fields if note_of(field, "identity")})

    @property
    def digest(self) -> str:
        """SHA-256 of `identity`."""
        return digest_of(self.identity)

    def filled(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return a saved `identity` with the defaults of the settings that came after it."""
        found = dict(saved)
        for name, field in type(self).model_fields.items():
            now = getattr(self, name)
            if name not in saved and note_of(field, "identity"):
                found[name] = _as_json(field.get_default(call_default_factory=True))
            then = found.get(name)
            if isinstance(now, Section) and isinstance(then, Mapping):
                same = then.get("type") == getattr(now, "type", None)
                found[name] = now.filled(then) if same else then
        return found

    def refuse_changed(self, names: Sequence[str], why: str) -> None:
        """Refuse settings that nothing reads.

        Raises:
            ConfigError: naming the first that is not at its default.
        """
        for name in names:
            default = type(self).model_fields[name].get_default(call_default_factory=True)
            if getattr(self, name) != default:
                raise ConfigError(
                    f"{name} must be {shown(default)} {why}, got {shown(getattr(self, name))}; leave it out"
                )


class Settings(Section):
    """The settings of a command.

    Raises:
        ConfigError: a setting is unknown, has the wrong type, lies outside its bounds or does not go with
            another; all that pydantic finds in one go are told.
    """

    def __init__(self, **values: Any) -> None:
        """Check every value."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(type(self), error) from None
        for path, value in leaves(self.identity):  # bounds see to typed ones; these stand in free mappings
            if not _is_finite(value):
                raise ConfigError(f"{'.'.join(path)} must hold finite numbers, got {shown(value)}")

    @classmethod
    def from_mapping(cls: type[S], values: Mapping[str, Any]) -> S:
        """Build one from a mapping such as a loaded YAML file.

        Raises:
            ConfigError: an unknown key (with a suggestion) or a bad value.
        """
        return cls(**{str(name): value for name, value in values.items()})

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
        then, now = dict(leaves(self.filled(saved))), dict(leaves(self.identity))
        different = sorted(path for path in {*then, *now} if then.get(path) != now.get(path))
        if different:
            changes = ", ".join(
                f"{'.'.join(path)} was {then.get(path)!r} and is {now.get(path)!r}" for path in different
            )
            raise CheckpointError(
                f"the checkpoint belongs to other settings: {changes}; use the same, or a new run"
            )


def _is_finite(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_finite(each) for each in value)
    if isinstance(value, Mapping):
        return all(_is_finite(each) for each in value.values())
    return not isinstance(value, float) or math.isfinite(value)


def _as_json(value: Any) -> Any:
    """Return what JSON gives back of a value, of sections their `Section.identity`."""
    return json.loads(json.dumps(value, default=lambda section: section.identity))


# ---------------------------------------------------------------------- what a field is


def kinds_of(annotation: Any) -> list[type[Section]]:
    """Return the sections that a field may hold, or the entries of its mapping; empty for a plain value."""
    if get_origin(annotation) in (Annotated, dict):
        return kinds_of(get_args(annotation)[get_origin(annotation) is dict])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for each in get_args(annotation) for kind in kinds_of(each)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, Section) else []


def tags_of(kind: type[Section]) -> tuple[str, ...]:
    """Return the values of ``type`` that a section goes by; `OWN` for that of another module."""
    field = kind.model_fields.get("type")
    if field is None:
        return ()
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else (OWN,)


def changed(settings: Section, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the settings that are not at their defaults, with their paths; of a mapping, its entries."""
    for name, field in type(settings).model_fields.items():
        value, default = getattr(settings, name), field.get_default(call_default_factory=True)
        if isinstance(value, Section):
            if getattr(value, "type", None) != getattr(default, "type", None):
                yield (*above, name, "type"), getattr(value, "type", None)
            yield from changed(value, (*above, name))
        elif name != "type" and value != default:
            entries = value.items() if isinstance(value, dict) else ()
            for key, entry in entries:
                yield (*above, name, key), entry.to_mapping() if isinstance(entry, Section) else entry
            if not isinstance(value, dict):
                yield (*above, name), value


def hint_of(field: FieldInfo) -> Any:
    """Return a field's type with its bounds."""
    kind, notes = field.annotation, tuple(field.metadata)
    if not notes:
        return kind
    if get_origin(kind) in (Union, UnionType):
        members = (each if each is NoneType else Annotated[(each, *notes)] for each in get_args(kind))
        return Union[tuple(members)]  # noqa: UP007 (of a tuple)
    return Annotated[(kind, *notes)]


def choices_of(hint: Any) -> list[str]:
    """Return the words that a field may hold, ``module:name`` among them; none where it takes numbers too."""
    if hint is Own:
        return [OWN]
    if kinds := kinds_of(hint):
        return [tag for kind in kinds for tag in tags_of(kind)]
    if get_origin(hint) is Literal:
        return [name for name in get_args(hint) if isinstance(name, str)]
    if get_origin(hint) in (Union, UnionType) and any(map(is_number, get_args(hint))):
        return []
    if get_origin(hint) in (Union, UnionType, Annotated):
        return [name for each in get_args(hint) for name in choices_of(each)]
    return []


def is_number(hint: Any) -> bool:
    """Return whether a type is that of numbers, bounds left out."""
    return (get_args(hint)[0] if get_origin(hint) is Annotated else hint) in (int, float)


def leaves_of(kind: type[Section], above: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Yield every setting that can be given, with its path; one for each alternative that has it."""
    for name, field in kind.model_fields.items():
        yield (*above, name), field
        for inner in kinds_of(field.annotation):
            yield from leaves_of(inner, (*above, name))


def wanted(field: FieldInfo) -> str:
    """Return how a message tells what a field takes, in words that flags and YAML take."""
    hint = hint_of(field)
    if choices := choices_of(hint):
        null = " or null" if NoneType in get_args(hint) else ""
        return f"one of {', '.join(choices)}{null}".replace(", module:name", " or module:name")
    if kinds_of(hint):
        return "a mapping of settings" + (" or null" if NoneType in get_args(hint) else "")
    if get_origin(field.annotation) is dict:
        return "a mapping"
    return expectation(hint).replace("True or False", "true or false").replace("None", "null")


# ---------------------------------------------------------------------- mistakes


class SettingsError(ConfigError):
    """Settings that were refused, all mistakes of them in one message.

    Args:
        kind: of the settings.
        error: pydantic's.
        unknown: returns what is said of a setting that there is not.
    """

    def __init__(
        self, kind: type[Settings], error: ValidationError, unknown: Callable[[Path], str] | None = None
    ) -> None:
        self.kind, self.error = kind, error
        told: dict[Path, str] = {}
        for problem in error.errors(include_url=False):
            place = _Place(kind, problem["loc"])
            told.setdefault(place.path, _told(place, problem, unknown))
        parts = [*dict.fromkeys(told.values())]
        rest = f"; and {len(parts) - MOST_TOLD} more" if len(parts) > MOST_TOLD else ""
        if len(parts) == 1:
            super().__init__(parts[0])
            return
        listed = "; ".join(part.rstrip(".") for part in parts[:MOST_TOLD])
        super().__init__(f"{len(parts)} settings are wrong: {listed}{rest}")


class _Place:
    """Where a mistake is: what pydantic's ``loc`` goes along.

    Attributes:
        path: names of settings.
        root: the settings as a whole.
        kinds: the section at its end, and before it the alternatives to that.
        field: the setting, None where there is none of that name.
        entry: of a setting that is a mapping, the key in it; empty elsewhere.
    """

    def __init__(self, kind: type[Section], loc: Sequence[Any]) -> None:
        self.path: Path = ()
        self.root, self.kinds = kind, [kind]
        self.field: FieldInfo | None = None
        steps = [str(step) for step in loc]
        while steps and self.kinds:
            name = steps.pop(0)
            self.path, self.field = (*self.path, name), self.kinds[-1].model_fields.get(name)
            inner = kinds_of(self.field.annotation) if self.field is not None else []
            if self.field is not None and get_origin(self.field.annotation) is dict and inner and steps:
                self.path = (*self.path, steps.pop(0))
            if any(tags_of(each) for each in inner) and steps:
                tag = steps.pop(0)
                inner.sort(key=lambda each: tag in tags_of(each))
            if not inner or not steps:
                break
            self.kinds = inner
        self.entry = steps[0] if steps and self.field and get_origin(self.field.annotation) is dict else ""


def _told(place: _Place, problem: Any, unknown: Callable[[Path], str] | None) -> str:
    reason = problem.get("ctx", {}).get("error")
    if isinstance(reason, ConfigError):
        return str(reason)
    name, value, field = ".".join(place.path), problem["input"], place.field
    if problem["type"] == "extra_forbidden":
        return unknown(place.path) if len(place.path) == 1 and unknown is not None else _unknown(place)
    if problem["type"] == "missing":
        return f"{name} must be given: {wanted(field) if field is not None else 'a value'}"
    if field is None:
        return str(reason or problem["msg"])
    if place.entry:
        kinds = get_args(field.annotation)
        what = expectation(kinds[0 if "[key]" in problem["loc"] else 1])
        return f"{name}.{place.entry} must be {what}, got {shown(value)}"
    choices = choices_of(field.annotation)
    if problem["type"] == "union_tag_invalid" and isinstance(value, Mapping):
        value = value.get("type")
    elif isinstance(value, Mapping) and set(value) == {"type"}:
        value = value["type"]
    guess = closest(value, choices)  # all of them are told already
    if not choices and kinds_of(field.annotation):
        guess = _section_hint(place, value)
    return f"{name} must be {wanted(field)}, got {shown(value)}.{guess}".rstrip(".")


def _section_hint(place: _Place, value: Any) -> str:
    """Return what a section holds, and which other settings take the word that was given in its place."""
    field, within = place.field, ".".join(place.path)
    inner = next(iter(kinds_of(field.annotation) if field is not None else ()), None)
    held = "" if inner is None else f" It holds {', '.join(f'{within}.{one}' for one in inner.model_fields)}."
    leaves = [(path, one) for path, one in leaves_of(place.root) if path[-1] != "type"]
    found = dict.fromkeys(".".join(path) for path, one in leaves if value in choices_of(hint_of(one)))
    return f"{held} {value} is a value of {' and of '.join(found)}." if found else held


def _unknown(place: _Place) -> str:
    *others, kind = place.kinds
    last, tags = place.path[-1], tags_of(kind)
    having = [tag for each in others if last in each.model_fields for tag in tags_of(each)]
    if having:
        name, holder = ".".join(place.path), ".".join(place.path[:-1])
        return f"{name} is not read with {holder} {tags[0]}, only with {', '.join(having)}; leave it out"
    return f"unknown setting {shown('.'.join(place.path))}.{suggest(last, kind.model_fields)}"
