"""A coding problem: what is asked, by which signature, and what counts as right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pixelis.envs.coding.answers.comparison import EXACT, Comparison
from pixelis.envs.coding.problems.literals import read_literal, write_literal
from pixelis.envs.tasks import check_split
from pixelis.errors import DatasetError, PixelisError, TaskError, shown, suggest

_TEXTS = ("id", "family", "split", "statement", "entry", "returns", "prefix", "script")


@dataclass(frozen=True)
class TestCase:
    """One call and its value.

    Attributes:
        args: positional arguments.
        expected: what the call must return.
        kwargs: arguments by name.
    """

    __test__: ClassVar[bool] = False  # its name is no invitation to pytest

    args: tuple[Any, ...]
    expected: Any
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, str]:
        """Return the case as Python literals in texts, which tuples and sets survive."""
        written = {"args": write_literal(self.args), "expected": write_literal(self.expected)}
        return {**written, "kwargs": write_literal(dict(self.kwargs))} if self.kwargs else written

    @classmethod
    def from_json(cls, value: Any) -> TestCase:
        """Return the case that ``to_json`` wrote.

        Raises:
            DatasetError: it is none.
        """
        if not isinstance(value, Mapping) or not {"args", "expected"} <= set(value) <= {*_CASE_FIELDS}:
            raise DatasetError(f"a test case must hold {', '.join(_CASE_FIELDS)}, got {shown(value, 80)}")
        args, kwargs = read_literal(value["args"]), read_literal(value.get("kwargs", "{}"))
        if type(args) is not tuple or type(kwargs) is not dict or not all(isinstance(k, str) for k in kwargs):
            raise DatasetError(f"a test case needs a tuple of args and a dict of kwargs, got {value!r:.80}")
        return cls(args, read_literal(value["expected"]), kwargs)

    def call(self, entry: str) -> str:
        """Return the call as a line of Python, e.g. ``add(1, b=2)``."""
        named = [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"{entry}({', '.join([*map(repr, self.args), *named])})"


_CASE_FIELDS = ("args", "expected", "kwargs")


@dataclass(frozen=True)
class Problem:
    """A function to write. Drawn by a family, or read from a file; ``to_json`` stores it either way.

    Attributes:
        id: readable name.
        family: which family drew it, or the kind of file it comes from.
        difficulty: 1 (one expression) to 10 (a long algorithm); 0 where nobody said.
        split: ``train`` or ``test``; one rule is never in both.
        statement: what the function does, without signature and examples.
        entry: the function's name.
        parameters: its parameters' names and types, in order; a default follows either (``"int = 3"``).
        returns: type of its value; empty where unknown.
        examples: test cases that may be shown; never among the hidden ones, but for MBPP's rows: one of those
            is shown, must pass like all others and earns no partial credit (``HiddenTests.of``).
        comparison: what counts as an equal value.
        rule: what was drawn, by name; the statement says all of it. Empty for problems from files.
        tests: the hidden test cases, for problems from files. A family draws them (``hidden_tests``).
        prefix: code a solution may rely on: imports, functions, and the start of ``entry`` to be completed.
        script: assertions that could not be read as test cases; see ``needs_script``.
    """

    id: str
    family: str
    difficulty: int
    split: str
    statement: str
    entry: str
    parameters: tuple[tuple[str, str], ...] = ()
    returns: str = ""
    examples: tuple[TestCase, ...] = ()
    comparison: Comparison = EXACT
    rule: Mapping[str, Any] = field(default_factory=dict)
    tests: tuple[TestCase, ...] = ()
    prefix: str = ""
    script: str = ""

    @property
    def needs_script(self) -> bool:
        """Whether only a script can tell right from wrong, which has to run beside the candidate's code."""
        return bool(self.script)

    @property
    def signature(self) -> str:
        """The line a solution starts with, e.g. ``def add(a: int, b: int) -> int:``."""
        named = ", ".join(f"{name}: {kind}" if kind else name for name, kind in self.parameters)
        return f"def {self.entry}({named}){f' -> {self.returns}' if self.returns else ''}:"

    @property
    def prompt(self) -> str:
        """Statement, signature (or code to complete) and examples, as they are asked."""
        shown = [f"{case.call(self.entry)} == {case.expected!r}" for case in self.examples]
        parts = [self.statement, "```python\n" + (self.prefix or self.signature).rstrip() + "\n```"]
        return "\n\n".join([*parts, *(["Examples:\n" + "\n".join(shown)] if shown else [])])

    def to_json(self) -> dict[str, Any]:
        """Return the problem as a JSON object."""
        value: dict[str, Any] = {name: getattr(self, name) for name in (*_TEXTS, "difficulty")}
        return {
            **value,
            "parameters": [list(pair) for pair in self.parameters],
            "examples": [case.to_json() for case in self.examples],
            "comparison": self.comparison.to_json(),
            "rule": dict(self.rule),
            "tests": [case.to_json() for case in self.tests],
        }

    @classmethod
    def from_json(cls, value: Any) -> Problem:
        """Return the problem that ``to_json`` wrote.

        Raises:
            TaskError: it is none; the message names the field.
        """
        if not isinstance(value, Mapping):
            raise TaskError(f"a problem must be an object, got {type(value).__name__}")
        for name in value:
            if name not in cls.__dataclass_fields__:
                raise TaskError(
                    f"unknown problem field {shown(name, 60)}.{suggest(name, cls.__dataclass_fields__)}"
                )
        try:
            return cls(**{name: _FIELDS[name](name, value.get(name)) for name in _FIELDS})
        except PixelisError as error:
            raise TaskError(f"the problem cannot be read: {error}") from None


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or (name in ("id", "family", "statement") and not value.strip()):
        raise TaskError(f"field {shown(name)} must be a text, got {shown(value, 60)}")
    if name == "entry" and not value.isidentifier():
        raise TaskError(f"field 'entry' must be the name of a function, got {shown(value, 60)}")
    return check_split(value) if name == "split" else value


def _cases(name: str, value: Any) -> tuple[TestCase, ...]:
    if not isinstance(value, list):
        raise TaskError(f"field {shown(name)} must be a list of test cases, got {shown(value, 60)}")
    return tuple(TestCase.from_json(case) for case in value)


def _difficulty(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 10:
        raise TaskError(f"field {shown(name)} must be an integer from 0 to 10, got {shown(value, 60)}")
    return value


def _rule(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TaskError(f"field {shown(name)} must be an object, got {shown(value, 60)}")
    return dict(value)


def _parameters(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)
        for pair in value
    ):
        raise TaskError(f"field {shown(name)} must be a list of [name, type], got {shown(value, 60)}")
    return tuple((pair[0], pair[1]) for pair in value)


_FIELDS = {
    **dict.fromkeys(_TEXTS, _text),
    "difficulty": _difficulty,
    "parameters": _parameters,
    "examples": _cases,
    "comparison": lambda _, value: Comparison.from_json(value),
    "rule": _rule,
    "tests": _cases,
}
