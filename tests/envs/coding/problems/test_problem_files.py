"""Problems from files: literals, assertions read as test cases, rows of three shapes, and whole files."""

from __future__ import annotations

import contextlib
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.answers.comparison import AnswerComparison, compare
from pixelis.envs.coding.families import hidden_tests
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.problems.assertions import called_name, translate
from pixelis.envs.coding.problems.literals import check_size, read_literal, write_literal
from pixelis.envs.coding.problems.problem_file import ProblemFile
from pixelis.envs.coding.problems.problem_rows import row_of
from pixelis.errors import DatasetError, TaskError

OWN = {"statement": "Add two numbers.", "entry": "add", "tests": [{"args": [1, 2], "expected": 3}]}
HUMAN_EVAL = {
    "task_id": "Mine/0",
    "prompt": 'def twice(n: int) -> int:\n    """Return n doubled."""\n',
    "entry_point": "twice",
    "canonical_solution": "    return 2 * n\n",
    "test": "METADATA = {'author': 'me'}\n\ndef check(candidate):\n    assert True\n    assert candidate(2) "
    "== 4\n",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to find the shared items.",
    "code": "def shared(a, b):\n    return tuple(set(a) & set(b))",
    "test_setup_code": "",
    "test_list": ["assert set(shared((1, 2), (2, 3))) == set((2,))"],
    "challenge_test_list": [],
}

# ---------------------------------------------------------------------- literals

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_literals_come_back_with_their_types(value):
    assert compare(value, read_literal(json.loads(json.dumps(write_literal(value)))))


@given(st.text())
def test_reading_any_text_gives_a_value_or_one_error(text):
    with contextlib.suppress(DatasetError):
        read_literal(text)


@pytest.mark.parametrize(
    "text", ["", "f(1)", "__import__('os')", "x", "[1", "1 +", "(" * 999, "9" * 5000, 3, None]
)
def test_what_is_no_literal_is_refused(text):
    with pytest.raises(DatasetError, match="expected a Python literal"):
        read_literal(text)


def test_what_has_no_literal_is_not_written():
    for value in (object(), [object()], {1: len}, 10**5000, frozenset({1})):
        with pytest.raises(DatasetError):
            write_literal(value)
    assert read_literal(write_literal([set(), {1}, -math.inf])) == [set(), {1}, -math.inf]


# ---------------------------------------------------------------------- assertions

LOOSE = AnswerComparison(same_number_type=False)


@pytest.mark.parametrize(
    ("script", "case"),
    [
        ("assert f(1, [2]) == (3,)", TestCase((1, [2]), (3,))),
        ("assert 3 == f()", TestCase((), 3)),
        ("assert f(x=-1) == 2 / 4, 'half'", TestCase((), 0.5, {"x": -1})),
        ("assert f('a')", TestCase(("a",), True)),
        ("assert not f(None)", TestCase((None,), False)),
        ("assert f(0) is None", TestCase((0,), None)),
        ("def check(candidate):\n    'doc'\n    assert candidate(2) == 2 ** 3", TestCase((2,), 8)),
        ("import math\ncheck(f)\nassert f(1) == {'a': {1, 2}}", TestCase((1,), {"a": {1, 2}})),
    ],
)
def test_assertions_become_cases(script, case):
    assert translate(script, "f").cases == (case,)
    assert translate(script, "f").comparison == LOOSE


@pytest.mark.parametrize(
    ("script", "comparison"),
    [
        ("assert abs(f(1) - 0.5) < 1e-3", {"float_tolerance": math.nextafter(1e-3, 0)}),
        ("assert math.fabs(0.5 - f(1)) <= 0.01", {"float_tolerance": 0.01}),
        ("assert math.isclose(f(1), 0.5, rel_tol=0.1)", {"relative_tolerance": 0.1}),
        ("assert f(2) == 1\nassert abs(f(1) - 0.5) <= 1e-3", {"float_tolerance": 1e-3}),
        ("assert sorted(f(1)) == sorted([2, 1])", {"unordered": True, "any_sequence": True}),
        ("assert set(f(1)) == {1, 2}", {"unordered": True, "any_sequence": True}),
        ("assert tuple(f(1)) == tuple([1, 2])", {"any_sequence": True}),
    ],
)
def test_assertions_say_what_is_equal(script, comparison):
    assert translate(script, "f").comparison == AnswerComparison(**comparison, same_number_type=False)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("", "no assertions"),
        ("assert True", "no assertions"),
        ("assert f(1) == f(1)", "no assertions"),
        ("assert f(1) == g(1)", "no literal"),
        ("assert f(1) == f(2)", "two calls"),
        ("assert f(1) != 2", "NotEq"),
        ("assert f(1) < 2", "< in an assertion"),
        ("assert f(1) == 1 and f(2) == 2", "BoolOp"),
        ("assert f(1)[0] == 2", "no call to compare"),
        ("assert f(**{'a': 1}) == 2", r"\*\* in a call"),
        ("assert f(*[1]) == 2", "no literal"),
        ("assert f(1) == 9 ** 9 ** 9", "no literal"),
        ("assert f(1) == 'a' * 10 ** 9", "no literal"),
        ("assert abs(f(1) - 2) < 5", "tolerance of 1 or more"),
        ("assert abs(f(1) - 2) < 0", "a difference below 0"),
        ("assert abs(f(1) - 2) < 'x'", "not supported"),
        ("assert abs() < 1", "out of range"),
        ("assert f(1) is 3", "is with something else than None, True or False"),
        ("assert f(1) is f(1)", "is with something else"),
        ("assert f(1) == sorted([2, 1])", "changes what is expected"),
        ("assert set(f(1)) == set([1, 1])", "changes what is expected"),
        ("assert set(f(1)) == {1}\nassert f(2) == 3", "several kinds"),
        ("for n in range(3):\n    assert f(n) == n", "For"),
        ("x = 1\nassert f(x) == 1", "Assign"),
        ("assert f(1) ==", "invalid syntax"),
        ("assert f(1) == 1\nimport os\nos.remove('x')", "Expr"),
    ],
)
def test_what_cannot_be_read_stays_a_script_and_says_why(script, reason):
    read = translate(script, "f")
    assert read.cases == ()
    assert re.search(reason, read.reason)


def test_an_assertion_that_forgives_less_than_another_says_so():
    near = AnswerComparison(float_tolerance=0.1, same_number_type=False)
    read = translate("assert abs(f(1) - 0.5) <= 0.1\nassert f(2) == 0.5\nassert f(3) is True", "f")
    cases = (
        TestCase((1,), 0.5),
        TestCase((2,), 0.5, {}, LOOSE),
        TestCase((3,), True, {}, AnswerComparison()),
    )
    assert (read.comparison, read.cases) == (near, cases)
    assert [TestCase.from_json(json.loads(json.dumps(case.to_json()))) for case in cases] == [*cases]
    assert translate("assert f(3) is True", "f").comparison == AnswerComparison()


def test_what_stands_around_the_calls_is_kept():
    read = translate("assert tuple(sorted(f(1))) == tuple(sorted([2, 1]))", "f")
    assert (read.around, read.cases) == (("tuple", "sorted"), (TestCase((1,), (1, 2)),))
    problem = row_of(MBPP).problem
    assert problem.around == ("set",) and Problem.from_json(problem.to_json()) == problem


def test_assertions_that_hold_for_every_solution_are_counted():
    read = translate("assert True\nassert tuple(f(1)) == tuple(f(1))\nassert f(1) == 2", "f")
    assert (len(read.cases), read.vacuous) == (1, 2)


def test_the_called_function_is_found():
    assert called_name("assert set(shared(1)) == set([1])") == "shared"
    with pytest.raises(DatasetError, match="must call"):
        called_name("assert True")
    with pytest.raises(DatasetError, match="must be Python"):
        called_name("assert (")


# ---------------------------------------------------------------------- rows


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_the_largest_values_that_are_taken():
    assert check_size(nested(64)) == 64
    assert check_size([[0] * 30_000, {1: 2}, (3,), {4}]) == 4 + 30_000 + 2 + 1 + 1
    with pytest.raises(DatasetError, match="at most 64 deep"):
        check_size(nested(65))
    with pytest.raises(DatasetError, match="60,000 elements"):
        check_size({n: n for n in range(30_001)})


def test_own_rows():
    row = row_of(
        {
            **OWN,
            "id": "a",
            "parameters": {"x": "int", "y": "int"},
            "returns": "int",
            "difficulty": 2,
            "examples": [{"args": [0, 0], "expected": 0}],
            "comparison": {"float_tolerance": 0.1},
            "solution": "def add(x, y): return x + y",
            "split": "test",
        }
    )
    problem = row.problem
    assert problem.signature == "def add(x: int, y: int) -> int:"
    assert (problem.id, problem.split, problem.difficulty, problem.family) == ("a", "test", 2, "own")
    assert problem.comparison == AnswerComparison(float_tolerance=0.1)
    assert hidden_tests(problem, 0).cases == (TestCase((1, 2), 3),) and not problem.needs_script
    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


def test_own_rows_with_python_values():
    tests = [{"args": "(1, {2})", "expected": "(3, nan)", "kwargs": "{'k': b'x'}"}]
    case = row_of({**OWN, "values": "python", "tests": tests}).problem.tests[0]
    assert compare(TestCase((1, {2}), (3, math.nan), {"k": b"x"}).args, case.args)
    assert compare((3, math.nan), case.expected) and case.kwargs == {"k": b"x"}


def test_human_eval_rows():
    row = row_of(HUMAN_EVAL)
    assert row.problem.statement == "Return n doubled."
    assert row.problem.tests == (TestCase((2,), 4),)
    assert row.solution.endswith("    return 2 * n\n") and row.solution.startswith("def twice")
    assert row.problem.prompt.count("def twice") == 1
    script = "def check(candidate):\n    for n in range(9):\n        assert candidate(n) == 2 * n\n"
    row = row_of({**HUMAN_EVAL, "test": script})
    assert row.problem.needs_script and row.problem.script == script and "For" in row.untranslated
    with pytest.raises(TaskError, match="at least one test case"):
        hidden_tests(row.problem, 0)


def test_mbpp_rows():
    problem = row_of(MBPP).problem
    assert (problem.id, problem.entry, problem.tests) == (
        "mbpp/7",
        "shared",
        (TestCase(((1, 2), (2, 3)), (2,)),),
    )
    assert compare(problem.tests[0].expected, {2}, problem.comparison)
    assert not compare(problem.tests[0].expected, {3}, problem.comparison)


THREE = ["assert neg([3, -1, -2]) == -3", "assert neg([1]) == 0", "assert neg([-5, 4]) == -5"]
NEG = {"task_id": 87, "text": "Sum the negative numbers.", "test_list": THREE, "split": "train"}


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("def neg(nums):\n    return 0", "def neg(nums):"),
        (
            "import re\n\ndef neg(nums: list[int], floor=0) -> int:\n    return 0",
            "def neg(nums: list[int], floor=0) -> int:",
        ),
        (
            "def neg(nums: list = None, *, least: int = 3):\n    return 0",
            "def neg(nums: list = None, *, least: int = 3):",
        ),
        ("def neg(a, /, *rest, **names): pass", "def neg(a, /, *rest, **names):"),
        ("neg = lambda nums, low=-1: 0", "def neg(nums, low=-1):"),
        (f"def neg(nums, table={list(range(99))}):\n    return 0", "def neg(nums, table=...):"),
        ("def helper(x):\n    def neg(y): pass\n\r\n\r\ndef neg(nums):\r\n\treturn '\\d'", "def neg(nums):"),
        ("", "def neg(argument_1):"),
        ("no python", "def neg(argument_1):"),
    ],
)
def test_an_mbpp_row_shows_its_signature_and_one_example(code, line):
    problem = row_of({**NEG, "code": code}).problem
    assert problem.prompt == (
        f"Sum the negative numbers.\n\n```python\n{line}\n```\n\nExamples:\nneg([3, -1, -2]) == -3"
    )
    assert Problem.from_json(problem.to_json()) == problem
    compile(f"{problem.signature}\n    pass", "x", "exec")


def test_a_row_of_ones_own_shows_its_signature():
    def shown(**fields) -> str:
        row = {"statement": "Scale.", "entry": "scale", "tests": [{"args": [1, 2], "expected": 2}], **fields}
        return row_of(row).problem.prompt.split("```")[1].removeprefix("python\n").rstrip()

    assert shown() == "def scale(argument_1, argument_2):"
    assert shown(solution="K = 1\n\ndef scale(n: int, by=1): return n * by") == "def scale(n: int, by=1):"
    assert shown(parameters={"a": "int", "b": ""}, returns="int") == "def scale(a: int, b) -> int:"
    given = "import math\n\nUNIT = 1"
    assert shown(prefix=given, returns="int") == given + "\n\n\ndef scale(argument_1, argument_2) -> int:"
    opened = given + "\n\ndef scale(a, b):\n\t'''Doubles.'''"
    assert shown(prefix=opened + "\n") == opened


def test_the_signature_of_a_prompt_is_that_of_its_function():
    assert row_of(HUMAN_EVAL).problem.signature == "def twice(n: int) -> int:"


def test_parameters_without_a_reference_fit_every_call():
    tests = ["assert f(1, 2, sep='-') == 3", "assert f(1) == 2", "assert f(2, sep='') == 4"]
    problem = row_of({**NEG, "test_list": tests}).problem
    assert problem.signature == "def f(argument_1, argument_2=None, *, sep=None):"


def test_the_test_that_is_shown_must_pass_and_earns_nothing():
    problem = row_of({**NEG, "code": "def neg(nums): pass"}).problem
    tests = hidden_tests(problem, 0)
    assert (len(tests.cases), problem.examples) == (3, problem.tests[:1])
    assert tests.constant in (0, -5) and tests.constant_share == pytest.approx(2 / 3)  # shown, and one more
    alone = row_of({**NEG, "test_list": THREE[:1]}).problem
    assert alone.examples == () and "-3" not in alone.prompt
    long = f"assert neg({list(range(200))}) == 0"
    assert row_of({**NEG, "test_list": [long, *THREE]}).problem.examples[0].args == ([1],)


def test_the_function_that_the_reference_defines_is_asked_for():
    row = {**NEG, "test_list": ["assert math.floor(max(best(1, 2), 2)) == 2"] * 2}
    assert row_of({**row, "code": "def best(a, b): return 2"}).problem.entry == "best"
    tests = ["assert sorted(sum([1, 2])) == [1]", "assert sorted(sum([3])) == [2]"]
    assert row_of({**NEG, "test_list": tests, "code": "def sum(nums): return [1]"}).problem.entry == "sum"


def test_escapes_that_python_warns_of_are_no_mistake_in_a_row():
    row = {**HUMAN_EVAL, "prompt": 'def twice(n):\n    """Doubles \\d."""\n'}
    assert row_of(row).problem.statement == "Doubles \\d."
    tests = ["assert neg('\\d') == 1", "assert neg('x') == 0"]
    assert [case.args for case in row_of({**NEG, "test_list": tests}).problem.tests] == [("\\d",), ("x",)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({**OWN, "tests": []}, "'tests' is empty"),
        ({"statement": "x", "entry": "f"}, "'tests' is missing"),
        ({**OWN, "tests": 3}, "must be a list of objects"),
        ({**OWN, "tests": [{"args": [1]}]}, "tests, number 1: must hold args, expected"),
        ({**OWN, "tests": [{"args": 1, "expected": 2}]}, "args must be a list"),
        ({**OWN, "tests": [{"args": [], "kwargs": {"a b": 1}, "expected": 2}]}, "kwargs an object"),
        ({**OWN, "test_cases": []}, "unknown field 'test_cases'"),
        ({**OWN, "entry": "a b"}, "name of a function"),
        ({**OWN, "statement": " "}, "'statement' must be a text"),
        ({**OWN, "examples": OWN["tests"]}, "is an example and a test"),
        ({**OWN, "comparison": {"unorderd": True}}, "Did you mean 'unordered'"),
        ({**OWN, "difficulty": 11}, "from 0 to 10"),
        ({**OWN, "difficulty": True}, "from 0 to 10"),
        ({**OWN, "values": "yaml"}, "'json' or 'python'"),
        ({**OWN, "values": "python"}, "expected a Python literal"),
        ({**OWN, "split": "dev"}, "'split' must be"),
        ({**OWN, "parameters": ["x"]}, "object of names and types"),
        ({**OWN, "solution": 3}, "'solution' must be a text"),
        ({**HUMAN_EVAL, "test": " "}, "'test' must be a text .* a problem without tests has no truth"),
        ({k: v for k, v in HUMAN_EVAL.items() if k != "test"}, "'test' is missing|needs"),
        ({**HUMAN_EVAL, "tests": []}, "unknown field 'tests'. Did you mean 'test'"),
        ({**HUMAN_EVAL, "prompt": 1}, "'prompt' must be a text"),
        ({**MBPP, "test_list": []}, "at least one assertion"),
        ({**MBPP, "test_list": ["assert 1 == 1"]}, "must call the function"),
        ({**MBPP, "text": ""}, "'text' must be a text"),
        ({**MBPP, "test_setup_code": ["import math"]}, "'test_setup_code' must be a text"),
        ({**MBPP, "test_imports": "import math"}, "'test_imports' must be a list of texts"),
        ({**MBPP, "challenge_test_list": [3]}, r"'challenge_test_list\[0\]' must be a text, got 3"),
        ({**MBPP, "task_id": {"a": 1}}, "'task_id' must be a text or an integer"),
        ({**OWN, "id": [1]}, "'id' must be a text or an integer"),
        ({**OWN, "statement": "half \ud800"}, "surrogate"),
        ({**HUMAN_EVAL, "test": "def check(candidate):\n    pass\n"}, "assert nothing about twice"),
        ({**HUMAN_EVAL, "test": "METADATA = {}\nassert True"}, "assert nothing about twice"),
        ({**MBPP, "test_list": ["assert shared(1) == shared(1)"]}, "assert nothing about shared"),
        ({**OWN, "tests": [{"args": [nested(65)], "expected": 1}]}, "at most 64 deep"),
        ({**OWN, "tests": [{"args": [], "expected": nested(65)}]}, "at most 64 deep"),
        ({**OWN, "examples": [{"args": [nested(65)], "expected": 1}]}, "at most 64 deep"),
        ({**OWN, "tests": [{"args": [[0] * 60_001], "expected": 1}]}, "at most 60,000 elements"),
        ({**OWN, "tests": [{"args": [n], "expected": "x" * 99_999} for n in range(5)]}, "500,005 characters"),
    ],
)
def test_bad_rows(value, words):
    with pytest.raises(DatasetError, match=words):
        row_of(value)


# ---------------------------------------------------------------------- files


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_file_of_three_kinds(tmp_path):
    script = {
        **HUMAN_EVAL,
        "task_id": "Mine/1",
        "prompt": "def g(n):\n",
        "entry_point": "g",
        "test": "def check(candidate):\n    assert candidate(1) != 2\n",
    }
    path = write(
        tmp_path / "p.jsonl",
        [{**OWN, "split": "test"}, *({**row, "split": "train"} for row in (HUMAN_EVAL, MBPP, script))],
    )
    file = ProblemFile.open(path)
    assert (file.count("train"), file.count("test"), file.translated) == (3, 1, 3)
    assert dict(file.needs_script) == {"NotEq in an assertion": 1}
    assert [file.read("train", at)[0] for at in range(3)] == [2, 3, 4]
    assert file.read("test", 0)[1].problem.entry == "add"
    assert ProblemFile.open(str(path)) is file


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_line_ends_do_not_matter(tmp_path, mark, end):
    rows = [{**row, "split": "train"} for row in (OWN, HUMAN_EVAL, MBPP)]
    path = tmp_path / "p.jsonl"
    path.write_bytes(mark + "".join(json.dumps(row) + end for row in rows).encode())
    file = ProblemFile.open(path)
    assert [file.read("train", at)[1] for at in range(3)] == [row_of(row) for row in rows]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-16", "line 1: expected UTF-8"),
        ("utf-16-le", "line 1: expected one JSON object"),
        ("utf-32", "line 1: expected UTF-8"),
        ("latin-1", "line 2: expected UTF-8"),
        ("cp1252", "line 2: expected UTF-8"),
    ],
)
def test_other_encodings_are_named_with_their_line(tmp_path, encoding, words):
    rows = [OWN, {**OWN, "statement": "Añade dos números."}]
    path = tmp_path / "p.jsonl"
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(encoding))
    with pytest.raises(DatasetError, match=words):
        ProblemFile.open(path)


@pytest.mark.parametrize("row", [OWN, {**OWN, "id": "a"}, HUMAN_EVAL, MBPP])
def test_a_second_row_of_one_name_is_named_with_both_lines(tmp_path, row):
    path = write(tmp_path / "p.jsonl", [row, {**OWN, "statement": "Something else."}, row])
    with pytest.raises(
        DatasetError, match=r"line 3: a second problem is called .*, the first one is in line 1"
    ):
        ProblemFile.open(path)


def test_bad_lines_are_named(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(OWN) + "\n\n{\n" + json.dumps({**OWN, "tests": []}) + "\n", encoding="utf-8")
    with pytest.raises(
        DatasetError, match=r"(?s)line 3: expected one JSON object.*line 4: field 'tests' is empty"
    ):
        ProblemFile.open(path)


def test_empty_missing_changed_and_overlapping_files(tmp_path):
    with pytest.raises(DatasetError, match="got nothing"):
        ProblemFile.open(tmp_path / "none.jsonl")
    with pytest.raises(DatasetError, match="has no rows"):
        ProblemFile.open(write(tmp_path / "empty.jsonl", []))
    both = [{**OWN, "id": split, "split": split} for split in ("train", "test")]
    with pytest.raises(DatasetError, match=r"lines 1 \(train\) and 2 \(test\) ask the same"):
        ProblemFile.open(write(tmp_path / "both.jsonl", both))
    file = ProblemFile.open(write(tmp_path / "p.jsonl", [{**OWN, "split": "train"}]))
    write(tmp_path / "p.jsonl", both)
    with pytest.raises(DatasetError, match="has changed"):
        file.read("train", 0)


# ---------------------------------------------------------------------- stored problems


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"extra": 1}, "unknown field 'extra'"),
        ({"statement": ""}, "'statement' must be a text"),
        ({"entry": "a b"}, "name of a function"),
        ({"split": "dev"}, "'split' must be 'train' or 'test'"),
        ({"difficulty": 1.0}, "integer from 0 to 10"),
        ({"tests": [{"args": "[1]", "expected": "2"}]}, "needs a tuple of args"),
        ({"tests": [{"args": "(1,)"}]}, "must hold args, expected"),
        ({"tests": None}, "must be a list of test cases"),
        ({"rule": []}, "'rule' must be an object"),
        ({"around": ["eval"]}, "'around"),
        ({"parameters": [["x"]]}, r"'parameters\[0\]\[1\]' is missing"),
        ({"comparison": {"float_tolerance": "a"}}, "finite number"),
    ],
)
def test_bad_stored_problems(change, words):
    with pytest.raises(TaskError, match=words):
        Problem.from_json({**row_of(OWN).problem.to_json(), **change})


def test_what_is_no_object_is_no_problem():
    with pytest.raises(TaskError, match="must be an object, got"):
        Problem.from_json([])
