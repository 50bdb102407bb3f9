"""One row of a file of coding problems: the user's own fields, HumanEval's, or MBPP's."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from annotated_types import Interval, MinLen
from pydantic import PlainValidator

from pixelis.envs.coding.answers.comparison import EXACT, AnswerComparison
from pixelis.envs.coding.answers.python_source import completed, parse_trusted
from pixelis.envs.coding.problems.assertions import NO_ASSERTIONS, Translation, called_name, translate
from pixelis.envs.coding.problems.literals import read_literal
from pixelis.envs.coding.problems.problem import FunctionName, Problem, Source, TestCase
from pixelis.envs.coding.problems.repeated_calls import contradicted, without_repeats
from pixelis.envs.coding.problems.signatures import called_with, signature_of
from pixelis.envs.data.lines import MAX_LINE_BYTES
from pixelis.envs.data.splits import RowSplit, hashed_split
from pixelis.envs.keywords import Expected
from pixelis.envs.schema import Int, OneOf, Record, Text, read_fields
from pixelis.errors import DatasetError, shown

MAX_STATEMENT_LENGTH = 20_000
MAX_PROMPT_LENGTH = 8_000
"""Of what is asked, whole: an observation's text has room for it and for how to hand in."""
MAX_EXAMPLE_LENGTH = 240
MAX_EXPECTED_LENGTH = 400_000
"""Characters of all expected values of a row as ASCII literals: a candidate has to return them."""


@dataclass(frozen=True)
class ProblemRow:
    """A problem and what its file says beside it.

    Attributes:
        problem: the problem; its family is the kind of row: ``own``, ``human_eval`` or ``mbpp``.
        solution: source text of a solution, whole; empty where the row has none.
        untranslated: why the row's assertions are no test cases; empty where they are.
    """

    problem: Problem
    solution: str = ""
    untranslated: str = ""


def _id(value: Any) -> str:
    if type(value) not in (str, int):
        raise ValueError
    return str(value)


def _parameters(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or not all(
        name.isidentifier() and isinstance(kind, str) for name, kind in value.items()
    ):
        raise ValueError
    return tuple(value.items())


_Id = Annotated[str, PlainValidator(_id), Expected("a text or an integer")]
_Statement = Annotated[str, Text(MAX_STATEMENT_LENGTH)]
_Sources = Annotated[list[Source], Expected("a list of texts", "leave it out if empty")]
_NO_TESTS = "a problem without tests has no truth"


@dataclass(frozen=True)
class _Own(Record):
    """A row of the user's own."""

    statement: _Statement
    entry: FunctionName
    tests: Annotated[list[Any], Expected("a list of objects with args and expected")]
    id: _Id = ""
    parameters: Annotated[
        tuple[tuple[str, str], ...],
        PlainValidator(_parameters),
        Expected("an object of names and types"),
    ] = ()
    returns: Source = ""
    examples: Annotated[list[Any], Expected("a list of objects with args and expected")] = field(
        default_factory=list
    )
    comparison: Annotated[AnswerComparison, PlainValidator(AnswerComparison.from_json)] = EXACT
    values: Annotated[str, OneOf(("json", "python"))] = "json"
    difficulty: Annotated[Int, Interval(ge=0, le=10)] = 0
    prefix: Source = ""
    solution: Source = ""
    split: RowSplit = ""

    def row(self) -> ProblemRow:
        """Return the problem."""
        tests, examples = self._cases("tests"), self._cases("examples")
        if not tests:
            raise DatasetError(f"field 'tests' is empty; {_NO_TESTS}, so write at least one")
        if case := contradicted((*tests, *examples), self.comparison):
            raise DatasetError(
                f"{case.call(self.entry)[:80]} has two expected values that no answer could meet; correct one"
            )
        given = {case.call("f") for case in examples}
        for case in tests:
            if case.call("f") in given:
                raise DatasetError(
                    f"{case.call(self.entry)[:80]} is an example and a test; what is shown tests nothing"
                )
        same = ("difficulty", "statement", "entry", "parameters", "returns", "comparison", "prefix")
        problem = Problem(
            id=self.id or _digest(self.statement, self.entry),
            family="own",
            split=self.split or hashed_split(self.statement),
            examples=examples,
            tests=without_repeats(tests),
            **{name: getattr(self, name) for name in same},
        )
        return ProblemRow(_with_parameters(problem, self.solution), self.solution)

    def _cases(self, name: str) -> tuple[TestCase, ...]:
        python = self.values == "python"
        return tuple(_case(case, name, number, python) for number, case in enumerate(getattr(self, name), 1))


@dataclass(frozen=True)
class _HumanEval(Record):
    """A row of HumanEval's shape."""

    prompt: _Statement
    entry_point: FunctionName
    test: Annotated[str, Text(MAX_LINE_BYTES, _NO_TESTS)]
    task_id: _Id = ""
    canonical_solution: Source = ""
    split: RowSplit = ""

    def row(self) -> ProblemRow:
        """Return the problem, with its assertions read."""
        statement = _docstring(self.prompt, self.entry_point) or f"Complete the function {self.entry_point}."
        name = self.task_id or _digest(self.prompt, self.entry_point)
        solution = self.canonical_solution and self.prompt + self.canonical_solution
        asked = statement, self.entry_point, self.prompt
        read = _asserted("human_eval", name, asked, self.test, self.split, solution)
        return replace(read, problem=_with_parameters(read.problem))


@dataclass(frozen=True)
class _Mbpp(Record):
    """A row of MBPP's shape."""

    task_id: _Id
    test_list: Annotated[list[Source], MinLen(1), Expected("a list of at least one assertion")]
    text: _Statement = ""
    prompt: _Statement = ""
    code: Source = ""
    test_setup_code: Source = ""
    test_imports: _Sources = field(default_factory=list)
    challenge_test_list: _Sources = field(default_factory=list)
    source_file: Any = None
    split: RowSplit = ""

    def row(self) -> ProblemRow:
        """Return the problem, with its assertions and the solution's signature read."""
        if not (self.text or self.prompt):
            raise DatasetError("field 'text' (or 'prompt') is missing; it says what the function does")
        entry = called_name(self.test_list[0], self.code)
        setup = self.test_setup_code or "\n".join(self.test_imports)
        script = "\n".join([*([setup] if setup else []), *self.test_list, *self.challenge_test_list])
        asked = self.text or self.prompt, entry, ""
        read = _asserted("mbpp", f"mbpp/{self.task_id}", asked, script, self.split, self.code)
        problem = replace(read.problem, examples=_one_example(read.problem.tests))
        return replace(read, problem=_with_parameters(problem, self.code))


_KINDS: dict[str, type[_HumanEval | _Mbpp]] = {
    "test_list": _Mbpp,
    "entry_point": _HumanEval,
    "test": _HumanEval,
    "code": _Mbpp,
}
"""Column that tells the kind of a row; a row without any is the user's own."""


def row_of(value: Mapping[str, Any]) -> ProblemRow:
    """Return the problem that a JSON object describes; its columns say of which kind it is.

    ``None`` counts as left out.

    Raises:
        DatasetError: what is wrong with it.
    """
    kind = next((_KINDS[name] for name in _KINDS if name in value), _Own)
    try:
        row = read_fields(kind, {name: one for name, one in value.items() if one is not None}).row()
    except UnicodeEncodeError:
        raise DatasetError("a name or statement holds half of a surrogate pair; correct its text") from None
    _check_cases(row.problem)
    _check_prompt(row.problem)
    return row


def _with_parameters(problem: Problem, solution: str = "") -> Problem:
    """Return a problem with its parameters, else those of its code or a solution, or what fits the calls."""
    if problem.parameters:
        return problem
    sources = (completed(problem.prefix), solution)
    found = next((one for one in (signature_of(source, problem.entry) for source in sources) if one), None)
    parameters, returns = found or (called_with((*problem.examples, *problem.tests)), "")
    return replace(problem, parameters=parameters, returns=problem.returns or returns)


def _one_example(tests: tuple[TestCase, ...]) -> tuple[TestCase, ...]:
    """Return the test that is shown: the first, or the shortest if that is long; never the only one."""
    if len(tests) < 2:
        return ()
    lengths = [len(repr((case.args, dict(case.kwargs), case.expected))) for case in tests]
    return (tests[0 if lengths[0] <= MAX_EXAMPLE_LENGTH else lengths.index(min(lengths))],)


def _asserted(
    kind: str, name: str, asked: tuple[str, str, str], script: str, split: str, solution: str
) -> ProblemRow:
    """Return the problem of a row whose tests are assertions: as test cases, or with its script."""
    statement, entry, prefix = asked
    read: Translation = translate(script, entry)
    if read.reason == NO_ASSERTIONS:
        raise DatasetError(f"its tests assert nothing about {entry} that could fail; {_NO_TESTS}")
    if contradicted(read.cases, read.comparison):
        reason = "one call with two values (a mistake, or a function with a memory)"
        read = Translation((), read.comparison, reason)
    problem = Problem(
        id=name,
        family=kind,
        difficulty=0,
        split=split or hashed_split(f"{kind}:{name}"),
        statement=statement,
        entry=entry,
        comparison=read.comparison,
        tests=without_repeats(read.cases),
        prefix=prefix,
        script="" if read.cases else script,
        around=read.around,
    )
    return ProblemRow(problem, solution, read.reason)


def _check_cases(problem: Problem) -> None:
    """Refuse test cases that no candidate could pass; `contradicted` has refused others."""
    length = sum(len(ascii(case.expected)) for case in problem.tests)
    if length > MAX_EXPECTED_LENGTH:
        raise DatasetError(
            f"the expected values have {length:,} characters together, at most {MAX_EXPECTED_LENGTH:,} can "
            "be returned; write smaller tests"
        )


def _check_prompt(problem: Problem) -> None:
    """Refuse what would be cut where it is shown; a problem with a script is not."""
    length = len(problem.with_shown_examples().prompt)
    if length > MAX_PROMPT_LENGTH and not problem.needs_script:
        raise DatasetError(
            f"its prompt (statement, given code, signature, examples) has {length:,} characters, at most "
            f"{MAX_PROMPT_LENGTH:,} can be shown; shorten it"
        )


def _case(value: Any, name: str, number: int, python: bool) -> TestCase:
    known = ("args", "expected", "kwargs")
    if not isinstance(value, Mapping) or "expected" not in value or not set(value) <= {*known}:
        raise DatasetError(
            f"{name}, number {number}: must hold args, expected and perhaps kwargs, got {shown(value, 60)}"
        )
    read = (lambda item: read_literal(item)) if python else (lambda item: item)
    args = read(value["args"]) if "args" in value else []
    kwargs = read(value["kwargs"]) if "kwargs" in value else {}
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict) or not all(map(_is_name, kwargs)):
        raise DatasetError(
            f"{name}, number {number}: args must be a list and kwargs an object, got {shown(value, 60)}"
        )
    return TestCase(tuple(args), read(value["expected"]), kwargs)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _docstring(prompt: str, entry: str) -> str:
    tree = parse_trusted(prompt + "\n    pass\n")
    body = tree.body if tree is not None else ()
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == entry]
    return (ast.get_docstring(found[-1]) or "") if found else ""


def _digest(*parts: Sequence[str] | str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
