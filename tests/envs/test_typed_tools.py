"""A typed function with a docstring is a tool."""

from __future__ import annotations

import datetime
import enum
import pickle
from typing import Annotated, Any, Literal, Optional

import pytest
from annotated_types import Interval
from jsonschema import Draft202012Validator
from pydantic import Field

from pixelis.envs.tools import CallRefused, Tool, ToolOutput, Toolset
from pixelis.errors import ConfigError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def mix(
    colour: Colour,
    parts: Annotated[int, Field(ge=1, le=5)],
    shade: Literal["light", "dark"] = "light",
    weights: list[float] | None = None,
    labels: Optional[dict[str, int]] = None,  # noqa: UP045  # the older way to write it works too
    ratio: Annotated[float, Interval(gt=0, le=1)] = 0.5,
    dry: bool = False,
    size: tuple[int, int] = (1, 2),
) -> str:
    """Mix a colour.

    A longer story that the model is not told.

    Args:
        colour: which one,
            told over two lines.
        parts: how many parts.
        shade: how light it is.
    """
    return f"{colour.name} {parts} {shade} {weights} {labels} {ratio} {dry} {size}"


def workspace_first(workspace: list[int], number: int) -> str:
    """Remember a number."""
    workspace.append(number)
    return f"{len(workspace)} remembered"


def _toolset(*tools: Tool[Any]) -> Toolset[Any]:
    return Toolset(tools, lambda task: [])


def _returning(value: Any) -> Tool[Any]:
    def tell() -> Any:
        """Tell something."""
        return value

    return Tool.of(tell)


def test_the_schema_says_what_the_annotations_and_the_docstring_say():
    tool = Tool.of(mix)
    assert (tool.name, tool.description) == ("mix", "Mix a colour.")
    function = tool.schema["function"]
    properties = function["parameters"]["properties"]
    assert function["parameters"]["required"] == ["colour", "parts"]
    assert properties["colour"] == {
        "description": "which one, told over two lines.",
        "enum": ["red", "blue"],
        "type": "string",
    }
    assert properties["parts"] == {
        "description": "how many parts.",
        "maximum": 5,
        "minimum": 1,
        "type": "integer",
    }
    assert properties["shade"]["enum"] == ["light", "dark"] and properties["shade"]["default"] == "light"
    assert {"type": "null"} in properties["weights"]["anyOf"]
    assert properties["ratio"]["exclusiveMinimum"] == 0 and properties["dry"]["type"] == "boolean"
    assert "$ref" not in str(function) and "title" not in str(function)
    Draft202012Validator.check_schema(function["parameters"])


def test_a_call_gets_values_of_the_annotated_types_and_defaults():
    tools = _toolset(Tool.of(mix))
    result = tools.call([], "mix", {"colour": "blue", "parts": 2, "size": [3, 4], "labels": {"a": 1}})
    assert result.ok and result.text == "BLUE 2 light None {'a': 1} 0.5 False (3, 4)"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "bad_arguments"),
        ({"colour": "green", "parts": 1}, "bad_arguments"),
        ({"colour": "red", "parts": 6}, "out_of_range"),
        ({"colour": "red", "parts": "2"}, "bad_arguments"),
        ({"colour": "red", "parts": True}, "bad_arguments"),
        ({"colour": "red", "parts": 1, "other": 1}, "bad_arguments"),
        ({"colour": "red", "parts": 1, "ratio": float("nan")}, "bad_arguments"),
        ({"colour": "red", "parts": 1, "size": [1]}, "bad_arguments"),
        ({"colour": "red", "parts": 1, "weights": ["x"]}, "bad_arguments"),
    ],
)
def test_a_bad_call_is_an_observation(arguments, code):
    result = _toolset(Tool.of(mix)).call([], "mix", arguments)
    assert not result.ok and result.error_code == code
    assert "pydantic" not in result.text and "Input should" not in result.text


def test_what_only_the_type_knows_to_be_wrong_is_an_observation_too():
    def book(day: datetime.date) -> str:
        """Book a day."""
        return day.isoformat()

    tools = _toolset(Tool.of(book))
    assert tools.call([], "book", {"day": "2024-02-29"}).text == "2024-02-29"
    refused = tools.call([], "book", {"day": "2023-02-29"})
    assert refused.error_code == "bad_arguments" and "day" in refused.text and "date" in refused.text


def test_the_workspace_is_the_parameter_of_that_name():
    tool = Tool.of(workspace_first, name="REMEMBER")
    assert tool.name == "REMEMBER" and list(tool.parameters["properties"]) == ["number"]
    workspace: list[int] = []
    assert _toolset(tool).call(workspace, "REMEMBER", {"number": 3}).text == "1 remembered"
    assert workspace == [3]


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        ("found it", "found it", {}),
        ("", "", {}),
        (None, "Done.", {}),
        (3, "3", {"result": 3}),
        (0.5, "0.5", {"result": 0.5}),
        (True, "true", {"result": True}),
        ([1, "ä"], '[1, "ä"]', {"result": [1, "ä"]}),
        ({"a": None}, '{"a": null}', {"a": None}),
        (ToolOutput("as it is", {"n": 1}), "as it is", {"n": 1}),
    ],
)
def test_what_a_tool_may_return(value, text, data):
    by_function = _toolset(_returning(value)).call([], "tell", {})
    by_hand = _toolset(Tool("tell", "Tell.", {}, lambda workspace, arguments: value)).call([], "tell", {})
    for result in (by_function, by_hand):
        assert (result.ok, result.text, result.data) == (True, text, data)


@pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}, {"x": object()}, float("nan")])
def test_what_no_model_can_read_is_the_tools_mistake(value):
    with pytest.raises(ConfigError, match=r"tell must return text"):
        _toolset(_returning(value)).call([], "tell", {})


def test_a_refusal_is_an_observation_and_a_bug_is_not():
    def open_door(key: int) -> str:
        """Open a door."""
        if key == 0:
            raise CallRefused("no_key", "take a key first.")
        return {}["no such door"]

    tools = _toolset(Tool.of(open_door))
    assert tools.call([], "open_door", {"key": 0}).error_code == "no_key"
    with pytest.raises(KeyError, match="no such door"):
        tools.call([], "open_door", {"key": 1})


def test_methods_are_tools():
    class Shop:
        def price(self, thing: str) -> str:
            """Tell a price."""
            return f"{thing}: 3"

    assert _toolset(Tool.of(Shop().price)).call([], "price", {"thing": "tea"}).text == "tea: 3"


def test_a_tool_can_be_pickled_after_a_call():
    tools = [Tool.of(mix)]
    _toolset(*tools).call([], "mix", {"colour": "red", "parts": 1})
    copy = pickle.loads(pickle.dumps(tools))
    assert _toolset(*copy).call([], "mix", {"colour": "red", "parts": 1}).ok


def _untyped(a, b: int) -> str:
    """Add."""
    return ""


def _starred(*numbers: int) -> str:
    """Add."""
    return ""


def _keywords(**numbers: int) -> str:
    """Add."""
    return ""


def _positional(a: int, /) -> str:
    """Add."""
    return ""


def _silent(a: int) -> str:
    return ""


def _of_no_json(a: Toolset[Any]) -> str:
    """Add."""
    return ""


def _of_no_name(a: NoSuchType) -> str:  # noqa: F821
    """Add."""
    return ""


def _bad_default(a: int = "x") -> str:  # type: ignore[assignment]
    """Add."""
    return ""


async def _later(a: int) -> str:
    """Add."""
    return ""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_untyped, "'a'.*has no type"),
        (_starred, r"\*numbers"),
        (_keywords, r"\*\*numbers"),
        (_positional, "'a'"),
        (_silent, "docstring"),
        (_of_no_json, "'a'"),
        (_of_no_name, "NoSuchType"),
        (_bad_default, "'a'.*default"),
        (_later, "_later is async"),
        (lambda a: "", "name"),
        (print, "function"),
        (3, "function"),
        (Colour, "function"),
    ],
)
def test_what_is_no_tool_is_one_clear_error(function, words):
    with pytest.raises(ConfigError, match=words) as caught:
        Tool.of(function)
    assert len(str(caught.value)) < 600 and "pydantic" not in str(caught.value)
