"""Keywords and reset options of environments: declared once, in the constructor's annotations, and checked.

    class MyEnv(ToolEnv):
        @checked_keywords
        def __init__(self, *, size: Annotated[Whole, Interval(ge=8, le=64)] = 16, split: Split = "train"):

The annotations are pydantic's, and are read when the first environment of the class is made. What does not
fit is a ``ConfigError`` before the constructor's first line runs: the keyword's name, what was expected, what
came. A reset option is checked as the keyword of the same name is. A parameter whose type pydantic does not
know (a toolset, a protocol) is left as it is.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Ge, Gt, Interval, Le, Lt
from pydantic import (
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    PydanticUserError,
    SkipValidation,
    TypeAdapter,
)
from pydantic import ValidationError as PydanticError
from typing_extensions import Unpack

from pixelis.errors import ConfigError, DatasetError, ModelLoadError, PixelisError, SplitError, shown, suggest

P = ParamSpec("P")
T = TypeVar("T")

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Expected:
    """A note in an annotation: how messages tell what is expected, and what to do.

    Attributes:
        words: what goes on after "must be"; empty: told from the type.
        advice: what to do; empty for nothing.
        error: the class of the error.
    """

    words: str = ""
    advice: str = ""
    error: type[PixelisError] = ConfigError


@dataclass(frozen=True)
class Names:
    """A note in an annotation: one of some names, or several of them in a list; read as a tuple.

    Attributes:
        known: returns the names there are; asked when there is something to check.
        example: what a message shows.
        every: the word that means all of them; empty for none.
        single: whether one name may stand alone.
        empty: whether none may be named.
    """

    known: Callable[[], Iterable[str]]
    example: str
    every: str = ""
    single: bool = True
    empty: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic reads it."""
        return handler.generate_schema(Annotated[Any, PlainValidator(self.read)])

    def read(self, value: Any) -> tuple[str, ...]:
        """Return the names, in the order in which they were given.

        Raises:
            ValueError: something else than names, none, or an unknown one; the text is what to do.
        """
        known = tuple(self.known())
        if isinstance(value, str) and self.single:
            value = (value,)
        if type(value) not in (list, tuple, set, frozenset) or not (value or self.empty):
            raise ValueError(f"for example {self.example}.{suggest('', known)}")
        for name in value:
            if isinstance(name, str) and name == self.every and len(value) == 1:
                return known
            if not isinstance(name, str) or name not in known:
                choices = (*known, *([self.every] if self.every else []))
                raise ValueError(f"there is no {shown(name, 60)}.{suggest(name, choices)}")
        return tuple(sorted(value) if isinstance(value, set | frozenset) else value)


def _plain(value: Any) -> Any:
    """Return a number or truth value of NumPy's as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.integer | np.floating | np.bool_) else value


def _split(value: Any) -> str:
    """Return the name of a split."""
    if not isinstance(value, str) or value not in ("train", "test"):
        raise ValueError
    return str(value)


def _path(value: Any, there: Callable[[str], bool]) -> Any:
    """Return a path at which there is what is expected."""
    path = value if type(value) is str else os.fspath(value) if isinstance(value, os.PathLike) else None
    if not isinstance(path, str):
        raise ValueError
    if not there(path):
        raise ValueError("there is none; correct the path")
    return value


Whole = Annotated[int, BeforeValidator(_plain)]
"""An integer, NumPy's too, no truth value."""
Number = Annotated[float, BeforeValidator(_plain)]
"""A finite number, NumPy's too, no truth value."""
Flag = Annotated[bool, BeforeValidator(_plain)]
"""``True`` or ``False``, NumPy's too, nothing that is only like them."""
Difficulty = SkipValidation[int]
"""The dial; what it may be is for the task source to say (``tasks.check_difficulty``)."""
RenderMode = SkipValidation[str | None]
"""What there is to render differs: ``rendering.check_render_mode`` says the environment's own modes."""
Turns = Annotated[Whole, Interval(ge=1), Expected(advice="8 is usual")]
"""Turns of an episode."""
Split = Annotated[
    str,
    PlainValidator(_split),
    Expected("'train' or 'test'", "training uses 'train', evaluation 'test'", SplitError),
]
"""The part of the tasks that is played."""
FilePath = Annotated[
    str | os.PathLike[str],
    PlainValidator(functools.partial(_path, there=os.path.isfile)),
    Expected("the path of a file", error=DatasetError),
]
"""A path of rows that exists, as text or ``pathlib``'s."""
FolderPath = Annotated[
    str | os.PathLike[str],
    PlainValidator(functools.partial(_path, there=os.path.isdir)),
    Expected("the path of a folder", error=ModelLoadError),
]
"""A path of a model that exists, likewise."""


@dataclass(frozen=True)
class Keyword:
    """How one keyword is checked.

    Attributes:
        name: of the keyword.
        annotation: its declared type, notes included.
        adapter: pydantic's reader of it; ``None`` where it is not checked.
    """

    name: str
    annotation: Any
    adapter: TypeAdapter[Any] | None

    def read(self, value: Any) -> Any:
        """Return a value as the declaration has it: numbers as Python's, names as a tuple.

        Raises:
            ConfigError: it does not fit; of a subclass where the declaration names one.
        """
        if self.adapter is None:
            return value
        try:
            return self.adapter.validate_python(value)
        except PydanticError as error:
            reasons = [
                one.get("ctx", {})["error"]
                for one in error.errors(include_url=False, include_input=False)
                if "error" in one.get("ctx", {})
            ]
        except PixelisError:
            raise
        except Exception:  # a value whose own methods raise
            reasons = []
        for reason in reasons:
            if isinstance(reason, PixelisError):
                raise reason if self.name in str(reason) else type(reason)(f"{self.name}: {reason}")
        raise self._refusal(value, next((str(reason) for reason in reasons if str(reason)), ""))

    def _refusal(self, value: Any, reason: str) -> PixelisError:
        note = _note(self.annotation)
        choices = _choices(self.annotation)
        text = f"{self.name} must be {expectation(self.annotation)}, got {shown(value)}"
        advice = "; ".join(part for part in (reason, note.advice) if part)
        text += f"; {advice}" if advice else ""
        if choices and isinstance(value, str) and "Did you" in (guess := suggest(value, choices)):
            text += f".{guess}"
        return note.error(text.removesuffix("."))


def checked_keywords(init: Callable[P, None]) -> Callable[P, None]:
    """Return a constructor that checks its keywords by their annotations before it runs.

    Raises:
        ConfigError: (when called) a keyword is unknown, or its value does not fit.
    """

    @functools.wraps(init)
    def checking(self: Any, *args: Any, **given: Any) -> None:
        """Check what is given, then construct with what was read of it."""
        keywords = keywords_of(init)
        for name in given:
            if name not in keywords:
                kind = type(self).__name__
                raise ConfigError(f"{kind} has no keyword {shown(name, 60)}.{suggest(name, keywords)}")
        init(self, *args, **{name: keywords[name].read(value) for name, value in given.items()})  # type: ignore

    checking.declares = True  # type: ignore[attr-defined]
    return checking  # type: ignore[return-value]


@functools.cache
def declared_keywords(kind: type[Any]) -> Mapping[str, Keyword]:
    """Return the keywords of a class and of its bases, those whose constructors are checked, by name."""
    inits = [each.__dict__["__init__"] for each in reversed(kind.__mro__) if "__init__" in each.__dict__]
    return {
        name: keyword
        for init in inits
        if getattr(init, "declares", False)
        for name, keyword in keywords_of(init).items()
    }


def read_options(kind: type[Any], names: Sequence[str], options: Any) -> dict[str, Any]:
    """Return options of ``reset``, each checked as the keyword of the same name of the class is.

    Args:
        kind: the environment's class.
        names: the options that there are.
        options: those that were given.

    Raises:
        ConfigError: they are no mapping, or one is unknown or of the wrong kind.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"reset options must be a dict with {names}, got {shown(options)}")
    keywords = declared_keywords(kind)
    for name in options:
        if not isinstance(name, str) or name not in names:
            raise ConfigError(f"unknown reset option {shown(name, 60)}.{suggest(name, names)}")
    return {
        name: keywords[name].read(value) if name in keywords and name != "task" else value
        for name, value in options.items()
    }


@functools.cache
def keywords_of(init: Callable[..., Any]) -> Mapping[str, Keyword]:
    """Return the keywords that a constructor takes, by name; those of ``**name: Unpack[...]`` too."""
    init = inspect.unwrap(init)
    hints = get_type_hints(init, include_extras=True)
    found: dict[str, Keyword] = {}
    for name, parameter in inspect.signature(init).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and get_origin(hints.get(name)) is Unpack:
            inside = get_type_hints(get_args(hints[name])[0], include_extras=True)
            found |= {each: declared(each, annotation) for each, annotation in inside.items()}
        elif name != "self":
            found[name] = declared(name, hints.get(name, Any))
    return found


def declared(name: str, annotation: Any) -> Keyword:
    """Return how a keyword of this type is checked."""
    try:
        return Keyword(name, annotation, TypeAdapter(annotation, config=_STRICT))
    except PydanticUserError:
        return Keyword(name, annotation, None)


def expectation(annotation: Any) -> str:
    """Return how messages tell what a declaration expects, for example "an integer from 1 to 9"."""
    if words := _note(annotation).words:
        return words
    kind, notes = _parts(annotation)
    bounds = [part for note in notes for part in (note if isinstance(note, Interval) else [note])]
    low = next((one for one in bounds if isinstance(one, Ge | Gt)), None)
    high = next((one for one in bounds if isinstance(one, Le | Lt)), None)
    if names := next((note for note in notes if isinstance(note, Names)), None):
        one = "a name or " if names.single else ""
        return f"{one}a list of names{f', or {names.every!r}' if names.every else ''}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(expectation(each) for each in get_args(kind))
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is not None and issubclass(get_origin(kind), Sequence):
        return f"a list, each item of it {expectation(get_args(kind)[0])}"
    words = _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")
    return f"{words}{_range(low, high)}"


_WORDS = {
    int: "an integer",
    float: "a finite number",
    bool: "True or False",
    str: "text",
    NoneType: "None",
    None: "None",
    Callable: "a function",
}


def _range(low: Ge | Gt | None, high: Le | Lt | None) -> str:
    if isinstance(low, Ge) and isinstance(high, Le):
        return f" from {low.ge} to {high.le}"
    parts = [f"at least {low.ge}" if isinstance(low, Ge) else f"above {low.gt}"] if low else []
    parts += [f"at most {high.le}" if isinstance(high, Le) else f"below {high.lt}"] if high else []
    text = " and ".join(parts)
    return f" {'of ' if text.startswith('at') else ''}{text}" if parts else ""


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and its notes."""
    if get_origin(annotation) is Annotated:
        kind, *notes = get_args(annotation)
        return kind, tuple(notes)
    return annotation, ()


def _inner(annotation: Any) -> Iterable[Any]:
    """Yield a declaration, and the members of its unions."""
    yield annotation
    kind, _ = _parts(annotation)
    if get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _inner(each)


def _note(annotation: Any) -> Expected:
    own = [note for note in _parts(annotation)[1] if isinstance(note, Expected)]
    inner = [note for each in _inner(annotation) for note in _parts(each)[1] if isinstance(note, Expected)]
    note = (own or inner or [Expected()])[-1]
    return note if own else Expected("", note.advice, note.error)


def _choices(annotation: Any) -> list[str]:
    return [
        name
        for each in _inner(annotation)
        if get_origin(_parts(each)[0]) is Literal
        for name in get_args(_parts(each)[0])
    ]
