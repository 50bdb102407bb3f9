"""Ids and the window over a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.web.page.backend import PageActionError
from pixelis.envs.web.page.ids import IdBook
from pixelis.envs.web.page.outline import outline
from pixelis.envs.web.page.snapshot import Control, PageLine, Snapshot


def page(count: int, generation: int = 1, notice: str = "") -> Snapshot:
    lines = tuple(
        PageLine("text", 0, (f"line {n}", Control(100 + n, "button", f"b{n}"))) for n in range(count)
    )
    return Snapshot("/p", "Title", lines, generation, notice)


def code(ids: IdBook, text: str) -> str:
    with pytest.raises(PageActionError) as caught:
        ids.key_of(text)
    return caught.value.code


def test_only_what_was_shown_has_an_id_and_old_versions_are_stale():
    ids = IdBook()
    ids.see(page(2), acted=False)
    assert code(ids, "e1@v1") == "unknown_id"
    assert ids.id_of(100) == "e1@v1"
    assert (ids.key_of("e1@v1"), ids.key_of(" [e1@v1] ")) == (100, 100)
    assert [code(ids, text) for text in ("e2@v1", "e1@v2", "e1", "", "e1@v0", "e-1@v1", "e1@v1x")] == [
        "unknown_id"
    ] * 7
    ids.see(page(2, generation=2))
    assert code(ids, "e1@v1") == "stale"
    assert ids.id_of(101) == "e2@v2"


def test_a_control_keeps_its_number_while_others_come_and_go():
    ids = IdBook()
    ids.see(page(2), acted=False)
    fewer = Snapshot(
        "/p", "Title", (PageLine("text", 0, (Control(7, "link", "new"), Control(101, "button", "b1"))),), 1
    )
    ids.see(fewer)
    assert (ids.id_of(101), ids.id_of(7)) == ("e2@v1", "e3@v1")


@pytest.mark.parametrize(
    ("churn", "versions"), [(0, [1, 1, 1, 1, 1]), (1, [1, 2, 3, 4, 5]), (2, [1, 1, 2, 2, 3])]
)
def test_churn_renumbers(churn: int, versions: list[int]):
    ids, seen = IdBook(churn), []
    for turn in range(5):
        ids.see(page(1), acted=turn > 0)
        seen.append(ids.version)
    assert seen == versions


def test_the_text_of_a_page():
    lines = (
        PageLine("heading", 2, ("Head",)),
        PageLine("item", 1, ("one", Control(5, "textbox", "Name", "Bob", ("required", "invalid")))),
        PageLine("row", 0, (Control(6, "combobox", "", "a", (), ("a", "b")), "| x")),
    )
    window = outline(Snapshot("/p?q=1", "T", lines, 1, "Not sent."), _seen(lines), first=0, page_tokens=400)
    assert window.text.splitlines() == [
        "Page: T — /p?q=1",
        "(Not sent.)",
        "## Head",
        '- one textbox "Name" [e1@v1] = "Bob" [required, invalid]',
        'combobox [e2@v1] = "a" (a / b) | x',
    ]


def _seen(lines) -> IdBook:
    ids = IdBook()
    ids.see(Snapshot("/p", "T", lines, 1), acted=False)
    return ids


def test_a_window_says_what_is_above_and_below():
    snapshot = page(10)
    window = outline(snapshot, _seen(snapshot.lines), first=9, page_tokens=400)
    assert window.text.splitlines()[1] == "… 9 lines above: SCROLL up"
    small = outline(snapshot, _seen(snapshot.lines), first=2, page_tokens=20)
    assert small.text.splitlines()[-1] == f"… {10 - small.after} more lines below: SCROLL down"
    assert outline(Snapshot("/", "", (), 1), IdBook(), first=3, page_tokens=40).text == "Page:  — /"


@given(st.integers(1, 60), st.integers(40, 300), st.integers(0, 80))
def test_every_line_is_in_some_window_and_the_budget_holds(count: int, tokens: int, first: int):
    snapshot = page(count)
    ids = _seen(snapshot.lines)
    window = outline(snapshot, ids, first=first, page_tokens=tokens)
    shown = window.text.splitlines()
    body = [line for line in shown if line.startswith("line ")]
    assert len(body) == window.after - window.first >= 1
    assert sum(map(len, body)) <= max(4 * tokens, len(body[0]))
    for control in snapshot.controls():
        if f'"{control.name}"' in window.text:
            assert ids.key_of(str(ids.shown_id(control.key))) == control.key
        else:
            assert ids.shown_id(control.key) is None
