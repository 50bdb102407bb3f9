"""Right code is paid in whatever form it is handed in: every family, kind of row, odd but valid text."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.coding.answers.extraction import extract_code
from pixelis.envs.coding.answers.python_source import parse
from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.code_problem.exploits import EXPLOITS, filled_in
from pixelis.envs.coding.code_problem.tasks import task_of
from pixelis.envs.coding.families import FAMILIES
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.problems.problem_rows import row_of


def call(name, code):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': {'code': code}})}</tool_call>"


def xml_call(name, code):
    return (
        f"<tool_call>\n<function={name}>\n<parameter=code>\n{code}\n</parameter>\n</function>\n</tool_call>"
    )


SUBMIT = '<tool_call>{"name": "SUBMIT"}</tool_call>'
WORDS = "I'll walk through each value, and don't stop early (see below):"
SINGLE = {
    "plain": lambda code: code,
    "plain, prose around": lambda code: f"{WORDS}\n\n{code}\n\nThat's all: it's O(n), isn't it?",
    "answer": lambda code: f"<answer>{code}</answer>",
    "answer on lines of its own": lambda code: f"{WORDS}\n<answer>\n{code}\n</answer>",
    "answer, prose in it": lambda code: f"<answer>Here's the code:\n\n{code}\n\nDone</answer>",
    "fence": lambda code: f"```python\n{code}\n```",
    "fence in an answer": lambda code: f"<answer>\n```py\n{code}\n```\n</answer>",
    "tildes, prose around": lambda code: f"{WORDS}\n~~~\n{code}\n~~~\nThat's all.",
    "CRLF": lambda code: f"<answer>{code}</answer>".replace("\n", "\r\n"),
    "byte order mark": lambda code: f"\ufeff{code}",
    "indented as a whole": lambda code: "<answer>\n" + indented(code) + "\n</answer>",
    "indented below prose": lambda code: f"Here's the code:\n\n{indented(code)}\n\nThat's all.",
    "thought before": lambda code: f"<think>def f(x): is wrong, so I don't</think>\n{code}<|im_end|>",
}
MULTI = {
    "SUBMIT": [lambda code: call("SUBMIT", code)],
    "SUBMIT, XML": [lambda code: xml_call("SUBMIT", code)],
    "SUBMIT, CRLF": [lambda code: call("SUBMIT", code.replace("\n", "\r\n"))],
    "SUBMIT, fenced": [lambda code: call("SUBMIT", f"```python\n{code}\n```")],
    "plain before SUBMIT": [lambda code: f"{WORDS}\n\n{code}\n\n{SUBMIT}"],
    "RUN, then SUBMIT": [lambda code: call("RUN", code), lambda code: SUBMIT],
    "RUN, XML, then SUBMIT": [lambda code: xml_call("RUN", code), lambda code: SUBMIT],
    "answer": [lambda code: f"<answer>{code}</answer>"],
}


def sections(name):
    """Read texts by name from a file of programs."""
    text = (Path(__file__).parent / "programs" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(part.removesuffix("\n").split("\n", 1) for part in text.split("##### ")[1:])


def indented(code, margin="    "):
    return "\n".join(margin + line if line else "" for line in code.split("\n"))


@pytest.fixture(scope="module")
def single():
    with CodeProblemEnv() as env:
        yield env


@pytest.fixture(scope="module")
def multi():
    with CodeProblemEnv(mode="multi") as env:
        yield env


def hand_in(env, task, *turns):
    env.reset(options={"task": task})
    for turn in turns:
        said = env.step(turn)
    return said


def check_every_form(single, multi, task, code):
    """Hand code in by every form; return the forms in which it was not a success."""
    bad = [
        f"{name}: {said[0]['text']}"
        for name, form in SINGLE.items()
        if not (said := hand_in(single, task, form(code)))[4].get("success")
    ]
    bad += [
        f"{name}: {said[0]['text']}"
        for name, forms in MULTI.items()
        if not (said := hand_in(multi, task, *(form(code) for form in forms)))[4].get("success")
    ]
    return bad


def family_task(name, seed=0):
    family = FAMILIES[name]
    problem = family.draw(np.random.default_rng(seed), family.difficulties[-1])
    return task_of(problem, 11, family.reference(problem))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_reference_by_every_form(single, multi, name):
    task = family_task(name)
    assert check_every_form(single, multi, task.to_json(), task.answer) == []


# ---------------------------------------------------------------------- rows of files

ROWS = {
    "own": {
        "statement": "Sum the weights of the letters.",
        "entry": "weigh",
        "tests": [
            {"args": ["ab"], "expected": 3},
            {"args": ["ba!"], "expected": 3},
            {"args": [""], "expected": 0},
        ],
        "solution": "WEIGHTS = {\n    'a': 1,\n    'b': 2,\n}\n\n\ndef weigh(text):\n"
        "    return sum(WEIGHTS.get(sign, 0) for sign in text)\n",
    },
    "own, with a prefix": {
        "statement": "Sum the weights of the letters.",
        "entry": "weigh",
        "prefix": "import math\n\nWEIGHTS = {'a': 1, 'b': 2}\n",
        "tests": [
            {"args": ["ab"], "expected": 3},
            {"args": ["ba!"], "expected": 3},
            {"args": [""], "expected": 0},
        ],
        "solution": "NONE = math.floor(0.5)\n\n\ndef weigh(text):\n"
        "    return sum(WEIGHTS.get(sign, NONE) for sign in text)\n",
    },
    "human_eval": {
        "task_id": "T/0",
        "prompt": "from typing import List\n\nLIMIT = 3\n\ndef kept(numbers: List[int]) -> List[int]:\n"
        '    """ Keep what is above LIMIT.\n    >>> kept([1, 9])\n    [9]\n    """\n',
        "entry_point": "kept",
        "canonical_solution": "    def high(number):\n        return number > LIMIT\n\n"
        "    return [number for number in numbers if high(number)]\n",
        "test": "def check(candidate):\n    assert candidate([1, 9, 4]) == [9, 4]\n"
        "    assert candidate([]) == []\n",
    },
    "mbpp": {
        "task_id": 7,
        "text": "Write a function to find the words of a number.",
        "code": 'import re\r\nWORDS = ["one", "two"]\r\n\r\ndef words_of(number, *, sep=" "):\r\n'
        '\treturn sep.join(WORDS[int(d) - 1] for d in re.findall(r"\\d", str(number)))',
        "test_list": [
            'assert words_of(12) == "one two"',
            'assert words_of(2, sep="-") == "two"',
            'assert words_of(21) == "two one"',
        ],
    },
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_of_row_by_every_form(single, multi, kind):
    row = row_of(ROWS[kind])
    task = task_of(row.problem, 3, row.solution)
    assert check_every_form(single, multi, task.to_json(), row.solution) == []


BODY_FORMS = {
    "fence": lambda body: f"```python\n{body}```",
    "answer": lambda body: f"<answer>\n{body}</answer>",
    "plain": lambda body: body,
}


@pytest.mark.parametrize("form", BODY_FORMS)
def test_what_completes_a_prompt_may_be_handed_in_alone(single, multi, form):
    row = row_of(ROWS["human_eval"])
    task = task_of(row.problem, 3, row.solution).to_json()
    body = ROWS["human_eval"]["canonical_solution"]
    assert hand_in(single, task, BODY_FORMS[form](body))[4]["success"]
    for one in (call, xml_call):
        assert hand_in(multi, task, one("SUBMIT", body))[4]["success"]
        assert hand_in(multi, task, one("SUBMIT", "    return [n for n in numbers if n > LIMIT]"))[4][
            "success"
        ]


# ---------------------------------------------------------------------- odd but valid texts

TASK = task_of(
    Problem(
        *("by-hand", "own", 0, "train", "Double x.", "double", (("x", "int"),), "int"),
        tests=tuple(TestCase((x,), 2 * x) for x in range(10, 20)),
        examples=(TestCase((1,), 2),),
    ),
    7,
    "",
).to_json()

ODD = sections("odd_texts")


@pytest.mark.parametrize("name", ODD)
def test_odd_but_valid_texts_by_every_form(single, multi, name):
    assert parse(ODD[name]).tree is not None
    assert check_every_form(single, multi, TASK, ODD[name]) == []


SPREAD = sections("code_among_words")


@pytest.mark.parametrize("name", SPREAD)
def test_code_that_is_spread_or_among_words(single, name):
    _, reward, _, _, info = hand_in(single, TASK, SPREAD[name])
    assert (reward, info.get("success")) == (1.0, True), info.get("verification")


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        ("<answer>def double(x):\n    return (2 * x</answer>", "syntax_error"),
        ("def helper(x):\n    return 2\n\nThen:\n\ndef double(x):\n    return (2 * x", "syntax_error"),
        ("def double(x):\n    y = 2\n    if x > 3\n        return 0\n    return y * x", "syntax_error"),
        ("K = 2\n\ndef duoble(x):\n    return K * x", "no_entry"),
        ("<answer>forty-two, I'd say</answer>", "syntax_error"),
    ],
)
def test_wrong_code_stays_wrong_and_is_told(single, turn, status):
    _, reward, terminated, _, info = hand_in(single, TASK, turn)
    assert (reward, terminated, info["verification"]["status"]) == (0.0, True, status)


# ---------------------------------------------------------------------- nothing unearned


@pytest.mark.parametrize("exploit", EXPLOITS)
def test_exploits_gain_nothing_in_any_form(single, multi, exploit):
    for name in ("sorting", "brackets"):
        task = family_task(name)
        single.reset(options={"task": task.to_json()})
        code = filled_in(EXPLOITS[exploit], single.workspace.problem, single.workspace.tests)
        for form in ("plain", "answer", "answer, prose in it", "indented below prose"):
            assert hand_in(single, task.to_json(), SINGLE[form](code))[1] <= 0.05, form
        assert hand_in(multi, task.to_json(), call("SUBMIT", code))[1] <= 0.05


# ---------------------------------------------------------------------- generated texts

STATEMENTS = [
    "K = 2",
    "TABLE = {\n    'a': [1,\n          2],\n\n    'b': (3,),\n}",
    "import math, json as j",
    "from typing import (\n    List,\n    Dict,\n)",
    "class A:\n    x: int = 3\n\n    def f(self):\n        return self.x",
    "@staticmethod\ndef helper(a, b=[1], *c, **d):\n    '''It's\n\n# no\n'''\n    return a",
    "TEXT = '''\nIt's so.\n\n    def no\n```\n'''",
    "# don't",
    "x = y = 3; z = -x",
    "a, *b = [1, 2, 3]",
    "TABLE2 = [i for i in range(3)\n          if i]",
    "if len('abc') > 2:\n    w = 1\nelse:\n    w = 2",
    "try:\n    v = 1\nfinally:\n    pass",
    "'a text'",
    "print('hello (', end='')",
    "LAMBDA = lambda q: (\n    q\n)",
    "N = 1 if 0else 2",
]
PROSE = [
    "",
    "I'll do it.",
    "Here's the code:",
    "We don't need (much.",
    "1. First, it's easy",
    'The value "x is fine',
    "Done.",
    "Done",
    "Note: below",
    "### Solution",
    "return the value",
    "if it works, good",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(STATEMENTS), max_size=6),
    st.lists(st.sampled_from(STATEMENTS), max_size=3),
    st.lists(st.sampled_from(PROSE), max_size=3),
    st.lists(st.sampled_from(PROSE), max_size=3),
    st.sampled_from(["\n", "\n\n", "\n\n\n"]),
    st.sampled_from(["", "  ", "\t"]),
)
def test_any_program_comes_back_whole_from_any_prose(before, after, above, below, gap, margin):
    code = gap.join([*before, "def f(x):\n    return helper(x)", *after])
    text = "\n\n".join([*above, indented(code, margin), *below])
    found = extract_code(text, "f")
    assert found is not None
    wanted = ast.dump(ast.parse(code.replace("0else", "0 else")))
    assert meaning(found.replace("0else", "0 else")) == meaning(code.replace("0else", "0 else")), wanted


def meaning(code):
    """The program's statements, without single names, which do nothing."""
    body = ast.parse(code).body
    return [
        ast.dump(node)
        for node in body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name))
    ]


def test_a_docstring_may_hold_a_fenced_definition():
    code = 'def f(x):\n    """Adds.\n\n```python\ndef f(x): return 0\n```\n    """\n    return x + 1\n'
    assert extract_code(code, "f") == code
    assert extract_code(f"I'd write\n\n{code}\nThat's it.", "f") == code
    assert extract_code(f"So:\n```python\n{code}```\n", "f") == code.rstrip("\n")


def test_who_knows_only_what_an_mbpp_row_shows_earns_nothing(tmp_path):
    tests = ["assert neg([3, -1, -2]) == -3", "assert neg([1]) == 0", "assert neg([-5, 4]) == -5"]
    row = {"task_id": 87, "text": "Sum the negative numbers.", "test_list": tests, "split": "train"}
    right = "def neg(nums):\n    return sum(n for n in nums if n < 0)"
    path = tmp_path / "mbpp.jsonl"
    path.write_text(json.dumps({**row, "code": right}))
    copied = "def neg(nums):\n    return {repr([3, -1, -2]): -3}.get(repr(nums), 0)"
    with CodeProblemEnv(problems=path) as env:
        observation, _ = env.reset(seed=0)
        assert "def neg(nums):" in observation["text"] and "neg([3, -1, -2]) == -3" in observation["text"]
        assert "-5" not in observation["text"]
        assert env.step(right)[1] == 1.0
        for code in (copied, "def neg(nums):\n    return -3", filled(env, "lookup"), filled(env, "constant")):
            env.reset(seed=0)
            assert env.step(f"<answer>{code}</answer>")[1] == 0.0


def filled(env, exploit):
    env.reset(seed=0)
    return filled_in(EXPLOITS[exploit], env.workspace.problem, env.workspace.tests)
