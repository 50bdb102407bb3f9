"""A coding problem: what is asked, by which signature, and what counts as right."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Annotated, Any, ClassVar

from annotated_types import Interval, Predicate
from pydantic import PlainValidator, Strict

from pixelis.envs.coding.answers.comparison import EXACT, AnswerComparison
from pixelis.envs.coding.answers.extraction import defines
from pixelis.envs.coding.problems.literals import read_literal, write_literal
from pixelis.envs.data.lines import MAX_LINE_BYTES
from pixelis.envs.keywords import Expected
from pixelis.envs.schema import Int, Object, OneOf, Record, Text, read_fields
from pixelis.envs.tasks import SPLITS
from pixelis.errors import DatasetError, TaskError, shown

WRAPPERS = ("list", "tuple", "set", "sorted")
"""What may be applied to the value of a call, see ``Problem.around``."""
SHOWN_CHARACTERS = 240
"""Examples are shown, the shortest first, until they are longer than this together; one at least."""
_TEXTS = ("id", "family", "split", "statement", "entry", "returns", "prefix", "script")


@dataclass(frozen=True)
class TestCase:
    """One call and its value.

    Attributes:
        args: positional arguments.
        expected: what the call must return.
        kwargs: arguments by name.
        comparison: what counts as equal in this case; None: what the problem says.
    """

    __test__: ClassVar[bool] = False  # its name is no invitation to pytest

    args: tuple[Any, ...]
    expected: Any
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    comparison: AnswerComparison | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the case as Python literals in texts, which tuples and sets survive."""
        value: dict[str, Any] = {"args": write_literal(self.args), "expected": write_literal(self.expected)}
        if self.kwargs:
            value["kwargs"] = write_literal(dict(self.kwargs))
        if self.comparison is not None:
            value["comparison"] = self.comparison.to_json()
        return value

    @classmethod
    def from_json(cls, value: Any) -> TestCase:
        """Return the case that ``to_json`` wrote.

        Raises:
            DatasetError: it is none.
            AnswerError: its comparison is none.
        """
        if not isinstance(value, Mapping) or not {"args", "expected"} <= set(value) <= {*_CASE_FIELDS}:
            raise DatasetError(f"a test case must hold {', '.join(_CASE_FIELDS)}, got {shown(value, 80)}")
        args, kwargs = read_literal(value["args"]), read_literal(value.get("kwargs", "{}"))
        if type(args) is not tuple or type(kwargs) is not dict or not all(isinstance(k, str) for k in kwargs):
            raise DatasetError(f"a test case needs a tuple of args and a dict of kwargs, got {value!r:.80}")
        own = AnswerComparison.from_json(value["comparison"]) if "comparison" in value else None
        return cls(args, read_literal(value["expected"]), kwargs, own)

    def call(self, entry: str) -> str:
        """Return the call as a line of Python, e.g. ``add(1, b=2)``."""
        named = [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"{entry}({', '.join([*map(repr, self.args), *named])})"


_CASE_FIELDS = ("args", "expected", "kwargs", "comparison")
Source = Annotated[str, Strict(), Expected("a text", "leave it out if there is none")]
"""Python, or a type's name; empty for none."""


def _is_function_name(name: str) -> bool:
    is_as_python_reads_it = unicodedata.normalize("NFKC", name) == name  # a ligature becomes two letters
    return name.isidentifier() and is_as_python_reads_it and not iskeyword(name)


FunctionName = Annotated[
    str,
    Strict(),
    Predicate(_is_function_name),
    Expected("the name of a function", "write no keyword, and letters in their plain form (Unicode NFKC)"),
]
"""What can be called."""
_Written = Annotated[str, Text(MAX_LINE_BYTES)]
_Cases = Annotated[
    tuple[Annotated[TestCase, PlainValidator(TestCase.from_json)], ...], Expected("a list of test cases")
]


@dataclass(frozen=True)
class Problem(Record):
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
            is shown, must pass like all others and earns no partial credit (``HiddenTests.of``). Nor do
            tests that the statement or the given code tells (``shown_calls``).
        comparison: what counts as an equal value, unless a test case says it.
        rule: what was drawn, by name; the statement says all of it. Empty for problems from files.
        tests: the hidden test cases, for problems from files. A family draws them (``hidden_tests``).
        prefix: code a solution may rely on: imports, functions, and the start of ``entry`` to be completed.
        script: assertions that could not be read as test cases; see ``needs_script``.
        around: built-ins that are applied to what a call returns, the outermost first, before it is compared.
    """

    id: _Written
    family: _Written
    difficulty: Annotated[Int, Interval(ge=0, le=10)]
    split: Annotated[str, OneOf(SPLITS)]
    statement: _Written
    entry: FunctionName
    parameters: tuple[Annotated[tuple[Source, Source], Expected("[name, type]")], ...] = ()
    returns: Source = ""
    examples: _Cases = ()
    comparison: Annotated[AnswerComparison, PlainValidator(AnswerComparison.from_json)] = EXACT
    rule: Object = field(default_factory=dict)
    tests: _Cases = ()
    prefix: Source = ""
    script: Source = ""
    around: tuple[Annotated[str, OneOf(WRAPPERS)], ...] = ()

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
        """Statement, given code, the signature where that has none, and examples, as they are asked."""
        shown = [f"{case.call(self.entry)} == {case.expected!r}" for case in self.examples]
        given = [self.prefix.rstrip()] if self.prefix.strip() else []
        if not defines(self.prefix, self.entry):
            given.append(self.signature)
        parts = [self.statement, "```python\n" + "\n\n\n".join(given) + "\n```"]
        return "\n\n".join([*parts, *(["Examples:\n" + "\n".join(shown)] if shown else [])])

    def with_shown_examples(self) -> Problem:
        """Return the problem with as many of its examples as the prompt has room for."""
        length, kept = 0, []
        for case in sorted(self.examples, key=lambda case: len(repr((case.args, case.expected)))):
            length += len(case.call(self.entry)) + len(repr(case.expected))
            if kept and length > SHOWN_CHARACTERS:
                break
            kept.append(case)
        return replace(self, examples=tuple(case for case in self.examples if case in kept))

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
            **({"around": list(self.around)} if self.around else {}),
        }

    @classmethod
    def from_json(cls, value: Any) -> Problem:
        """Return the problem that ``to_json`` wrote.

        Raises:
            TaskError: it is none; the message names the field.
        """
        try:
            return read_fields(cls, value)
        except DatasetError as error:
            raise TaskError(f"the problem cannot be read: {error}") from None
