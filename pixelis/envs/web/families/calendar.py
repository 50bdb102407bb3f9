"""Calendar booking: find the slot that is asked for, or the earliest that suits everybody, and book it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")
HOURS = ("09:00", "10:00", "11:00", "12:00", "14:00", "15:00", "16:00")
PEOPLE = ("Ann", "Bob", "Cem", "Dora", "Eli", "Fay")
TITLES = ("Review", "Planning", "Interview", "Demo", "Retrospective", "Handover", "Briefing", "Training")

_DAYS = (2, 3, 5, 5, 5, 5)
_HOURS = (3, 4, 4, 6, 7, 7)
_WEEKS = (1, 1, 2, 2, 3, 3)
_PEOPLE = (0, 0, 1, 2, 3, 3)
_BUSY = (0.0, 0.3, 0.5, 0.5, 0.6, 0.55)
"""Chance that a person is busy in a slot (level 1: that the slot is taken)."""


class CalendarFamily(SiteFamily):
    """A shared calendar. What counts is the events that the server holds."""

    name = "calendar"
    phrases: Mapping[str, tuple[str, ...]] = {
        "Next week": ("Week after", "One week on", "Following week"),
        "Previous week": ("Week before", "One week back", "Preceding week"),
        "Title": ("Subject", "What", "Topic"),
        "Book": ("Schedule", "Create event", "Enter it"),
        "Every week": ("Weekly", "Repeat each week", "Recurring"),
        "Cancel event": ("Call off", "Remove event", "Drop event"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return a calendar and a booking."""
        level = dials.difficulty
        people: list[str] = draw.some(list[str](PEOPLE), _PEOPLE[level])
        slots = [
            f"{week}-{day}-{hour}"
            for week in range(_WEEKS[level])
            for day in DAYS[: _DAYS[level]]
            for hour in HOURS[: _HOURS[level]]
        ]
        busy = {slot: _busy(draw, people, level) for slot in slots}
        after = draw.one(HOURS[1:4]) if level >= 3 else ""
        tentative = level >= 4
        fits = [slot for slot in slots if _fits(busy[slot], slot, after, tentative)]
        if not fits:
            slot = draw.one([slot for slot in slots if slot[-5:] >= after])
            busy[slot] = []
            fits = [slot]
        slot = fits[0] if people else draw.one(fits)
        event = {"slot": slot, "title": draw.one(TITLES), "weekly": level >= 5 and draw.chance(0.5)}
        own = {"slot": draw.one([one for one in slots if one != slot]), "title": "Dentist", "weekly": False}
        if (
            level >= 3
        ):  # after the goal was found: with people it is the earliest, so yours comes later or was never free
            busy[own["slot"]] = [*busy[own["slot"]], ["You", "busy"]]
        data = {
            "busy": busy,
            "weeks": _WEEKS[level],
            "days": list(DAYS[: _DAYS[level]]),
            "hours": list(HOURS[: _HOURS[level]]),
        }
        data |= {"weekly": level >= 4, "own": level >= 3}
        state = {"events": [own] if level >= 3 else []}
        return Brief(_instruction(event, people, after, tentative), data, state, {"event": event})

    # ------------------------------------------------------------------ pages

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        slot = request.get("slot")
        if request.method == "POST":
            if request.path == "/book" and _is_free(level, slot) and request.get("title").strip():
                event = {
                    "slot": slot,
                    "title": request.get("title").strip()[:100],
                    "weekly": request.get("weekly") == "1",
                }
                if event not in state["events"] and len(state["events"]) < 50:
                    state["events"].append(event)
            elif request.path == "/drop":
                state["events"] = [one for one in state["events"] if one["slot"] != slot]
            return Response.redirect("/")
        if request.path == "/new" and _is_free(level, slot):
            return render(level, state, "calendar/new.html", slot=slot, when=spoken(slot))
        if request.path != "/":
            return not_found(level, state)
        week = min(request.number("week", 0), level.data["weeks"] - 1)
        rows = [
            {
                "day": day,
                "slots": [_cell(level, state, f"{week}-{day}-{hour}") for hour in level.data["hours"]],
            }
            for day in level.data["days"]
        ]
        return render(level, state, "calendar/week.html", week=week, rows=rows)

    # ------------------------------------------------------------------ the task

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """An event in the right slot; the very event that is asked for."""
        event = level.goal["event"]
        return [
            any(one["slot"] == event["slot"] for one in state["events"]),
            any(_same(one, event) for one in state["events"]),
        ]

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Other events booked, and what ``harm`` says."""
        event, before = level.goal["event"], level.state["events"]
        other = [one for one in state["events"] if one not in before and not _same(one, event)]
        return [*(f"booked {spoken(one['slot'])}" for one in other), *self.harm(level, state)]

    def harm(self, level: WebLevel, state: State) -> list[str]:
        """Events of before that were cancelled."""
        return [f"cancelled {one['title']}" for one in level.state["events"] if one not in state["events"]]

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Go to the week, take the slot, name the event, book."""
        event, w = level.goal["event"], level.word
        week, day, hour = event["slot"].split("-")
        for _ in range(int(week)):
            yield OracleStep("click", "link", w("Next week"))
        yield OracleStep("click", "link", f"{day} {hour}")
        if event["weekly"]:
            yield OracleStep("click", "checkbox", w("Every week"))
        yield OracleStep("type", "textbox", w("Title"), text=event["title"], submit=True)


def spoken(slot: str) -> str:
    """Return a slot in words: ``week 2, Tue 10:00``."""
    week, day, hour = slot.split("-")
    return f"week {int(week) + 1}, {day} {hour}"


def _busy(draw: SeededRandom, people: list[str], level: int) -> list[list[str]]:
    """Return who is not free in a slot: name, and ``busy`` or (from level 4) ``tentative``."""
    if not people:
        return [["Somebody", "busy"]] if draw.chance(_BUSY[level]) else []
    kinds = ("busy", "busy", "tentative") if level >= 4 else ("busy",)
    return [[name, draw.one(kinds)] for name in people if draw.chance(_BUSY[level])]


def _fits(busy: list[list[str]], slot: str, after: str, tentative: bool) -> bool:
    taken = [kind for _, kind in busy if not (tentative and kind == "tentative")]
    return not taken and slot[-5:] >= after


def _is_free(level: WebLevel, slot: str) -> bool:
    """Return whether a slot can be booked at all: it exists, and you are free."""
    busy = level.data["busy"].get(slot)
    return busy is not None and not any(name in ("You", "Somebody") for name, _ in busy)


def _cell(level: WebLevel, state: State, slot: str) -> dict[str, Any]:
    mine = [one["title"] for one in state["events"] if one["slot"] == slot]
    notes = [
        name if kind == "busy" else f"{name} (tentative)"
        for name, kind in level.data["busy"][slot]
        if name != "You"
    ]
    return {
        "slot": slot,
        "label": slot.split("-", 1)[1].replace("-", " "),
        "mine": mine,
        "notes": notes,
        "free": _is_free(level, slot),
    }


def _same(one: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    title = " ".join(str(one["title"]).lower().split())
    return (one["slot"], title, one["weekly"]) == (event["slot"], event["title"].lower(), event["weekly"])


def _instruction(event: Mapping[str, Any], people: list[str], after: str, tentative: bool) -> str:
    repeat = ", every week," if event["weekly"] else ""
    if not people:
        _, day, hour = event["slot"].split("-")
        return f"Book the event '{event['title']}'{repeat} on {day} at {hour} in the calendar of {{brand}}."
    names = " and ".join(people)
    text = f"Book the event '{event['title']}'{repeat} in the earliest slot in which {names} and you are free"
    text += f", not before {after} on its day" if after else ""
    text += "; tentative counts as free" if tentative else ""
    return f"{text}, in the calendar of {{brand}}. Change nothing else."


register(CalendarFamily())
