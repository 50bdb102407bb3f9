"""Rows of files and stored scenes: frozen dataclasses that pydantic checks by their annotations.

    @dataclass(frozen=True)
    class Dots(Stored):
        size: Annotated[Int, Interval(ge=64, le=4096)]
        colour: Annotated[str, OneOf(PALETTE)]

What does not fit is one error that names the field (``dots[3].x``), what was expected and what came. The
annotations are read when the first object of a class is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import AllowInfNan, ConfigDict, PlainValidator, Strict, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic_core import ErrorDetails, core_schema
from typing_extensions import NotRequired, Self, get_type_hints, is_typeddict

from pixelis.envs.keywords import Expected, expectation
from pixelis.envs.spaces import clean_text
from pixelis.errors import DatasetError, TaskError, shown, suggest

T = TypeVar("T")

Int = Annotated[int, Strict()]
"""An integer, no truth value."""
Real = Annotated[float, Strict(), AllowInfNan(False)]
"""A finite number, no truth value."""
Bool = Annotated[bool, Strict()]
"""True or false, nothing that is only like them."""


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError
    return dict(value)


Object = Annotated[Mapping[str, Any], PlainValidator(_object), Expected("an object")]
"""Names and values, whatever they are; read as a dictionary."""
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden", "invalid_key")


class OneOf(Expected):
    """A note in an annotation: one of some words."""

    def __init__(self, names: Iterable[str], advice: str = "") -> None:
        object.__setattr__(self, "names", tuple(names))
        known = list(map(repr, self.names))
        super().__init__(" or ".join(known) if len(known) < 3 else f"one of {', '.join(known)}", advice)

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic reads it."""
        return core_schema.literal_schema(list(self.names))


class ShortText(Expected):
    """A note in an annotation: a printable text of some length, 1 to ``longest`` characters."""

    def __init__(self, longest: int, shortest: int = 1) -> None:
        super().__init__(f"a printable text of {shortest} to {longest} characters")
        object.__setattr__(self, "lengths", (shortest, longest))

    lengths: tuple[int, int]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic reads it."""
        shortest, longest = self.lengths
        text = core_schema.str_schema(strict=True, min_length=shortest, max_length=longest)
        return core_schema.no_info_after_validator_function(_printable, text)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError
    return text


class Text(Expected):
    """A note in an annotation: any text of 1 to ``longest`` characters that is not blank."""

    def __init__(self, longest: int, advice: str = "correct it") -> None:
        super().__init__(f"a text of 1 to {longest:,} characters", advice)
        object.__setattr__(self, "longest", longest)

    longest: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic reads it."""
        return core_schema.no_info_plain_validator_function(self.read)

    def read(self, value: Any) -> str:
        """Return the text; anything else is a ``ValueError``."""
        if not isinstance(value, str) or not value.strip() or len(value) > self.longest:
            raise ValueError
        if "\0" in value or (not value.isascii() and value != clean_text(value)):
            raise ValueError("holds a null or half of a surrogate pair; correct it")
        return value


class Record:
    """A frozen dataclass that is read from outside and has no other fields than its own."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class Stored(Record):
    """A frozen dataclass that is stored as JSON and read again, every field checked."""

    def check(self) -> None:
        """Check what no field can tell alone; a ``ValueError`` says what is wrong."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` gives an equal object back."""
        return _reader(type(self)).dump_python(self, mode="json", warnings=False)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what ``to_json`` wrote.

        Raises:
            TaskError: a part is missing, unknown, of the wrong type or out of range.
        """
        written = f"expected a scene as {cls.__name__}.to_json writes it"
        try:
            found = read_fields(cls, data)
            found.check()
        except DatasetError as error:
            raise TaskError(f"{written}; {error}") from None
        except ValueError as error:
            raise TaskError(f"{written}, got one with {error}") from None
        return found


def read_fields(kind: type[T], value: Any, meant: Mapping[str, str] | None = None) -> T:
    """Return the dataclass that a mapping describes.

    Args:
        kind: the dataclass.
        value: from outside.
        meant: other names in small letters, as files from elsewhere have them → the field's.

    Raises:
        DatasetError: it does not fit; the message names the field.
    """
    try:
        return _reader(kind).validate_python(value)
    except PydanticError as wrong:
        errors = wrong.errors(include_url=False)
    unknown = (one for one in errors if one["type"] in _UNKNOWN)
    raise DatasetError(_told(kind, next(unknown, errors[0]), meant or {}))


def check_range(values: Iterable[float], low: float, high: float, what: str) -> None:
    """Check that numbers are from ``low`` to ``high``; a ``ValueError`` tells ``what`` they are."""
    for value in values:
        if not low <= value <= high:
            raise ValueError(f"{shown(value, 40)} in {what} where numbers from {low} to {high} belong")


def check_count(values: Collection[Any], count: int, what: str) -> None:
    """Check how many values there are; a ``ValueError`` tells ``what`` they are."""
    if len(values) != count:
        raise ValueError(f"{len(values)} {what} where {count} belong")


@cache
def _reader(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


def _told(kind: Any, error: ErrorDetails, meant: Mapping[str, str]) -> str:
    """Return what is wrong, as a sentence after the place of the row."""
    place, path = error["loc"][:-1], _path(error["loc"])
    context = error.get("ctx", {})
    reason = context.get("error", "")
    if error["type"] in _UNKNOWN:
        return unknown_field(path, _hints(_bare(_declared(kind, place))), meant)
    if error["type"].startswith("missing"):
        needed = getattr(_declared(kind, place), "__dataclass_fields__", {}).values()
        names = [each.name for each in needed if each.default is each.default_factory is MISSING]
        return f"field {path!r} is missing{'; needed are ' if names else ''}{', '.join(names)}"
    what = f"field {path!r}" if path else "it"
    if str(reason):
        return f"{what} {reason}" if str(reason).startswith(("must ", "holds ")) else f"{what}: {reason}"
    expected = _declared(kind, error["loc"])
    note = next((one for one in get_args(expected)[1:] if isinstance(one, Expected)), Expected())
    if error["type"] in ("too_short", "too_long") and not note.words:
        least, most = context.get("min_length"), context.get("max_length")
        count = f"at most {most}" if least is None else f"at least {least}"
        return f"{what} must be a list of {count}, got {context.get('actual_length')}"
    hint = suggest(error["input"], note.names) if isinstance(note, OneOf) else ""
    words = "an object" if _is_record(_bare(expected)) else expectation(expected)
    got = f"{what} must be {words}, got {shown(error['input'], 60)}"
    return f"{got}.{hint}" if "Did you" in hint else f"{got}; {note.advice}" if note.advice else got


def unknown_field(name: str, known: Iterable[str], meant: Mapping[str, str] | None = None) -> str:
    """Return what to say of a field that there is not; ``meant`` as in `read_fields`."""
    last = name.rpartition(".")[2]
    named = (meant or {}).get(last.casefold())
    hint = f" Did you mean {named!r}?" if named else suggest(last, known)
    return f"unknown field {shown(name, 60)}.{hint} Rename or remove it."


def _path(places: Iterable[int | str]) -> str:
    """Return ``("dots", 3, "x")`` as ``dots[3].x``."""
    text = "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in places)
    return text.removeprefix(".")[:60]


def _bare(kind: Any) -> Any:
    """Return a type without the notes in its annotation."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_record(kind: Any) -> bool:
    return is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields")


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if not name.startswith("_")}


def _declared(kind: Any, places: Iterable[int | str]) -> Any:
    """Return the annotation of what stands at a place in an object of a kind."""
    for place in places:
        kind = _bare(kind)
        if names := getattr(kind, "_fields", ()):  # of a named tuple
            place = names[place] if isinstance(place, int) and place < len(names) else place
        if _is_record(kind):
            kind = _hints(kind).get(str(place), Any)
            kind = get_args(kind)[0] if get_origin(kind) is NotRequired else kind
        elif isinstance(place, int) and get_origin(kind) in (tuple, list):
            members = get_args(kind)
            kind = members[place] if len(members) > place and members[-1] is not ... else members[0]
    return kind
