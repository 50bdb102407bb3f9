"""Code out of whatever a language model writes around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.answers.extraction import defines, extract_code

CODE = "def f(x):\n    return x + 1"


@pytest.mark.parametrize(
    "label", ["python", "", "py", "Python3", "python title='a.py'", "{.python}", "c++", " python "]
)
@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_any_label_and_fence(label, fence):
    assert extract_code(f"Here:\n{fence}{label}\n{CODE}\n{fence}\nDone.", "f") == CODE


def test_the_last_block_that_defines_the_function_counts():
    text = (
        f"First try:\n```python\ndef f(x): return 0\n```\nBetter:\n```python\n{CODE}\n```\n"
        "Usage:\n```python\nprint(f(1))\n```\nIt prints\n```text\n2\n```\nA helper:\n```\ndef g(): pass\n```"
    )
    assert extract_code(text, "f") == CODE
    assert extract_code(text, "g") == "def g(): pass"
    assert extract_code(text, "h") == "def g(): pass"
    assert extract_code("```\n1\n```\n```\n2\n```", "f") == "2"


def test_a_truncated_fence_holds_what_there_is():
    assert extract_code(f"So:\n```python\n{CODE}", "f") == CODE
    assert extract_code("```python\n", "f") == ""
    assert extract_code(f"```python\ndef f(x): return 0\n```\nand\n```python\n{CODE}", "f") == CODE


def test_fences_that_touch_words_and_tags():
    assert extract_code(f"Code: ```python\n{CODE}\n```", "f") == CODE
    assert (
        extract_code(f"<think>```\ndef f(x): return 0\n```</think>```python\n{CODE}\n```<|im_end|>", "f")
        == CODE
    )
    assert extract_code(f"```python\n{CODE}\n```<tool_call>{{}}</tool_call>", "f") == CODE
    assert extract_code("Say ```hello``` to them", "f") is None


def test_fences_in_a_docstring_do_not_end_the_block():
    code = 'def f(x):\n    """Adds.\n\n    ```\n    f(1)\n    ```\n    """\n    return x + 1'
    assert extract_code(f"```python\n{code}\n```", "f") == code
    assert extract_code(f"````python\n{code}\n```\n# not yet\n````", "f") == f"{code}\n```\n# not yet"


def test_an_indented_block_loses_its_indentation():
    listed = "1. Do this:\n\n   ```python\n   def f(x):\n       return x + 1\n   ```\n"
    assert extract_code(listed, "f") == CODE
    assert extract_code("```\n    def f(x):\n        return x + 1\n```", "f") == CODE
    assert (
        extract_code(f"> ```python\n> {CODE.splitlines()[0]}\n> {CODE.splitlines()[1]}\n> ```", "f") == CODE
    )
    assert (
        extract_code("```\n    return x + 1\n```", "f") == "    return x + 1"
    )  # goes on where a prompt ends


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CODE, CODE + "\n"),
        (f"Sure!\n\n{CODE}\n\nThis adds one to x.", CODE + "\n"),
        (f"Sure!\nimport math\nLIMIT = 3\n\n{CODE}\n", f"import math\nLIMIT = 3\n\n{CODE}\n"),
        (f"LIMIT: int = 3\n# adds\n{CODE}", f"LIMIT: int = 3\n# adds\n{CODE}\n"),
        ("f = lambda x: x + 1", "f = lambda x: x + 1\n"),
        (f"  {CODE.splitlines()[0]}\n  {CODE.splitlines()[1]}", CODE + "\n"),
        (
            f"@cache\n{CODE}\nif True:\n    f(1)\nelse:\n    pass\nEnd.",
            f"@cache\n{CODE}\nif True:\n    f(1)\nelse:\n    pass\n",
        ),
        (
            'def f():\n    """one\ntwo words\n"""\n    return 1\nBye.',
            'def f():\n    """one\ntwo words\n"""\n    return 1\n',
        ),
        (f"\ufeff{CODE}".replace("\n", "\r\n"), CODE + "\n"),
    ],
)
def test_without_a_fence(text, code):
    assert extract_code(text, "f") == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I think it is 3.",
        "x" * 10_000,
        "\0",
        "import the module first.",
        "define f as follows",
        "a == b",
        "\ud800",
        "from there on",
    ],
)
def test_no_code(text):
    assert extract_code(text, "f") is None


@pytest.mark.parametrize(
    ("code", "is_defined"),
    [
        ("def f(): pass", True),
        ("async  def f(): pass", True),
        ("class f: pass", True),
        ("f: int = 3", True),
        ("from a.b import g, f", True),
        ("import os\nf = os.getcwd", True),
        ("    def f(): pass", False),
        ("def ff(): pass", False),
        ("f == 3", False),
        ("# def f", False),
        ("", False),
    ],
)
def test_what_defines_a_name(code, is_defined):
    assert defines(code, "f") is is_defined
    assert not defines(code, "")


@given(
    st.text(st.characters(codec="utf-8"), max_size=300),
    st.sampled_from(["```", "~~~~", "`````"]),
    st.sampled_from(["", "python", "x y"]),
)
def test_a_fenced_program_comes_back_whatever_the_prose(prose, fence, label):
    prose = prose.replace("`", "").replace("~", "").replace(">", "")
    text = f"{prose}\n{fence}{label}\n{CODE}\n{fence}\n{prose}"
    assert extract_code(text, "f") == CODE


@given(
    st.lists(
        st.sampled_from(
            [
                "```",
                "~~~",
                "```python\n",
                "\n",
                "def f(x):",
                "    return x",
                "x = ",
                '"""',
                "=",
                "prose. ",
                "import a",
                " ",
                "> ",
                "\t",
            ]
        ),
        max_size=40,
    )
)
def test_any_mix_gives_a_part_of_the_text_or_nothing(parts):
    text = "".join(parts)
    code = extract_code(text, "f")
    assert code is None or all(line.strip() in text for line in code.split("\n"))


@pytest.mark.parametrize(
    "part",
    [
        "`",
        "~",
        "```\n",
        "from import ",
        "f: ",
        "a, ",
        "def f(",
        "=",
        " ",
        '"""',
        "x.",
        "f=\n",
        "\t\n",
        "~~~`",
        ">",
        "(",
        "async def ",
    ],
)
def test_much_of_anything_is_read(part):
    text = "f" + part * (200_000 // len(part))
    assert extract_code(text, "f") is None or text
    fenced = extract_code(f"```\ndef f():\n    pass\n{text}", "f")
    assert fenced is not None and fenced.startswith("def f():\n    pass")
