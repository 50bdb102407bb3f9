"""A form in two steps: what is kept between them, what is missing, and which record counts."""

from __future__ import annotations

import pytest
from small_site import SmallSite

FIRST = {"x0": "Ada Abel", "x1": "M", "x2": "yes"}
SECOND = {"x3": "left-handed"}


def field(number: int, label: str, kind: str, *options: str, required: bool = False) -> dict:
    step = 0 if number < 3 else 1
    return {
        "id": f"x{number}",
        "step": step,
        "label": label,
        "kind": kind,
        "options": options,
        "required": required,
    }


def form(*, forgets: bool = False) -> SmallSite:
    fields = [
        field(0, "Name", "text", required=True),
        field(1, "T-shirt", "select", "S", "M"),
        field(2, "I need parking", "tick"),
        field(3, "Note", "note"),
        field(4, "I bring a guest", "tick"),
    ]
    data = {"purpose": "race", "fields": fields, "steps": 2, "news": True, "forgets": forgets}
    record = {**FIRST, **SECOND, "x4": "no"}
    return SmallSite("forms", data, {"draft": {}, "records": [], "notice": ""}, {"record": record})


def test_a_form_sent_step_by_step():
    site = form()
    assert site.texts("p", "/") == ["Step 1 of 2"]
    assert site.post("/", **FIRST) == "/?step=1"
    assert site.status.goals == (True, False, False)
    assert site.post("/?step=1", **SECOND) == "/sent"
    assert site.state["records"] == [{**FIRST, **SECOND, "x4": "no", "news": "no"}]
    assert site.status.goals == (True, True, True) and not site.status.collateral
    assert site.state["draft"] == {}


def test_only_the_last_step_submits_and_offers_news():
    site = form()
    assert site.texts("button", "/") == ["Next"] and "news" not in site.get("/").text()
    for step in (1, 7):
        assert site.texts("button", "/", step=step) == ["Add a note", "Submit"]
        assert site.texts("label", "/", step=step)[-1] == "I want news by mail"
    assert "Not found" in site.texts("h1", "/elsewhere")


@pytest.mark.parametrize("forgets", [False, True])
def test_what_is_missing_is_said_and_the_rest_kept_or_forgotten(forgets):
    site = form(forgets=forgets)
    assert site.post("/", x0=" ", x1="M") == "/?step=0"
    page = site.get("/", step=0)
    assert "Something is missing." in page.text()
    chosen = [one.text() for one in page.elements() if one.tag == "option" and "selected" in one.attrs]
    assert chosen == ([] if forgets else ["M"])
    assert "Something is missing." not in site.get("/").text()


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ({"x0": " ada  ABEL"}, True),
        ({"x0": "Ada"}, False),
        ({"x2": ""}, False),
        ({"x4": "yes"}, False),
        ({"news": "yes"}, False),
        ({"x9": "what is no field"}, True),
    ],
)
def test_which_record_is_right(changed, right):
    site = form()
    site.post("/", **{**FIRST, **changed})
    site.post("/?step=1", **{**SECOND, **changed})
    assert site.status.goals[-1] is right
    assert site.status.collateral == (() if right else ("sent a wrong form",))


def test_a_record_without_its_first_step_and_one_too_many_are_told():
    site = form()
    assert site.post("/?step=9", **SECOND) == "/sent"  # the last step is the furthest there is
    for _ in range(2):
        site.post("/", **FIRST)
        site.post("/?step=1", **SECOND)
    assert site.status.collateral == ("sent a wrong form", "sent the form twice")
    assert site.post("/elsewhere", **FIRST) == "/" and site.state["draft"] == {}
