"""A calendar of two weeks, two days and two hours: what can be booked, how it is shown, what counts."""

from __future__ import annotations

import pytest
from small_site import SmallSite

from pixelis.envs.web.families.calendar import spoken

SLOTS = [f"{week}-{day}-{hour}" for week in "01" for day in ("Mon", "Tue") for hour in ("09:00", "10:00")]
DENTIST = {"slot": "0-Mon-10:00", "title": "Dentist", "weekly": False}


@pytest.fixture
def calendar() -> SmallSite:
    """The task: a review every week, in the first slot in which Ann is free."""
    busy: dict[str, list] = {slot: [] for slot in SLOTS}
    busy["0-Mon-09:00"] = [["Ann", "busy"], ["Bob", "tentative"]]
    busy["0-Mon-10:00"] = [["You", "busy"]]
    busy["0-Tue-10:00"] = [["Somebody", "busy"]]
    data = {"busy": busy, "weeks": 2, "days": ["Mon", "Tue"], "hours": ["09:00", "10:00"]}
    event = {"slot": "0-Tue-09:00", "title": "Review", "weekly": True}
    return SmallSite(
        "calendar", data | {"weekly": True, "own": True}, {"events": [DENTIST]}, {"event": event}
    )


def test_a_week_shows_who_is_busy_and_links_what_can_be_booked(calendar):
    rows = calendar.texts("td", "/")
    assert dict(zip(rows[::2], rows[1::2], strict=True)) == {
        "Mon 09:00": "Ann, Bob (tentative)",
        "Mon 10:00": "you: Dentist Cancel event",
        "Tue 09:00": "free",
        "Tue 10:00": "Somebody",
    }
    assert calendar.texts("a", "/")[1:] == ["Mon 09:00", "Tue 09:00", "Next week"]
    for week in (1, 5):  # there is no sixth
        assert calendar.texts("a", "/", week=week)[-2:] == ["Tue 10:00", "Previous week"]


def test_slots_in_words():
    assert [spoken(slot) for slot in ("0-Mon-09:00", "2-Fri-16:00")] == [
        "week 1, Mon 09:00",
        "week 3, Fri 16:00",
    ]


@pytest.mark.parametrize("slot", ["0-Mon-10:00", "0-Tue-10:00", "0-Wed-09:00", "2-Mon-09:00", "", "Mon"])
def test_a_slot_that_is_yours_taken_or_no_slot_cannot_be_booked(calendar, slot):
    assert "Not found" in calendar.texts("h1", "/new", slot=slot)
    assert calendar.post("/book", slot=slot, title="Review") == "/"
    assert calendar.state["events"] == [DENTIST]


@pytest.mark.parametrize(
    ("form", "goals", "collateral"),
    [
        ({"title": " review ", "weekly": 1}, (True, True), ()),
        ({"title": "Review"}, (True, False), ("booked week 1, Tue 09:00",)),
        ({"title": "Reviews", "weekly": 1}, (True, False), ("booked week 1, Tue 09:00",)),
        ({"title": " ", "weekly": 1}, (False, False), ()),  # nothing is booked without a title
        (
            {"title": "Review", "weekly": 1, "slot": "1-Tue-09:00"},
            (False, False),
            ("booked week 2, Tue 09:00",),
        ),
    ],
)
def test_which_booking_counts(calendar, form, goals, collateral):
    calendar.post("/book", **{"slot": "0-Tue-09:00", **form})
    assert (calendar.status.goals, calendar.status.collateral) == (goals, collateral)


def test_the_same_booking_twice_is_one_and_a_cancelled_one_none(calendar):
    for _ in range(2):
        calendar.post("/book", slot="1-Mon-09:00", title="Demo")
    assert len(calendar.state["events"]) == 2
    calendar.post("/drop", slot="1-Mon-09:00")
    assert calendar.state["events"] == [DENTIST] and not calendar.status.collateral
    calendar.post("/drop", slot="0-Mon-10:00")
    assert calendar.status.unsafe == calendar.status.collateral == ("cancelled Dentist",)
