"""How near its goal an episode on a web site is: steps of the oracle, or predicates of the goal."""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.envs.web.browse.oracle import find
from pixelis.envs.web.browse.workspace import WebWorkspace
from pixelis.envs.web.families.family import OracleStep, families
from pixelis.envs.web.page.backend import Back, Click, Goto, PageAction, Select, Type
from pixelis.envs.web.page.snapshot import Snapshot


def nearness(workspace: WebWorkspace) -> float:
    """Return how much of the way is done, 0-1, below 1 before the goal holds or the question is answered.

    The larger of two shares: of the steps of the oracle, those done in its order, whatever came between; and
    of the goal's predicates that did not hold at first, those that hold now. The first knows the pages to be
    reached and the fields to be filled, the second other routes to the same end.
    """
    level = workspace.level
    steps = [step for step in families()[level.family].oracle(level) if step.kind != "answer"]
    first, now = workspace.first_outcome.goals, workspace.outcome.goals
    open_at_first = [held for was, held in zip(first, now, strict=True) if not was]
    held = sum(open_at_first) / len(open_at_first) if open_at_first else 0.0
    done = steps_done(steps, workspace.acted) / len(steps) if steps else 0.0
    return max(done, held) * len(steps) / (len(steps) + 1)


def steps_done(steps: Sequence[OracleStep], acted: Sequence[tuple[Snapshot, PageAction]]) -> int:
    """Return how many of the oracle's first steps were done, in order.

    Args:
        steps: the oracle's.
        acted: actions that were carried out, each with the page that it was done on.
    """
    count = 0
    for page, action in acted:
        count += count < len(steps) and _is_done(steps[count], page, action)
    return count


def _is_done(step: OracleStep, page: Snapshot, action: PageAction) -> bool:
    match step.kind:
        case "goto":
            return isinstance(action, Goto) and action.url == step.text
        case "back":
            return isinstance(action, Back)
    control = find(page, step)
    if control is None or not isinstance(action, Click | Type | Select) or action.key != control.key:
        return False
    match action:
        case Type():
            return step.kind == "type" and _plain(action.text) == _plain(step.text)
        case Select():
            return step.kind == "select" and _plain(action.option) == _plain(step.text)
    return step.kind == "click"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
