"""Tools: what a model may call, and what comes back.

A tool is a name, a JSON schema and a function of the episode's *workspace* (whatever the toolset opens for a
task: an image with its current view, a sandbox, a page). A call that cannot be carried out is a result
with ``ok=False`` and a typed ``error_code``; its text says what was wrong and what would be right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from pixelis.errors import ConfigError, shown, suggest
from pixelis.rewards.terms.traits import ToolTraits

if TYPE_CHECKING:
    from pixelis.envs.typed_tools import TypedFunction

W = TypeVar("W")

_MESSAGE_LIMIT = 200
Returned = Any
"""What a tool's function returns: a ``ToolOutput``; or text, which is read as it stands; or ``None``, read
as "Done."; or a number, truth value, list or dict of JSON, read as JSON and kept in the record's ``data``
(what is no dict, as ``result``).
"""


class CallRefused(Exception):
    """Raised by a tool's function when a call cannot be carried out; it becomes an ``ok=False`` result."""

    def __init__(self, error_code: str, message: str) -> None:
        """Args: ``error_code`` a stable name for programs, ``message`` what would be right, for the model."""
        super().__init__(message)
        self.error_code = error_code
        self.message = message


@dataclass(frozen=True)
class ToolOutput:
    """What a tool's function returns.

    Attributes:
        text: for the model.
        data: for programs; JSON.
        error_code: a stable name when the tool did its work and there was nothing to be had; such a call is
            not ``ok``. One that cannot be carried out raises ``CallRefused`` instead.
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None


@dataclass(frozen=True)
class ToolResult:
    """The record of one call.

    Attributes:
        tool: the name that was called (as written, also when no such tool exists).
        ok: whether it was carried out and something came back.
        text: what the model reads.
        data: what programs read; JSON.
        error_code: ``None`` when ``ok``; else e.g. ``bad_json``, ``unknown_tool``, ``bad_arguments``, or one
            of the tool's own.
        arguments: the arguments as given.
        scores: how good the output was by the environment's ground truth, name → value; for metrics, the
            model never reads it. Empty where nobody knows.
    """

    tool: str
    ok: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object; without scores it has no such field."""
        record = {
            "tool": self.tool,
            "ok": self.ok,
            "text": self.text,
            "data": dict(self.data),
            "error_code": self.error_code,
            "arguments": dict(self.arguments),
        }
        return {**record, "scores": dict(self.scores)} if self.scores else record


@dataclass(frozen=True)
class Tool(Generic[W]):
    """One tool.

    Attributes:
        name: what the model writes, by custom in capitals.
        description: one or two sentences for the model.
        parameters: JSON schema (draft 2020-12) of the arguments object.
        run: ``(workspace, arguments) ->`` what it has to say (see ``Returned``); raises ``CallRefused`` for a
            call it cannot carry out.
        traits: what reward terms go by: how many calls are fine, what must come before, what follows.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[W, Mapping[str, Any]], Returned]
    traits: ToolTraits = field(default_factory=ToolTraits)

    @classmethod
    def of(
        cls, function: Callable[..., Any], name: str | None = None, *, traits: ToolTraits | None = None
    ) -> Tool[Any]:
        """Return the tool that a typed function with a docstring is.

        The first paragraph of the docstring is the description, its section on arguments (Google's, NumPy's
        or Sphinx's style) describes these, and the annotations are the schema: ``str``, ``int``, ``float``,
        ``bool``, ``Literal``, enumerations, ``list``, ``dict``, unions with ``None``, ``Annotated`` with
        ranges, dates and whatever else pydantic writes as JSON. A parameter called ``workspace`` gets the
        episode's workspace and is not told to the model.

        A call that does not fit is an observation, as is one that the function refuses with ``CallRefused``.
        Any other exception is a bug of the function and is not caught.

        Args:
            function: a function or a method; see ``Returned`` for what it may return.
            name: what the model writes; by default the function's name.
            traits: see the class.

        Raises:
            ConfigError: a parameter has no type, ``*args`` or ``**kwargs``, a type that JSON cannot write, or
                no docstring.
        """
        from pixelis.envs.typed_tools import check_function, read_function

        name = check_function(function, name)
        typed = read_function(function, name)
        run = _Typed(function, name)
        return cls(name, typed.description, typed.parameters, run, traits or ToolTraits())

    @cached_property
    def validator(self) -> Draft202012Validator:
        """The compiled schema."""
        return Draft202012Validator({"type": "object", "additionalProperties": False, **self.parameters})

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled schema out: it cannot be pickled, and the copy makes its own."""
        return {name: value for name, value in vars(self).items() if name != "validator"}

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in the form that chat templates take as ``tools=``."""
        parameters = {"type": "object", **self.parameters}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }


class _Typed:
    """Runs a typed function with the arguments of a call; can be pickled where the function can."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function, self.name = function, name

    @cached_property
    def typed(self) -> TypedFunction:
        """What the function says of itself."""
        from pixelis.envs.typed_tools import read_function

        return read_function(self.function, self.name)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: it cannot be pickled."""
        return {"function": self.function, "name": self.name}

    def __call__(self, workspace: Any, arguments: Mapping[str, Any]) -> Returned:
        """Call the function."""
        from pixelis.envs.typed_tools import WORKSPACE, BadArgument, read_arguments

        try:
            values = read_arguments(self.typed, arguments)
        except BadArgument as bad:
            raise CallRefused("bad_arguments", str(bad)) from None
        return self.function(**values, **({WORKSPACE: workspace} if self.typed.takes_workspace else {}))


class Toolset(Generic[W]):
    """The tools of an environment, and how a workspace is opened for a task.

    Args:
        tools: the tools; names must differ.
        open_workspace: ``(task) -> workspace``, called once an episode.
    """

    def __init__(self, tools: Sequence[Tool[W]], open_workspace: Callable[..., W]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        if len(self.tools) != len(tools):
            raise ValueError(f"tool names must differ, got {[tool.name for tool in tools]}")
        self.open_workspace = open_workspace

    def schemas(self) -> list[dict[str, Any]]:
        """Return every tool in the form that chat templates take as ``tools=``."""
        return [tool.schema for tool in self.tools.values()]

    def call(
        self,
        workspace: W,
        name: str,
        arguments: Mapping[str, Any],
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> ToolResult:
        """Carry out one call; every refusal is a result, no arguments make it raise.

        Args:
            workspace: the episode's.
            name: of the tool.
            arguments: by name.
            texts: those of them that were written as plain text and read as JSON (``2024``), as they were
                written: where the tool's schema asks for a text, or takes the text alone, it gets this.
        """
        tool = self.tools.get(name)
        if tool is None:
            known = suggest(name[:40], self.tools) if self.tools else " There are none here; give an answer."
            text = f"There is no tool {name[:40]!r}.{known}"
            return ToolResult(name[:64], False, text, error_code="unknown_tool", arguments=arguments)
        properties = tool.parameters.get("properties", {})
        arguments = _with_texts(tool, arguments, texts)
        problem = best_match(tool.validator.iter_errors(dict(arguments)))
        if problem is not None:
            text = f"{name}: {_explain(problem)} Arguments: {', '.join(_signature(tool)) or 'none'}."
            code = "out_of_range" if problem.validator in ("minimum", "maximum") else "bad_arguments"
            return ToolResult(name, False, text, error_code=code, arguments=arguments)
        arguments = {key: _whole(value, properties.get(key, {})) for key, value in arguments.items()}
        try:
            output = _output(name, tool.run(workspace, arguments))
        except CallRefused as refusal:
            return ToolResult(name, False, f"{name}: {refusal.message}", {}, refusal.error_code, arguments)
        code = output.error_code
        return ToolResult(name, code is None, output.text, output.data, code, arguments)


def _with_texts(tool: Tool[Any], given: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments with those as texts that the schema wants so, or does not take as they were read."""
    plain = {name: text for name, text in texts.items() if not _is_quoted(text)}
    if not plain:
        return dict(given)
    properties = tool.parameters.get("properties", {})
    arguments = {**given, **{name: text for name, text in plain.items() if _is_text(properties.get(name))}}
    doubtful = {name: plain[name] for name in _refused(tool, arguments) & plain.keys()}
    still_refused = _refused(tool, {**arguments, **doubtful}) if doubtful else set()
    return {**arguments, **{name: text for name, text in doubtful.items() if name not in still_refused}}


def _refused(tool: Tool[Any], arguments: Mapping[str, Any]) -> set[Any]:
    """Return the names of the arguments whose values the schema does not take."""
    return {fault.path[0] for fault in tool.validator.iter_errors(dict(arguments)) if fault.path}


def _is_text(schema: Any) -> bool:
    """Return whether a schema, which may be true or false, asks for a text."""
    return isinstance(schema, Mapping) and schema.get("type") == "string"


def _whole(value: Any, schema: Any) -> Any:
    """Return a valid value, with ``int`` where its schema wants one: JSON Schema takes 5.0 for an integer."""
    if not isinstance(schema, Mapping):  # true takes everything
        return value
    if isinstance(value, float) and value.is_integer() and schema.get("type") == "integer":
        return int(value)
    if isinstance(value, list):
        return [_whole(each, schema.get("items")) for each in value]
    return value


def _is_quoted(text: str) -> bool:
    """Return whether a plain text is a text in JSON's quotes, which models write as well."""
    return len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('\\"', "")


def _output(name: str, returned: Any) -> ToolOutput:
    """Return what a tool's function returned as an output; see ``Returned``.

    Raises:
        ConfigError: it is nothing that a model can read.
    """
    if isinstance(returned, ToolOutput):
        return returned
    if isinstance(returned, str):
        return ToolOutput(returned)
    if returned is None:
        return ToolOutput("Done.")
    try:
        text = json.dumps(returned, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        what = f"the tool {name} must return text, a JSON value, None or a ToolOutput, got {shown(returned)}"
        raise ConfigError(f"{what}; write it as text") from None
    return ToolOutput(text, returned if isinstance(returned, dict) else {"result": returned})


def _explain(problem: ValidationError) -> str:
    where = ".".join(str(part) for part in problem.absolute_path)
    message = problem.message
    if problem.validator == "minProperties":
        message = "give at least one argument"
    elif problem.validator == "enum" and len(message) > _MESSAGE_LIMIT:
        message = f"expected one of {', '.join(map(str, cast(Sequence[Any], problem.validator_value)))}"
    elif len(message) > _MESSAGE_LIMIT:  # jsonschema repeats the offending value, which may be a megabyte
        message = f"not valid under the rule {problem.validator!r}"
    return f"{where + ': ' if where else ''}{message}."


def _signature(tool: Tool[Any]) -> list[str]:
    required = tool.parameters.get("required", ())
    properties = tool.parameters.get("properties", {})
    return [name if name in required else f"[{name}]" for name in properties]
