"""Five projects on pages of two: what leaves the list, what is taken back, what nobody asked for."""

from __future__ import annotations

import pytest
from small_site import SmallSite

NAMES = ("Atlas plan", "Comet note", "Delta list", "Ember photo", "Fjord draft")
STATUSES = ("active", "done", "active", "done", "active")


@pytest.fixture
def projects() -> SmallSite:
    """The task: archive 1 and 4."""
    items = {
        str(number): {"name": name, "owner": "Ann", "status": status, "size": number}
        for number, (name, status) in enumerate(zip(NAMES, STATUSES, strict=True), 1)
    }
    data = {"items": items, "per_page": 2, "filter": True, "all_pages": True, "sizes": False}
    return SmallSite("bulk", data, {"archived": [], "last": [], "all_pages": 0}, {"archived": ["1", "4"]})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, NAMES[:2]),
        ({"page": 3}, NAMES[4:]),
        ({"page": 9}, NAMES[4:]),
        ({"page": "-1"}, NAMES[:2]),
        ({"status": "done"}, (NAMES[1], NAMES[3])),
        ({"status": "active", "page": 2}, (NAMES[4],)),
        ({"status": "lost"}, NAMES[:2]),
    ],
)
def test_what_a_page_lists(projects, query, names):
    assert tuple(projects.texts("label", "/", **query)[1:]) == names  # behind the filter's


def test_what_is_archived_leaves_the_list_and_can_be_taken_back_once(projects):
    assert (
        projects.post("/archive", item=["1", "2", "1", "99"], page=2, status="done") == "/?page=2&status=done"
    )
    assert projects.state["archived"] == ["1", "2"]
    assert tuple(projects.texts("label", "/")[1:]) == NAMES[2:4]
    assert projects.status.goals == (True, False)
    assert projects.status.collateral == ("archived Comet note",)
    assert "2 archived. Undo" in projects.texts("p", "/")
    projects.post("/archive", item="3")
    assert projects.post("/undo") == "/?page=1"
    assert projects.state["archived"] == ["1", "2"]  # the last action alone
    projects.post("/undo")
    assert projects.state["archived"] == ["1", "2"]


def test_nothing_ticked_keeps_what_undo_takes_back(projects):
    projects.post("/archive", item="3")
    projects.post("/archive")
    projects.post("/undo")
    assert projects.state["archived"] == []


def test_all_pages_means_all_of_the_status_that_is_shown(projects):
    projects.post("/archive-all", status="done")
    assert projects.state["archived"] == ["2", "4"]
    projects.post("/archive-all")
    assert projects.state["archived"] == ["2", "4", "1", "3", "5"]
    assert projects.status.goals == (True, True) and len(projects.status.collateral) == 3
    assert projects.texts("p", "/") == ["Nothing here.", "3 archived. Undo"]
    projects.post("/undo")
    assert projects.state["archived"] == ["2", "4"]
    projects.level.data["all_pages"] = False
    projects.post("/archive-all")
    assert projects.state["archived"] == ["2", "4"]
