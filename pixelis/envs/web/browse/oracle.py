"""The oracle: carries out a family's steps on the page, with ids that were shown, like any other agent."""

from __future__ import annotations

from typing import Any

from pixelis.envs.web.browse.workspace import WebWorkspace
from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.families.family import OracleStep, families
from pixelis.envs.web.page.backend import Back, Click, Goto, PageAction, Select, Type, Wait
from pixelis.envs.web.page.snapshot import Control, Snapshot
from pixelis.envs.web.sites.levels import WebLevel
from pixelis.errors import TaskError, shown

MAX_STEPS = 300
MAX_WAITS = 8

Call = tuple[str, dict[str, Any]]


class SiteOracle:
    """Says what to do next on a page.

    Closes pop-ups, waits for what comes late, scrolls to what is not shown. Never reads what a page says,
    but for the element it looks for.

    Raises:
        TaskError: ``next_call``: an element is nowhere; the level (or the family's oracle) is wrong.
    """

    def __init__(self, level: WebLevel) -> None:
        self._steps = families()[level.family].oracle(level)
        self._popups: dict[str, set[str]] = {}
        for popup in level.theme["popups"].values():
            self._popups.setdefault(popup["title"], set()).add(popup["close"])
        self._step: OracleStep | None = None
        self._waits = 0

    def next_call(self, workspace: WebWorkspace) -> Call | None:
        """Return the next call: tool and arguments; ``None`` when there is nothing left to do."""
        closing = self.closing_call(workspace)
        if closing is not None:
            return closing
        if self._step is None:
            self._step = next(self._steps, None)
            if self._step is None:
                return None
        call = self._call(self._step, workspace)
        if call[0] not in ("SCROLL", "WAIT"):
            self._step, self._waits = None, 0
        return call

    def closing_call(self, workspace: WebWorkspace) -> Call | None:
        """Return the call that closes a pop-up, or brings its button into view; ``None`` without a pop-up."""
        popup = self._popup(workspace.snapshot)
        if popup is None:
            return None
        return self._scrolled(workspace, popup) or ("CLICK", {"id": workspace.ids.shown_id(popup.key)})

    def _call(self, step: OracleStep, workspace: WebWorkspace) -> Call:
        if step.kind == "goto":
            return "GOTO", {"path": step.text}
        if step.kind == "answer":
            return "ANSWER", {"text": step.text}
        if step.kind == "back":
            return "BACK", {}
        control = find(workspace.snapshot, step)
        if control is None:
            self._waits += 1
            if self._waits > MAX_WAITS:
                raise TaskError(
                    f"the oracle finds no {step} on {workspace.snapshot.url}; the level cannot be solved"
                )
            return "WAIT", {}
        scrolled = self._scrolled(workspace, control)
        if scrolled is not None:
            return scrolled
        arguments: dict[str, Any] = {"id": workspace.ids.shown_id(control.key)}
        if step.kind == "type":
            arguments["text"] = step.text
            if step.submit:
                arguments["submit"] = True
        elif step.kind == "select":
            arguments["option"] = step.text
        return step.kind.upper(), arguments

    def _popup(self, snapshot: Snapshot) -> Control | None:
        for index, line in enumerate(snapshot.lines):
            if line.kind == "heading" and line.pieces[0] in self._popups:
                names = self._popups[str(line.pieces[0])]
                for below in snapshot.lines[index:]:
                    for piece in below.pieces:
                        if not isinstance(piece, str) and piece.name in names:
                            return piece
        return None

    def _scrolled(self, workspace: WebWorkspace, control: Control) -> Call | None:
        """Return a SCROLL if the control was not shown yet."""
        window = workspace.window
        if workspace.ids.shown_id(control.key) is not None:
            return None
        row = next(i for i, line in enumerate(workspace.snapshot.lines) if control in line.pieces)
        return "SCROLL", {"direction": "up" if row < window.first else "down"}


def find(snapshot: Snapshot, step: OracleStep) -> Control | None:
    """Return the control that a step means: by role, name, and the text on its line or nearest above it."""
    best: Control | None = None
    best_distance = len(snapshot.lines) + 1
    seen_at: int | None = None
    for row, line in enumerate(snapshot.lines):
        if step.near and any(step.near in (p if isinstance(p, str) else p.name) for p in line.pieces):
            seen_at = row
        for piece in line.pieces:
            if isinstance(piece, str) or piece.role != step.role or piece.name != step.name:
                continue
            if not step.near:
                return piece
            if seen_at is not None and row - seen_at < best_distance:
                best, best_distance = piece, row - seen_at
    return best


def page_action(call: Call, workspace: WebWorkspace) -> PageAction:
    """Return a call as an action on the page (not for SCROLL and ANSWER)."""
    tool, arguments = call
    match tool:
        case "GOTO":
            return Goto(arguments["path"])
        case "BACK":
            return Back()
        case "WAIT":
            return Wait()
    key = workspace.key_of(arguments["id"])
    if tool == "TYPE":
        return Type(key, arguments["text"], arguments.get("submit", False))
    return Select(key, arguments["option"]) if tool == "SELECT" else Click(key)


def solve(level: WebLevel, page_tokens: int) -> int:
    """Play a level with the oracle in process; return how many steps it takes.

    Raises:
        TaskError: the oracle does not solve it.
    """
    workspace = WebWorkspace(level, DomBackend(), page_tokens)
    oracle = SiteOracle(level)
    while not workspace.is_over and workspace.steps < MAX_STEPS:
        call = oracle.next_call(workspace)
        if call is None:
            break
        workspace.steps += 1
        if call[0] == "SCROLL":
            workspace.scroll(call[1]["direction"])
        elif call[0] == "ANSWER":
            workspace.answer = call[1]["text"]
        else:
            workspace.act(page_action(call, workspace))
    ended = workspace.outcome
    if not all(ended.goals) or ended.collateral or ended.unsafe:
        raise TaskError(f"the oracle does not solve {shown(level.instruction, 200)}: {ended}")
    return workspace.steps
