"""One row of a file of coding problems: the user's own fields, HumanEval's, or MBPP's."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pixelis.envs.coding.answers.comparison import Comparison
from pixelis.envs.coding.answers.python_source import parse_trusted
from pixelis.envs.coding.problems.assertions import NO_ASSERTIONS, Translation, called_name, translate
from pixelis.envs.coding.problems.literals import check_size, read_literal
from pixelis.envs.coding.problems.problem import Problem, TestCase
from pixelis.envs.coding.problems.signatures import called_with, signature_of
from pixelis.envs.data.fields import check_names, check_needed
from pixelis.envs.data.splits import hashed_split, row_split
from pixelis.errors import AnswerError, DatasetError, shown

OWN_FIELDS = (
    *("statement", "entry", "tests", "id", "parameters", "returns", "examples", "comparison"),
    *("values", "difficulty", "prefix", "solution", "split"),
)
HUMAN_EVAL_FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test", "split")
MBPP_FIELDS = (
    *("task_id", "text", "prompt", "code", "test_list", "test_setup_code", "test_imports"),
    *("challenge_test_list", "source_file", "split"),
)
_NEEDED = {"own": OWN_FIELDS[:3], "human_eval": HUMAN_EVAL_FIELDS[1:3], "mbpp": ("task_id", "test_list")}
_KNOWN = {"own": OWN_FIELDS, "human_eval": HUMAN_EVAL_FIELDS, "mbpp": MBPP_FIELDS}
MAX_STATEMENT_LENGTH = 20_000
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


def row_of(value: Mapping[str, Any]) -> ProblemRow:
    """Return the problem that a JSON object describes; its columns say of which kind it is.

    Raises:
        DatasetError: what is wrong with it.
    """
    marks = {"test_list": "mbpp", "entry_point": "human_eval", "test": "human_eval", "code": "mbpp"}
    kind = next((marks[name] for name in marks if name in value), "own")
    check_names(value, _KNOWN[kind])
    check_needed(value, _NEEDED[kind])
    try:
        row = {"own": _own, "human_eval": _human_eval, "mbpp": _mbpp}[kind](value)
    except AnswerError as error:
        raise DatasetError(f"field 'comparison': {error}") from None
    except UnicodeEncodeError:
        raise DatasetError("a name or statement holds half of a surrogate pair; correct its text") from None
    _check_cases(row.problem)
    return row


# ---------------------------------------------------------------------- kinds


def _own(row: Mapping[str, Any]) -> ProblemRow:
    statement, entry = _text(row, "statement"), _name(row, "entry")
    tests, examples = _cases(row, "tests"), _cases(row, "examples") if row.get("examples") else ()
    if not tests:
        raise DatasetError(
            "field 'tests' is empty; a problem without tests has no truth, so write at least one"
        )
    given = {case.call("f") for case in examples}
    for case in tests:
        if case.call("f") in given:
            raise DatasetError(
                f"{case.call(entry)[:80]} is an example and a test; what is shown tests nothing"
            )
    difficulty = row.get("difficulty", 0)
    if type(difficulty) is not int or not 0 <= difficulty <= 10:
        raise DatasetError(f"field 'difficulty' must be an integer from 0 to 10, got {shown(difficulty, 40)}")
    problem = Problem(
        id=_id(row, "id") or _digest(statement, entry),
        family="own",
        difficulty=difficulty,
        split=row_split(row, hashed_split(statement)),
        statement=statement,
        entry=entry,
        parameters=_parameters(row.get("parameters", {})),
        returns=_optional(row, "returns"),
        examples=examples,
        comparison=Comparison.from_json(row.get("comparison", {})),
        tests=tests,
        prefix=_optional(row, "prefix"),
    )
    return ProblemRow(problem, _optional(row, "solution"))


def _human_eval(row: Mapping[str, Any]) -> ProblemRow:
    prompt, entry = _text(row, "prompt"), _name(row, "entry_point")
    script = row.get("test")
    if not isinstance(script, str) or not script.strip():
        raise DatasetError("field 'test' is missing or empty; a problem without tests has no truth")
    statement = _docstring(prompt, entry) or f"Complete the function {entry}."
    name = _id(row, "task_id") or _digest(prompt, entry)
    solution = _optional(row, "canonical_solution")
    return _asserted(
        "human_eval", name, (statement, entry, prompt), script, row, prompt + solution if solution else ""
    )


def _mbpp(row: Mapping[str, Any]) -> ProblemRow:
    statement = _text(row, "text" if "text" in row else "prompt")
    tests = row["test_list"]
    if not isinstance(tests, list) or not tests or not all(isinstance(test, str) for test in tests):
        raise DatasetError(f"field 'test_list' must be a list of at least one assertion, got {tests!r:.60}")
    solution = _optional(row, "code")
    entry = called_name(tests[0], solution)
    setup = _optional(row, "test_setup_code") or "\n".join(_texts(row, "test_imports"))
    script = "\n".join([*([setup] if setup else []), *tests, *_texts(row, "challenge_test_list")])
    name = f"mbpp/{_id(row, 'task_id')}"
    read = _asserted("mbpp", name, (statement, entry, ""), script, row, solution)
    tests_read = read.problem.tests
    parameters, returns = signature_of(solution, entry) or (called_with(tests_read), "")
    problem = replace(read.problem, parameters=parameters, returns=returns, examples=_one_example(tests_read))
    return replace(read, problem=problem)


def _one_example(tests: tuple[TestCase, ...]) -> tuple[TestCase, ...]:
    """Return the test that is shown: the first, or the shortest if that is long; never the only one."""
    if len(tests) < 2:
        return ()
    lengths = [len(repr((case.args, dict(case.kwargs), case.expected))) for case in tests]
    return (tests[0 if lengths[0] <= MAX_EXAMPLE_LENGTH else lengths.index(min(lengths))],)


def _asserted(
    kind: str, name: str, asked: tuple[str, str, str], script: str, row: Mapping[str, Any], solution: str
) -> ProblemRow:
    """Return the problem of a row whose tests are assertions: as test cases, or with its script."""
    statement, entry, prefix = asked
    read: Translation = translate(script, entry)
    if read.reason == NO_ASSERTIONS:
        raise DatasetError(
            f"its tests assert nothing about {entry} that could fail; a problem without tests has no truth"
        )
    problem = Problem(
        id=name,
        family=kind,
        difficulty=0,
        split=row_split(row, hashed_split(f"{kind}:{name}")),
        statement=statement,
        entry=entry,
        comparison=read.comparison,
        tests=read.cases,
        prefix=prefix,
        script="" if read.cases else script,
    )
    return ProblemRow(problem, solution, read.reason)


# ---------------------------------------------------------------------- fields


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_STATEMENT_LENGTH or "\0" in value:
        raise DatasetError(
            f"field {name!r} must be a text of 1 to {MAX_STATEMENT_LENGTH:,} characters, got {value!r:.60}"
        )
    return value


def _optional(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str):
        raise DatasetError(f"field {name!r} must be a text, got {value!r:.60}; leave it out if there is none")
    return value


def _texts(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DatasetError(
            f"field {shown(name)} must be a list of texts, got {shown(value, 60)}; leave it out if empty"
        )
    return value


def _id(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if type(value) not in (str, int):
        raise DatasetError(f"field {shown(name)} must be a text or an integer, got {shown(value, 60)}")
    return str(value)


def _check_cases(problem: Problem) -> None:
    """Refuse test cases that no candidate could be given or pass."""
    for case in (*problem.tests, *problem.examples):
        check_size([list(case.args), dict(case.kwargs), case.expected])
    length = sum(len(ascii(case.expected)) for case in problem.tests)
    if length > MAX_EXPECTED_LENGTH:
        raise DatasetError(
            f"the expected values have {length:,} characters together, at most {MAX_EXPECTED_LENGTH:,} can "
            "be returned; write smaller tests"
        )


def _name(row: Mapping[str, Any], field: str) -> str:
    value = row[field]
    if not isinstance(value, str) or not value.isidentifier():
        raise DatasetError(f"field {shown(field)} must be the name of a function, got {shown(value, 60)}")
    return value


def _parameters(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or not all(
        name.isidentifier() and isinstance(kind, str) for name, kind in value.items()
    ):
        raise DatasetError(f"field 'parameters' must be an object of names and types, got {shown(value, 60)}")
    return tuple(value.items())


def _cases(row: Mapping[str, Any], name: str) -> tuple[TestCase, ...]:
    values = row.get("values", "json")
    if values not in ("json", "python"):
        raise DatasetError(f"field 'values' must be 'json' or 'python', got {shown(values, 60)}")
    cases = row[name]
    if not isinstance(cases, list):
        raise DatasetError(
            f"field {shown(name)} must be a list of objects with args and expected, got {shown(cases, 60)}"
        )
    return tuple(_case(case, name, number, values == "python") for number, case in enumerate(cases, 1))


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
