"""From a snapshot to the text that an agent reads: a window of lines within a budget of characters."""

from __future__ import annotations

from dataclasses import dataclass

from pixelis.envs.web.page.ids import IdBook
from pixelis.envs.web.page.snapshot import Control, PageLine, Snapshot

CHARACTERS_PER_TOKEN = 4
LONGEST_LINE = 400
"""Greatest length of one line of text in characters; a longer one is cut, its controls are not."""


@dataclass(frozen=True)
class OutlineWindow:
    """The part of a page that is shown.

    Attributes:
        text: for the agent.
        first: index of the first line shown.
        after: index of the first line below it.
        count: how many lines the page has.
    """

    text: str
    first: int
    after: int
    count: int


def outline(snapshot: Snapshot, ids: IdBook, *, first: int, page_tokens: int) -> OutlineWindow:
    """Return the lines of a page from ``first`` on, as many as fit (one at least).

    Args:
        snapshot: the page.
        ids: gives the controls their ids and notes which were shown.
        first: index of the line to begin with; the last that exists if it is too large.
        page_tokens: budget in tokens of about four characters, heading and hints not counted.
    """
    lines = snapshot.lines
    first = max(0, min(first, len(lines) - 1))
    budget, after = page_tokens * CHARACTERS_PER_TOKEN, first
    texts: list[str] = []
    while after < len(lines):
        text = line_text(lines[after], ids, budget if texts else None)
        if text is None:
            break
        budget -= len(text) + 1
        texts.append(text)
        after += 1
    head = [f"Page: {snapshot.title} — {snapshot.url}"]
    if snapshot.notice:
        head.append(f"({snapshot.notice})")
    if first:
        head.append(f"… {_lines(first)} above: SCROLL up")
    if after < len(lines):
        texts.append(f"… {_lines(len(lines) - after, 'more ')} below: SCROLL down")
    return OutlineWindow("\n".join([*head, *texts]), first, after, len(lines))


def _lines(count: int, more: str = "") -> str:
    return f"{count} {more}{'line' if count == 1 else 'lines'}"


def line_text(line: PageLine, ids: IdBook, budget: int | None = None) -> str | None:
    """Return one line as text; ``None`` if it is longer than ``budget``. Ids count as shown if it is not.

    An id stands behind its element's name: who has found the name reads the id next, as a model copies it.
    """
    parts = [piece if isinstance(piece, str) else "".join(_control_text(piece)) for piece in line.pieces]
    if line.kind == "heading":
        parts.insert(0, "#" * line.level)
    elif line.kind == "item":
        parts.insert(0, "-")
    if budget is not None and sum(map(len, parts)) + len(parts) + 8 * len(line.pieces) > budget:
        return None
    shift = len(parts) - len(line.pieces)
    for index, piece in enumerate(line.pieces):
        if isinstance(piece, str):
            parts[index + shift] = piece if len(piece) <= LONGEST_LINE else piece[: LONGEST_LINE - 1] + "…"
        else:
            what, state = _control_text(piece)
            parts[index + shift] = f"{what} [{ids.id_of(piece.key)}]{state}"
    return " ".join(parts)


def _control_text(control: Control) -> tuple[str, str]:
    """Return what stands before a control's id and what stands behind it."""
    text = ""
    if control.value is not None:
        text += f' = "{control.value}"'
    if control.states:
        text += f" [{', '.join(control.states)}]"
    if control.options:
        text += f" ({' / '.join(control.options)})"
    return named(control), text


def named(control: Control) -> str:
    """Return a control's role and name as the outline writes them."""
    return f'{control.role} "{control.name}"' if control.name else control.role
