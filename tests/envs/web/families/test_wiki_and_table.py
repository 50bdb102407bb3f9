"""An encyclopedia of three pages, a list of five deliveries: what they say, and what counts as evidence."""

from __future__ import annotations

import pytest
from small_site import SmallSite

# ---------------------------------------------------------------------- wiki


def page(title: str, kind: str, value: int, *links: list[str], **more: object) -> dict:
    slug = title.lower().replace(" ", "-")
    fact = "number of inhabitants" if kind == "town" else "year of birth"
    return {
        "slug": slug,
        "title": title,
        "kind": kind,
        "fact": fact,
        "value": value,
        "links": links,
        "see": [],
        **more,
    }


@pytest.fixture
def wiki() -> SmallSite:
    """The task: the inhabitants of the home town of Ada Abel, which has moved."""
    pages = [
        page("Ada Abel", "person", 1950, ["home town", "go", "belaburg"]),
        page("Belaburg", "town", 4321, ["mayor", "wiki", "ada-abel"], old=4300, see=["corenburg"]),
        page("Corenburg", "town", 77),
    ]
    data = {"pages": {one["slug"]: one for one in pages}, "listed": False, "outdated": True}
    return SmallSite("wiki", data, {}, {"chain": ["ada-abel", "belaburg"], "relations": ["home town"]})


@pytest.mark.parametrize(
    ("word", "links"),
    [
        ("burg", ["Belaburg (copy)", "Belaburg", "Corenburg"]),
        (" BELA ", ["Belaburg (copy)", "Belaburg"]),
        ("4321", []),
        ("", []),
    ],
)
def test_what_a_search_finds_copies_first(wiki, word, links):
    assert wiki.texts("a", "/search", q=word)[1:] == links
    assert ("Nothing found." in wiki.texts("p", "/search", q=word)) == (not links)


def test_a_page_and_its_outdated_copy(wiki):
    assert wiki.texts("p", "/wiki/belaburg")[0] == "Belaburg is a town. Its number of inhabitants is 4321."
    assert wiki.texts("a", "/wiki/belaburg")[1:] == ["Ada Abel", "Corenburg"]
    old = wiki.texts("p", "/old/belaburg")
    assert old[:2] == ["This copy is outdated.", "Belaburg is a town. Its number of inhabitants is 4300."]


@pytest.mark.parametrize(
    ("paths", "seen"),
    [
        ([], False),
        (["/wiki/ada-abel", "/old/belaburg", "/search?q=belaburg"], False),
        (["/wiki/belaburg"], True),
        (["/wiki/belaburg?x=1"], True),
        (["/wiki/belaburg/"], False),  # no such page, so nothing was read
        (["//wiki/belaburg"], False),
    ],
)
def test_the_evidence_is_the_page_itself(wiki, paths, seen):
    told = ["4321" in wiki.get(path).text() for path in paths]
    assert wiki.status.goals == (seen,) == (any(told),)


def test_an_old_name_leads_to_the_page(wiki):
    assert wiki.leads_to("/go/belaburg") == "/wiki/belaburg"
    for path in ("/go/nowhere", "/old/corenburg", "/wiki/nowhere", "/wiki", "/page/belaburg"):
        assert "Not found" in wiki.texts("h1", path)
    assert wiki.post("/wiki/belaburg") == "/"


# ---------------------------------------------------------------------- table

ROWS = [
    ["Ada Abel", "Milton", 1500, "open", 30],
    ["Ben Hale", "Calder", 250, "paid", 1200],
    ["Cleo Lund", "Milton", 12000, "open", 5],
    ["Dan Ross", "Denton", 100, "void", 7],
    ["Eva Dorn", "Abelton", 50, "late", 8],
]


def table(**more: object) -> SmallSite:
    data = {"rows": ROWS, "branches": [], "columns": 5, "per_page": 3, "total_row": True, "sortable": True}
    return SmallSite("table", {**data, "searchable": True, **more}, {}, {"branches": "branches" in more})


def test_rows_come_with_units_and_the_total_is_of_all_pages():
    cells = table().texts("td", "/")
    assert cells[:5] == ["Ada Abel", "Milton", "1,500 g", "open", "$30"]
    assert cells[15:] == ["Total of all", "", "", "", "$1,250"]
    assert table().texts("td", "/", page=2)[15 - 5] == "Total of all"
    assert len(table(columns=3, total_row=False).texts("td", "/")) == 9


@pytest.mark.parametrize(
    ("query", "names", "links"),
    [
        ({}, ["Ada Abel", "Ben Hale", "Cleo Lund"], ["Next page"]),
        ({"page": 2}, ["Dan Ross", "Eva Dorn"], ["Previous page"]),
        ({"page": 99}, ["Dan Ross", "Eva Dorn"], ["Previous page"]),
        ({"q": " abel"}, ["Ada Abel", "Eva Dorn"], []),  # customer or city
        ({"q": "open"}, [], []),  # but not the status
    ],
)
def test_what_a_page_of_the_table_lists(query, names, links):
    site = table(total_row=False)
    assert site.texts("td", "/", **query)[::5] == names
    assert site.texts("a", "/", **query)[1:] == links


def test_the_second_table_is_there_where_it_is_asked_for_and_must_be_opened():
    assert "Not found" in table().texts("h1", "/branches") and table().status.goals == ()
    site = table(branches=[["Milton", "Dravia", "florin"]])
    site.get("/")
    assert site.status.goals == (False,)
    assert site.texts("td", "/branches") == ["Milton", "Dravia", "florin"]
    assert site.status.goals == (True,) and site.status.fraction == 1.0
