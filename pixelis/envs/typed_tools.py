"""What a typed Python function with a docstring says of itself as a tool; see ``Tool.of``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import docstring_parser
from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError

from pixelis.errors import ConfigError, shown

WORKSPACE = "workspace"
"""Name of the parameter that gets the episode's workspace; the model does not know of it."""
_CONFIG = ConfigDict(allow_inf_nan=False)
_NOT_JSON = (
    "is of a type that JSON cannot write; take str, int, float, bool, Literal, Enum, list, dict or None"
)


@dataclass(frozen=True)
class TypedFunction:
    """A function's description, its arguments and how they are read.

    Attributes:
        description: the docstring's first paragraph.
        readers: argument → what makes a value of its annotated type from JSON.
        parameters: JSON schema of the arguments.
        takes_workspace: whether it has a parameter called ``workspace``.
    """

    description: str
    readers: Mapping[str, TypeAdapter[Any]]
    parameters: Mapping[str, Any]
    takes_workspace: bool


class BadArgument(Exception):
    """An argument that its annotated type refuses; the text says which, for the model."""


def check_function(function: Any, name: str | None) -> str:
    """Return the name of the tool that a function makes.

    Raises:
        ConfigError: it is no function, or has no name that a model could write.
    """
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise ConfigError(f"Tool.of takes a function or a method, got {shown(function)}; define one with def")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(
            f"Tool.of takes a function that returns its result, {function.__name__} is async or yields; "
            "call it in one defined with def (asyncio.run, list)"
        )
    name = function.__name__ if name is None else name
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w-]{0,63}", name, re.ASCII):
        raise ConfigError(f"a tool's name must be letters, digits, _ and -, got {shown(name)}; give name=…")
    return name


def read_function(function: Callable[..., Any], name: str) -> TypedFunction:
    """Return what the annotations and the docstring of a function say.

    Raises:
        ConfigError: a parameter has no type, cannot be given by name, or is of a type that JSON cannot write;
            or there is no docstring.
    """
    document = docstring_parser.parse(inspect.getdoc(function) or "")
    if not document.short_description:
        raise ConfigError(f"tool {name!r}: the function has no docstring; the model reads its first sentence")
    said = {one.arg_name: " ".join((one.description or "").split()) for one in document.params}
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # a stranger's annotations may fail in any way
        raise ConfigError(f"tool {name!r}: its annotations cannot be read: {error}") from None
    signature = inspect.signature(function)
    readers: dict[str, TypeAdapter[Any]] = {}
    properties: dict[str, Any] = {}
    for one in signature.parameters.values():
        if one.name != WORKSPACE:
            _check_parameter(one, name, hints)
            readers[one.name], properties[one.name] = _read_parameter(
                one, name, hints[one.name], said.get(one.name)
            )
    required = [
        one.name for one in signature.parameters.values() if one.name in readers and one.default is one.empty
    ]
    parameters = {"properties": properties, "required": required}
    summary = " ".join(document.short_description.split())
    return TypedFunction(summary, readers, parameters, WORKSPACE in signature.parameters)


def read_arguments(function: TypedFunction, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as values of the annotated types.

    Raises:
        BadArgument: one does not fit.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        try:
            values[name] = function.readers[name].validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            cause = first.get("ctx", {}).get("error")
            reason = str(cause) if isinstance(cause, Exception) else ""  # a validator's of the user's
            kind = function.parameters["properties"][name]
            wanted = kind.get("format") or kind.get("type") or "value"
            raise BadArgument(f"{name}: {reason or f'this is no {wanted} that it takes'}.") from None
    return values


def _check_parameter(one: inspect.Parameter, name: str, hints: Mapping[str, Any]) -> None:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind)
    if stars:
        raise ConfigError(
            f"tool {name!r}: {stars}{one.name} has no schema; give every parameter a name and a type"
        )
    if one.kind is one.POSITIONAL_ONLY:
        raise ConfigError(f"tool {name!r}: parameter {one.name!r} cannot be given by name; leave the / out")
    if one.name not in hints:
        raise ConfigError(
            f"tool {name!r}: parameter {one.name!r} has no type; annotate it, for example {one.name}: str"
        )


def _read_parameter(
    one: inspect.Parameter, name: str, hint: Any, description: str | None
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """Return what reads a parameter, and its JSON schema."""
    try:
        reader: TypeAdapter[Any] = _adapter(hint)
        described: TypeAdapter[Any] = _adapter(Annotated[hint, Field(description=description)])
        schema = _plain((described if description else reader).json_schema())
    except (PydanticUserError, RecursionError):
        raise ConfigError(f"tool {name!r}: parameter {one.name!r} {_NOT_JSON}") from None
    if one.default is not one.empty:
        try:
            reader.validate_python(one.default)
            schema["default"] = reader.dump_python(one.default, mode="json")
        except ValueError:  # pydantic's errors are
            what = f"parameter {one.name!r} does not take its own default, {shown(one.default)}"
            raise ConfigError(f"tool {name!r}: {what}; correct it") from None
    return reader, schema


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=_CONFIG)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":  # a model or dataclass, which has its own
            raise
        return TypeAdapter(hint)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without titles, and with what it refers to in its place.

    Raises:
        RecursionError: it refers to itself.
    """
    parts = schema.pop("$defs", {})

    def put(value: Any) -> Any:
        """Return a part of the schema likewise."""
        if isinstance(value, list):
            return [put(each) for each in value]
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if "$ref" in value:
            value = {**parts[value.pop("$ref").rpartition("/")[2]], **value}
        named = {key: put(each) for key, each in value.items() if key not in ("title", "properties")}
        if "properties" in value:
            named["properties"] = {key: put(each) for key, each in value["properties"].items()}
        return named

    return put(schema)
