"""What a person types becomes an action."""

from __future__ import annotations

import pytest

from pixelis.cli.shortcuts import ShortcutError, translate, usage
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
