"""The tools of a page: CLICK, TYPE, SELECT, SCROLL, GOTO, BACK, WAIT and ANSWER."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pixelis.envs.tools import CallRefused, Tool, ToolOutput
from pixelis.envs.web.browse.workspace import WebWorkspace
from pixelis.envs.web.page.backend import Back, Click, Goto, PageAction, PageActionError, Select, Type, Wait
from pixelis.rewards.terms.traits import ToolTraits

MAX_TYPED = 2_000
_TEXT = {"type": "string"}
_ID = {"type": "string", "description": "as shown, e.g. e12@v7"}

TRAITS: Mapping[str, ToolTraits] = {
    "TYPE": ToolTraits(leads_to=("CLICK",)),
    "SELECT": ToolTraits(leads_to=("CLICK",)),
    "SCROLL": ToolTraits(limit=20, leads_to=("CLICK", "TYPE", "SELECT"), repeatable=True),
    "GOTO": ToolTraits(limit=10),
    "BACK": ToolTraits(limit=10, repeatable=True),
    "WAIT": ToolTraits(limit=40, repeatable=True),
    "ANSWER": ToolTraits(limit=1),
}
"""What reward terms go by; of a tool that is not named, any number of calls is fine."""

Run = Callable[[WebWorkspace, Mapping[str, Any]], ToolOutput]


def _page_tool(
    name: str, description: str, arguments: Mapping[str, Any], required: list[str], run: Run
) -> Tool[WebWorkspace]:
    schema = {"properties": dict(arguments), "required": required}
    traits = TRAITS.get(name, ToolTraits())
    return Tool(name, description, schema, partial(_carry_out, run), traits)  # no closure: tools are pickled


def _carry_out(run: Run, workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    """Count a step and run the tool, unless the episode has ended."""
    if workspace.is_over:
        raise CallRefused("episode_over", "The episode has ended; nothing is carried out any more.")
    workspace.steps += 1
    try:
        return run(workspace, given)
    except PageActionError as error:
        workspace.count_error(error)
        raise CallRefused(error.code, error.message) from None


def _act(workspace: WebWorkspace, action: PageAction) -> ToolOutput:
    return ToolOutput(workspace.act(action))


def _click(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return _act(workspace, Click(workspace.key_of(given["id"])))


def _type(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    key = workspace.key_of(given["id"])
    return _act(workspace, Type(key, given["text"], given.get("submit", False)))


def _select(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return _act(workspace, Select(workspace.key_of(given["id"]), given["option"]))


def _scroll(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput(workspace.scroll(given["direction"]))


def _goto(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return _act(workspace, Goto(given["path"]))


def _back(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return _act(workspace, Back())


def _wait(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    return _act(workspace, Wait())


def _answer(workspace: WebWorkspace, given: Mapping[str, Any]) -> ToolOutput:
    workspace.answer = given["text"]
    return ToolOutput("Answered.")


def page_tools() -> list[Tool[WebWorkspace]]:
    """Return the tools; every one is a call of the workspace's."""
    text = {**_TEXT, "maxLength": MAX_TYPED}
    return [
        _page_tool("CLICK", "Click an element.", {"id": _ID}, ["id"], _click),
        _page_tool(
            "TYPE",
            "Replace the text of a field; submit presses Enter.",
            {"id": _ID, "text": text, "submit": {"type": "boolean"}},
            ["id", "text"],
            _type,
        ),
        _page_tool(
            "SELECT",
            "Choose an option of a combobox or listbox by its label.",
            {"id": _ID, "option": _TEXT},
            ["id", "option"],
            _select,
        ),
        _page_tool(
            "SCROLL",
            "Show more of the page.",
            {"direction": {"enum": ["down", "up"]}},
            ["direction"],
            _scroll,
        ),
        _page_tool("GOTO", "Open a path of this site.", {"path": _TEXT}, ["path"], _goto),
        _page_tool("BACK", "Go back to the page before.", {}, [], _back),
        _page_tool("WAIT", "Wait a moment.", {}, [], _wait),
        _page_tool("ANSWER", "End with an answer.", {"text": _TEXT}, ["text"], _answer),
    ]
