from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.actions import parse_action
from pixelis.envs.tools import CallRefused, Tool, ToolOutput, ToolResult, Toolset


def add(total, arguments):
    if arguments["amount"] == 13:
        raise CallRefused("unlucky", "13 brings bad luck; take 12 or 14.")
    total.append(arguments["amount"])
    return ToolOutput(f"Total {sum(total)}.", {"total": sum(total)})


ADD = Tool(
    "ADD",
    "Add an amount.",
    {"properties": {"amount": {"type": "integer", "minimum": 0, "maximum": 99}, "note": {"type": "string"}}}
    | {"required": ["amount"]},
    add,
)
CLEAR = Tool("CLEAR", "Forget all.", {"properties": {}}, lambda total, arguments: ToolOutput("Forgotten."))
TOOLSET = Toolset([ADD, CLEAR], lambda task: [])


def test_a_call_acts_on_the_workspace():
    total = [1]
    result = TOOLSET.call(total, "ADD", {"amount": 2})
    assert result == ToolResult("ADD", True, "Total 3.", {"total": 3}, None, {"amount": 2})
    assert total == [1, 2]


def test_a_refusal_is_a_result():
    result = TOOLSET.call([], "ADD", {"amount": 13})
    assert (result.ok, result.error_code) == (False, "unlucky")
    assert result.text == "ADD: 13 brings bad luck; take 12 or 14."


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({}, "bad_arguments", "'amount' is a required property. Arguments: amount, [note]."),
        ({"amount": "2"}, "bad_arguments", "amount: '2' is not of type 'integer'."),
        ({"amount": True}, "bad_arguments", "not of type 'integer'"),
        ({"amount": None}, "bad_arguments", "not of type 'integer'"),
        ({"amount": -1}, "out_of_range", "-1 is less than the minimum of 0"),
        ({"amount": 100}, "out_of_range", "greater than the maximum of 99"),
        ({"amount": 2, "amuont": 3}, "bad_arguments", "'amuont' was unexpected"),
        ({"amount": [0] * 5000}, "bad_arguments", "amount: not valid under the rule 'type'."),
    ],
)
def test_arguments_that_break_the_schema(arguments, code, words):
    total: list[int] = []
    result = TOOLSET.call(total, "ADD", arguments)
    assert (result.ok, result.error_code, result.arguments) == (False, code, arguments)
    assert words in result.text
    assert len(result.text) < 400
    assert total == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("ADDD", "Did you mean 'ADD'?"), ("CLAER", "Did you mean 'CLEAR'?"), ("", "Known: ADD, CLEAR.")],
)
def test_unknown_tools_get_a_suggestion(name, words):
    result = TOOLSET.call([], name, {})
    assert (result.ok, result.error_code) == (False, "unknown_tool")
    assert words in result.text


def test_a_tool_without_arguments_says_so():
    assert TOOLSET.call([], "CLEAR", {}).ok
    assert "Arguments: none." in TOOLSET.call([], "CLEAR", {"x": 1}).text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.sampled_from(["ADD", "CLEAR", "add", "x" * 9000]), st.dictionaries(st.text(), json_values))
def test_no_arguments_make_a_call_raise(name, arguments):
    result = TOOLSET.call([], name, arguments)
    assert result.ok == (result.error_code is None)
    assert result.text
    assert len(result.text) < 500
    json.dumps(result.to_json())


def test_schemas_are_what_chat_templates_take():
    assert TOOLSET.schemas()[1] == {
        "type": "function",
        "function": {
            "name": "CLEAR",
            "description": "Forget all.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


def test_a_whole_number_is_an_integer_however_it_is_written():
    """JSON Schema takes 5.0 for an integer, and what counts frames does not."""
    count, counts = {"type": "integer"}, {"type": "array", "items": {"type": "integer"}}
    schema = {"properties": {"n": count, "several": counts, "x": {"type": "number"}}}
    got = []
    tool = Tool("COUNT", "Counts.", schema, lambda workspace, arguments: got.append(arguments))
    toolset = Toolset([tool], lambda task: None)
    assert toolset.call(None, "COUNT", {"n": 5.0, "several": [1.0, 2], "x": 3.0}).ok
    assert repr(got) == "[{'n': 5, 'several': [1, 2], 'x': 3.0}]"
    assert not toolset.call(None, "COUNT", {"n": 5.5}).ok


def test_names_must_differ():
    with pytest.raises(ValueError, match="must differ"):
        Toolset([ADD, ADD], lambda task: [])


@pytest.mark.parametrize(
    ("written", "read", "got"),
    [
        ("2024", 2024, "2024"),
        ("true", True, "true"),
        ("[1, 2]", [1, 2], "[1, 2]"),
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ("007", "007", "007"),
        ("1.50", 1.5, "1.50"),
        ('"quoted"', "quoted", "quoted"),
        ('"a" or "b"', '"a" or "b"', '"a" or "b"'),
        ("plain", "plain", "plain"),
    ],
)
def test_where_a_text_is_asked_for_an_xml_argument_is_its_text(written, read, got):
    says = Tool("SAY", "Says.", {"properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}, _say)
    toolset = Toolset([says], lambda task: None)
    body = f"<function=SAY>\n<parameter=text>\n{written}\n</parameter>\n<parameter=n>3</parameter></function>"
    (call,) = parse_action(f"<tool_call>{body}</tool_call>").calls
    assert call.arguments["text"] == read
    result = toolset.call(None, call.name, call.arguments, call.texts)
    assert (result.ok, result.text, result.arguments) == (True, got, {"text": got, "n": 3})


def _say(workspace, arguments):
    return ToolOutput(arguments["text"])


@pytest.mark.parametrize(
    ("schema", "written", "got"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "2024", "2024"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "true", "true"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
        ({"type": ["string", "integer"]}, "2024", 2024),  # it fits as it was read
        ({"enum": ["1", "2"]}, "2", "2"),
        ({"$ref": "#/$defs/name"}, "[1]", "[1]"),
        (True, "2024", 2024),  # a legal schema, of whatever there is
        ({"type": "array", "items": True}, "[1.0]", [1.0]),
    ],
)
def test_an_xml_argument_is_its_text_where_the_schema_takes_that_alone(schema, written, got):
    heard = []
    tool = Tool(
        "SAY",
        "Says.",
        {"properties": {"x": schema}, "$defs": {"name": {"type": "string"}}},
        lambda workspace, arguments: heard.append(arguments["x"]),
    )
    call_text = f"<tool_call><function=SAY><parameter=x>{written}</parameter></function></tool_call>"
    (call,) = parse_action(call_text).calls
    result = Toolset([tool], lambda task: None).call(None, call.name, call.arguments, call.texts)
    assert result.ok, result.text
    assert heard == [got] and type(heard[0]) is type(got)


def test_an_xml_argument_that_fits_neither_way_is_refused_as_it_was_read():
    tool = Tool("SAY", "Says.", {"properties": {"x": {"type": "boolean"}}}, lambda workspace, arguments: None)
    (call,) = parse_action("<tool_call><function=SAY><parameter=x>7</parameter></function></tool_call>").calls
    result = Toolset([tool], lambda task: None).call(None, call.name, call.arguments, call.texts)
    assert not result.ok and result.text.startswith("SAY: x: 7 is not of type 'boolean'")


def test_an_optional_text_of_a_typed_function_takes_digits():
    def search(words: str | None = None) -> str:
        """Search."""
        return f"found {words!r}"

    body = "<function=search><parameter=words>2024</parameter></function>"
    (call,) = parse_action(f"<tool_call>{body}</tool_call>").calls
    result = Toolset([Tool.of(search)], lambda task: None).call(None, call.name, call.arguments, call.texts)
    assert (result.ok, result.text) == (True, "found '2024'")
