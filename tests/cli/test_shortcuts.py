"""What a person types becomes an action."""

from __future__ import annotations

import pytest

from pixelis.cli.shortcuts import ShortcutError, block_end, translate, usage
from pixelis.envs.actions import parse_action


def schema(name, **properties):
    return {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}


def numbers(count):
    return {"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count}


SCHEMAS = [
    schema("ZOOM", box=numbers(4), region={"type": "integer"}, center=numbers(2), factor={"type": "number"}),
    schema("READ_TEXT", box=numbers(4), region={"type": "integer"}),
    schema("THINK", thought={"type": "string"}),
]


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("zoom 0.3 0.7 4", "ZOOM", {"center": [0.3, 0.7], "factor": 4}),
        ("ZOOM 0.3 0.7", "ZOOM", {"center": [0.3, 0.7]}),
        ("zoom 0 0 .5 1", "ZOOM", {"box": [0, 0, 0.5, 1]}),
        ("zoom 3", "ZOOM", {"region": 3}),
        ("read", "READ_TEXT", {}),
        ("text 2", "READ_TEXT", {"region": 2}),
        ("read_text", "READ_TEXT", {}),
        ("think where is it", "THINK", {"thought": "where is it"}),
        ('zoom {"region": 2}', "ZOOM", {"region": 2}),
    ],
)
def test_calls(line, name, arguments):
    (call,) = parse_action(translate(line, SCHEMAS)).calls
    assert (call.name, call.arguments) == (name, arguments)


def test_answers_and_raw_actions():
    assert translate("answer K7 QX ", SCHEMAS) == "<answer>K7 QX</answer>"
    assert translate("<answer>a</answer> hi", SCHEMAS) == "<answer>a</answer> hi"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("zom 1", r"no tool 'zom'\. Did you mean 'ZOOM'"),
        ("zoom 1 2 3 4 5 6", r"no place for 6 number\(s\)"),
        ("zoom left", "takes numbers or JSON"),
        ("zoom {", "not JSON"),
        ("answr X", "ANSWER"),
    ],
)
def test_mistakes_tell_what_would_be_right(line, message):
    with pytest.raises(ShortcutError, match=message):
        translate(line, SCHEMAS)


def test_usage_names_every_tool():
    text = usage(SCHEMAS)
    assert "zoom box (4 numbers) | region (integer) | center (2 numbers) | factor (number)" in text
    assert "answer TEXT" in text


# ---------------------------------------------------------------------- tools with several arguments

WEB = [
    schema("CLICK", id={"type": "string"}),
    schema("TYPE", id={"type": "string"}, text={"type": "string"}, submit={"type": "boolean"}),
    schema("SCROLL", direction={"enum": ["down", "up"]}, id={"type": "string"}, times={"type": "integer"}),
    schema("PRESS", keys={"type": "string"}, id={"type": "string"}, times={"type": "integer"}),
    schema("DRAG", id={"type": "string"}, to={"type": "string"}, by=numbers(2)),
    schema("RUN", code={"type": "string"}),
    schema("ADD", amount={"type": "integer"}, note={"type": "string"}),
]
REQUIRED = [["id"], ["id", "text"], ["direction"], ["keys"], ["id"], [], ["amount"]]
for one, names in zip(WEB, REQUIRED, strict=True):
    one["function"]["parameters"]["required"] = names


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("type e2@v1 hello", "TYPE", {"id": "e2@v1", "text": "hello"}),
        ("type e2@v1 2 <  3, a=b  c", "TYPE", {"id": "e2@v1", "text": "2 <  3, a=b  c"}),
        ("type e2@v1 42", "TYPE", {"id": "e2@v1", "text": "42"}),
        ("type 5 42", "TYPE", {"id": "5", "text": "42"}),
        ("type e2@v1 hello you submit=true", "TYPE", {"id": "e2@v1", "text": "hello you", "submit": True}),
        ("click e2@v1", "CLICK", {"id": "e2@v1"}),
        ("scroll down", "SCROLL", {"direction": "down"}),
        ("scroll down e3@v1 times=2", "SCROLL", {"direction": "down", "id": "e3@v1", "times": 2}),
        ("press 5", "PRESS", {"keys": "5"}),
        ("press Enter e3@v1", "PRESS", {"keys": "Enter", "id": "e3@v1"}),
        ("drag e3@v1 e4@v1", "DRAG", {"id": "e3@v1", "to": "e4@v1"}),
        ("drag e3@v1 by=[5,-2]", "DRAG", {"id": "e3@v1", "by": [5, -2]}),
        ("run print(1, 2)", "RUN", {"code": "print(1, 2)"}),
        ("run", "RUN", {}),
        ("add 5", "ADD", {"amount": 5}),
        ("add 5 for the cake", "ADD", {"amount": 5, "note": "for the cake"}),
        ('type {"id": "e2", "text": "a"}', "TYPE", {"id": "e2", "text": "a"}),
    ],
)
def test_words_fill_the_arguments_in_order(line, name, arguments):
    (call,) = parse_action(translate(line, WEB)).calls
    assert (call.name, call.arguments) == (name, arguments)


@pytest.mark.parametrize("line", ["type e2@v1", "type", "click", "scroll", "add"])
def test_what_a_tool_needs_is_said_before_a_turn_is_lost(line):
    with pytest.raises(ShortcutError, match=f"{line.split()[0].upper()} needs"):
        translate(line, WEB)


def test_answers_may_hold_signs():
    assert translate("answer 2 < 3", SCHEMAS) == "<answer>2 < 3</answer>"
    assert translate("so <answer>4</answer>", SCHEMAS) == "so <answer>4</answer>"


def test_without_tools_an_answer_is_an_answer_and_all_else_an_action():
    assert translate("answer What a day", []) == "<answer>What a day</answer>"
    assert translate("What a day", []) == "What a day"
    assert "answer TEXT" in usage([]) and "any other text" in usage([])


CODE = "def f(x):\n\n    return x < 3"


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("answer <<END", f"<answer>\n{CODE}\n</answer>"),
        ("<<END", CODE),
        ("```python", f"```python\n{CODE}\n```"),
        ("~~~~", f"~~~~\n{CODE}\n~~~~"),
    ],
)
def test_blocks(line, action):
    assert (
        block_end(line) == {"answer <<END": "END", "<<END": "END", "```python": "```", "~~~~": "~~~~"}[line]
    )
    assert translate(line, WEB, CODE) == translate(line, [], CODE) == action


def test_a_tool_takes_a_block_as_its_last_text():
    for line, arguments in (("run <<X", {"code": CODE}), ("type e2@v1 <<X", {"id": "e2@v1", "text": CODE})):
        assert block_end(line) == "X"
        (call,) = parse_action(translate(line, WEB, CODE)).calls
        assert call.arguments == arguments
    with pytest.raises(ShortcutError, match="no place for 'b'"):
        translate("click b <<X", WEB, CODE)
    assert [block_end(line) for line in ("answer 1<<2", "answer 1 << 2", "zoom 3", "`x`")] == [None] * 4
