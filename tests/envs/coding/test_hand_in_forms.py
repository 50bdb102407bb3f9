"""Right code is paid in whatever form it is handed in: every family, every kind of row, odd but valid texts."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.coding.code_problem import CodeProblemEnv
from pixelis.envs.coding.code_problem_exploits import EXPLOITS, filled_in
from pixelis.envs.coding.code_tasks import task_of
from pixelis.envs.coding.extraction import extract_code
from pixelis.envs.coding.problems import FAMILIES, Problem, TestCase
from pixelis.envs.coding.problems.problem_rows import row_of
from pixelis.envs.coding.python_source import parse


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
        "tests": [{"args": ["ab"], "expected": 3}, {"args": ["ba!"], "expected": 3}, {"args": [""], "expected": 0}],
        "solution": "WEIGHTS = {\n    'a': 1,\n    'b': 2,\n}\n\n\ndef weigh(text):\n"
        "    return sum(WEIGHTS.get(sign, 0) for sign in text)\n",
    },
    "own, with a prefix": {
        "statement": "Sum the weights of the letters.",
        "entry": "weigh",
        "prefix": "import math\n\nWEIGHTS = {'a': 1, 'b': 2}\n",
        "tests": [{"args": ["ab"], "expected": 3}, {"args": ["ba!"], "expected": 3}, {"args": [""], "expected": 0}],
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
        "test": "def check(candidate):\n    assert candidate([1, 9, 4]) == [9, 4]\n    assert candidate([]) == []\n",
    },
    "mbpp": {
        "task_id": 7,
        "text": "Write a function to find the words of a number.",
        "code": "import re\r\nWORDS = [\"one\", \"two\"]\r\n\r\ndef words_of(number, *, sep=\" \"):\r\n"
        "\treturn sep.join(WORDS[int(d) - 1] for d in re.findall(r\"\\d\", str(number)))",
        "test_list": ['assert words_of(12) == "one two"', 'assert words_of(2, sep="-") == "two"',
                      'assert words_of(21) == "two one"'],
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
        assert hand_in(multi, task, one("SUBMIT", "    return [n for n in numbers if n > LIMIT]"))[4]["success"]


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

ODD = {
    "two blank lines, then a second constant": "A = 1\n\n\nB = 1\n\n\ndef double(x):\n    return (A + B) * x",
    "a table over lines": "TABLE = [\n  (1, 2),\n\n  (3, 4),\n]\n\ndef double(x):\n    return TABLE[0][1] * x",
    "imports last": "def double(x):\n    return operator.mul(2, x)\n\n\nimport operator",
    "a decorator over lines": "import functools\n\n@functools.lru_cache(\n    maxsize=None,\n)\ndef double(x):\n    return 2 * x",
    "a class": "class Doubler:\n    '''Doubles.'''\n\n    def __call__(self, x):\n        return 2 * x\n\n\ndouble = Doubler()",
    "a module docstring": '"""Doubling.\n\nIt\'s easy.\n"""\n\ndef double(x):\n    return 2 * x',
    "a docstring with a fence": 'def double(x):\n    """Doubles.\n\n```python\ndouble(1)\n```\n    """\n    return 2 * x',
    "a text with a fence and empty lines": "TEXT = '''\n```\n\ndef no\n\n```\n'''\n\ndef double(x):\n    return 2 * x",
    "comments": "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Don't.\n\nK = 2  # it's two\n\n# Then:\ndef double(x):\n    # it's\n    return K * x",
    "tabs": "K = 2\n\ndef double(x):\n\tif x:\n\t\treturn K * x\n\treturn 0",
    "semicolons": "import math; K = 2; L = 0\n\ndef double(x): y = K * x; return y + L",
    "a helper after it": "def double(x):\n    return helper(x, K)\n\n\ndef helper(x, k):\n    return k * x\n\n\nK = 2",
    "a main block": "def double(x):\n    return 2 * x\n\n\nif __name__ == '__main__':\n    print(double(3))\n",
    "a type alias": "from typing import Dict, List\n\nTable = Dict[str, List[int]]\nK: int = 2\n\ndef double(x: int) -> int:\n    return K * x",
    "async beside it": "import asyncio\n\nasync def wait(x):\n    return 2 * x\n\ndef double(x):\n    return asyncio.run(wait(x))",
    "under if and try": "try:\n    import numpy_that_is_not_there\nexcept ImportError:\n    pass\n\nif True:\n    def double(x):\n        return 2 * x\nelse:\n    double = None",
    "unpacking": "(a, b), *rest = (1, 2), 3\n\ndouble = lambda x: b * x",
    "a loop that makes it": "functions = []\nfor k in (1, 2):\n    functions.append(lambda x, k=k: k * x)\n\ndouble = functions[-1]",
    "a walrus": "print(K := 2)\n\ndef double(x):\n    return K * x",
    "a backslash": "K = 1 + \\\n    1\n\ndef double(x):\n    return K * x",
    "escapes": "import re\nP = re.compile('\\d+\\.\\N{DIGIT ONE}?')\nQ = f'{2}\\{{}}'\n\ndef double(x):\n    return 2 * int(P.match(f'{x}.1').group()[:-2])",
    "names in other letters": "größe = 2\n\ndef double(x):\n    return größe * x",
    "a global": "K = 0\n\ndef start():\n    global K\n    K = 2\n\nstart()\n\ndef double(x):\n    return K * x",
    "a form feed": "K = 2\n\x0c\ndef double(x):\n    return K * x",
    "defined twice": "def double(x):\n    return 0\n\ndef double(x):\n    return 2 * x",
    "a star import": "from math import *\n\ndef double(x):\n    return int(floor(2) * x)",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_but_valid_texts_by_every_form(single, multi, name):
    assert parse(ODD[name]).tree is not None
    assert check_every_form(single, multi, TASK, ODD[name]) == []


SPREAD = {
    "a helper in a block of its own": "First:\n```python\nimport math\nK = 2\n```\nThen:\n```python\ndef helper(x):\n    return math.floor(K * x)\n```\n"
    "Last:\n```python\ndef double(x):\n    return helper(x)\n```\nUsage:\n```python\nprint(double(y))\n```",
    "a helper in a later block": "```\ndef double(x):\n    return helper(x)\n```\nwith\n```\ndef helper(x):\n    return 2 * x\n```",
    "parts without fences": "The helper:\n\ndef helper(x):\n    return 2 * x\n\nIt's used here:\n\ndef double(x):\n    return helper(x)\n\nThat's it.",
    "code beside a block of output": "def double(x):\n    return 2 * x\n\nIt prints:\n```\n>>> double(1)\n2\n```",
    "a better one below": "def double(x):\n    return 0\n\nNo, that's wrong. Better:\n\ndef double(x):\n    return 2 * x\n",
    "prose that looks like code": "Note: this\n\nmax\n\nfor x in numbers, double it. if it's 0:\n\ndef double(x):\n    return 2 * x\n\nTime: O(n)\n\nprint(double(y)) shows it\n\nDone",
    "prose with brackets and quotes": 'I\'ll use (a, [b\n"""quoted\n\ndef double(x):\n    return 2 * x\n\nThat\'s (nearly all.',
    "words in an answer": "<answer>Solution\n\ndef double(x):\n    return 2 * x\n\nComplexity: O(1)</answer>",
    "tags that touch": "<think>hm</think>def double(x):\n    return 2 * x<|im_end|>",
    "a list of bullets": "- first\n- second\n\ndef double(x):\n    return 2 * x\n\n* returns\n* twice",
}


@pytest.mark.parametrize("name", SPREAD)
def test_code_that_is_spread_or_among_words(single, name):
    _, reward, _, _, info = hand_in(single, TASK, SPREAD[name])
    assert (reward, info.get("success")) == (1.0, True), info.get("verification")


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        ("<answer>def double(x):\n    return (2 * x</answer>", "syntax_error"),
        ("def double(x):\n    return 2 * x\n\nBetter:\n\ndef double(x):\n    return (2 * x", "syntax_error"),
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
    "The value \"x is fine",
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
    return [ast.dump(node) for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name))]


def test_a_docstring_may_hold_a_fenced_definition():
    code = 'def f(x):\n    """Adds.\n\n```python\ndef f(x): return 0\n```\n    """\n    return x + 1\n'
    assert extract_code(code, "f") == code
    assert extract_code(f"I'd write\n\n{code}\nThat's it.", "f") == code
    assert extract_code(f"So:\n```python\n{code}```\n", "f") == code.rstrip("\n")
