"""Tools: what a model may call, and what comes back.

A tool is a name, a JSON schema and a function of the episode's *workspace* (whatever the toolset opens for a
task: an image with its current view, a sandbox, a page). A call that cannot be carried out is a result
with ``ok=False`` and a typed ``error_code``; its text says what was wrong and what would be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from pixelis.errors import suggest
from pixelis.rewards.traits import ToolTraits

W = TypeVar("W")

_MESSAGE_LIMIT = 200


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
        run: ``(workspace, arguments) -> ToolOutput``; raises ``CallRefused`` for a call it cannot carry out.
        traits: what reward terms go by: how many calls are fine, what must come before, what follows.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[W, Mapping[str, Any]], ToolOutput]
    traits: ToolTraits = field(default_factory=ToolTraits)

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

    def call(self, workspace: W, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out one call; every refusal is a result, no arguments make it raise."""
        tool = self.tools.get(name)
        if tool is None:
            known = suggest(name[:40], self.tools) if self.tools else " There are none here; give an answer."
            text = f"There is no tool {name[:40]!r}.{known}"
            return ToolResult(name[:64], False, text, error_code="unknown_tool", arguments=arguments)
        problem = best_match(tool.validator.iter_errors(dict(arguments)))
        if problem is not None:
            text = f"{name}: {_explain(problem)} Arguments: {', '.join(_signature(tool)) or 'none'}."
            code = "out_of_range" if problem.validator in ("minimum", "maximum") else "bad_arguments"
            return ToolResult(name, False, text, error_code=code, arguments=arguments)
        try:
            output = tool.run(workspace, arguments)
        except CallRefused as refusal:
            return ToolResult(name, False, f"{name}: {refusal.message}", {}, refusal.error_code, arguments)
        code = output.error_code
        return ToolResult(name, code is None, output.text, output.data, code, arguments)


def _explain(problem: ValidationError) -> str:
    where = ".".join(str(part) for part in problem.absolute_path)
    message = problem.message
    if problem.validator == "minProperties":
        message = "give at least one argument"
    elif len(message) > _MESSAGE_LIMIT:  # jsonschema repeats the offending value, which may be a megabyte
        message = f"not valid under the rule {problem.validator!r}"
    return f"{where + ': ' if where else ''}{message}."


def _signature(tool: Tool[Any]) -> list[str]:
    required = tool.parameters.get("required", ())
    properties = tool.parameters.get("properties", {})
    return [name if name in required else f"[{name}]" for name in properties]
