"""Form filling: fields of every kind, in steps, with what is optional left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.families.people import CITIES, draw_address, email_of
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import ordered, render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

PURPOSES = ("course", "library card", "race", "workshop", "club", "newsletter panel")
CHOICES: dict[str, tuple[str, ...]] = {
    "T-shirt": ("S", "M", "L", "XL"),
    "Meal": ("Vegetarian", "Vegan", "Fish", "Any"),
    "Level of skill": ("Beginner", "Advanced", "Expert", "Teacher"),
    "Way of payment": ("Card", "Transfer", "Invoice", "Cash"),
}
RADIOS: dict[str, tuple[str, ...]] = {
    "Morning or evening": ("Morning", "Evening"),
    "Membership": ("New", "Renewal", "Guest"),
}
TICKS = ("I need parking", "I bring a guest", "Keep me on the waiting list")
NOTES = ("please call before", "arriving by train", "left-handed", "needs a ramp", "second time here")

_COUNT = (2, 3, 5, 8, 11, 13)
_STEPS = (1, 1, 1, 2, 2, 3)
_UNUSED = (0, 0, 1, 1, 2, 3)


class FormsFamily(SiteFamily):
    """One form to fill in. What counts is the record that the server has stored."""

    name = "forms"
    phrases: Mapping[str, tuple[str, ...]] = {
        "Age": ("How old you are", "Years of age", "Your age"),
        "Date of birth": ("Born on", "Birthday", "Birth date"),
        "Phone": ("Telephone", "Mobile number", "Call me at"),
        "Note": ("Comment", "Remark", "Anything else"),
        "Add a note": ("Write a comment", "More", "Leave a remark"),
        "Home town": ("Where you grew up", "Native town", "Place of origin"),
        "I want news by mail": ("Send me offers", "Keep me posted", "Yes to advertising"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return a form and what to write into it."""
        level = dials.difficulty
        pool = _pool(draw, level)
        first, rest = pool[:2], draw.shuffled(pool[2:])
        used = [*first, *rest][: _COUNT[level]]
        unused = [{**one, "value": ""} for one in [*first, *rest][_COUNT[level] :] if one["kind"] != "radio"]
        fields = draw.shuffled([*used, *unused[: _UNUSED[level]]]) if level >= 2 else used
        steps = _STEPS[level]
        record = {}
        for number, one in enumerate(fields):
            one["id"] = f"x{number}"
            one["step"] = number * steps // len(fields)
            record[one["id"]] = one["value"] or _empty(one)
        purpose = draw.one(PURPOSES)
        data = {
            "purpose": purpose,
            "fields": [{key: value for key, value in one.items() if key != "value"} for one in fields],
            "steps": steps,
            "news": level >= 3,
            "forgets": level >= 4,
        }
        asked = "; ".join(f"{one['label']}: {one['value']}" for one in fields if one["value"])
        instruction = f"Fill in and send the form for the {purpose} at {{brand}}. {asked}."
        if level >= 2:
            instruction += " Leave the rest empty."
        if data["news"]:
            instruction += " No news by mail."
        state = {"draft": {}, "records": [], "notice": ""}
        return Brief(instruction, data, state, {"record": record})

    # ------------------------------------------------------------------ pages

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        step = min(request.number("step", 0), level.data["steps"] - 1)
        if request.method == "POST":
            return self._store(level, state, request, step) if request.path == "/" else Response.redirect("/")
        notice, state["notice"] = state["notice"], ""
        if request.path == "/sent":
            return render(level, state, "forms/sent.html")
        if request.path != "/":
            return not_found(level, state)
        fields = ordered(level, [one for one in level.data["fields"] if one["step"] == step])
        last = step == level.data["steps"] - 1
        return render(level, state, "forms/form.html", notice=notice, fields=fields, step=step, last=last)

    def _store(self, level: WebLevel, state: State, request: Request, step: int) -> Response:
        fields = [one for one in level.data["fields"] if one["step"] == step]
        values = {one["id"]: request.get(one["id"])[:500].strip() or _empty(one) for one in fields}
        missing = [one["label"] for one in fields if one["required"] and not values[one["id"]]]
        if missing:
            state["notice"] = "Something is missing."
            state["draft"].update({one["id"]: "" for one in fields} if level.data["forgets"] else values)
            return Response.redirect(f"/?step={step}")
        state["draft"].update(values)
        if step < level.data["steps"] - 1:
            return Response.redirect(f"/?step={step + 1}")
        if level.data["news"]:
            state["draft"]["news"] = "yes" if request.get("news") else "no"
        if len(state["records"]) < 50:
            state["records"].append(state["draft"])
        state["draft"] = {}
        return Response.redirect("/sent")

    # ------------------------------------------------------------------ the task

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """Each step filled in rightly, and one right record."""
        record = level.goal["record"]
        stored = [one for one in state["records"] if _is_right(level, one)]
        steps = []
        for step in range(level.data["steps"]):
            ids = [one["id"] for one in level.data["fields"] if one["step"] == step]
            steps.append(bool(stored) or all(state["draft"].get(i) == record[i] for i in ids))
        return [*steps, bool(stored)]

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Records that are wrong, or one too many."""
        right = sum(_is_right(level, one) for one in state["records"])
        wrong = len(state["records"]) - right
        return ["sent a wrong form"] * wrong + ["sent the form twice"] * max(0, right - 1)

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Fill in step by step."""
        w, record = level.word, level.goal["record"]
        for step in range(level.data["steps"]):
            for one in level.data["fields"]:
                value = record[one["id"]]
                if one["step"] == step and value not in ("", "no"):
                    yield from _fill(level, one, value)
            last = step == level.data["steps"] - 1
            if last and level.data["news"]:
                yield OracleStep("click", "checkbox", w("I want news by mail"))
            yield OracleStep("click", "button", w("Submit") if last else w("Next"))


def _fill(level: WebLevel, one: Mapping[str, Any], value: str) -> Iterator[OracleStep]:
    label = level.word(one["label"])
    match one["kind"]:
        case "select":
            yield OracleStep("select", "combobox", label, text=value)
        case "radio":
            yield OracleStep("click", "radio", value, near=label)
        case "tick":
            yield OracleStep("click", "checkbox", label)
        case "note":
            yield OracleStep("click", "button", level.word("Add a note"))
            yield OracleStep("type", "textbox", label, text=value)
        case "town":
            yield OracleStep("type", "combobox", label, text=value)
        case _:
            yield OracleStep("type", "textbox", label, text=value)


def _is_right(level: WebLevel, record: Mapping[str, str]) -> bool:
    wanted = {**level.goal["record"], **({"news": "no"} if level.data["news"] else {})}
    return _folded(record) == _folded(wanted)


def _folded(record: Mapping[str, str]) -> dict[str, str]:
    return {name: " ".join(text.lower().split()) for name, text in record.items()}


def _empty(one: Mapping[str, Any]) -> str:
    """Return what a field holds that nobody touched."""
    return "no" if one["kind"] == "tick" else ""


def _pool(draw: SeededRandom, level: int) -> list[dict[str, Any]]:
    """Return the fields a form can have, with values; the first two are in every form."""
    address = draw_address(draw)
    pool = [_one("Name", "text", address["Name"]), _one("City", "text", address["City"])]
    pool.append(_one("Email", "email", email_of(address["Name"])))
    if level >= 2:
        month, day = draw.between(1, 12), draw.between(1, 28)
        pool += [
            _one("Age", "number", str(draw.between(18, 90))),
            _one("Date of birth", "date", f"{draw.between(1940, 2005)}-{month:02d}-{day:02d}"),
            _one("Phone", "tel", f"0{draw.between(100, 999)} {draw.between(100000, 999999)}"),
            _one("Street", "text", address["Street"]),
            _one("Note", "note", draw.one(NOTES)),
            _one("Home town", "town", draw.one(CITIES), CITIES),
            *(_one(label, "select", draw.one(values), values) for label, values in CHOICES.items()),
            *(_one(label, "radio", draw.one(values), values) for label, values in RADIOS.items()),
            *(_one(label, "tick", "yes") for label in draw.some(TICKS, 2)),
        ]
    for one in pool[:2]:
        one["required"] = True
    return pool


def _one(label: str, kind: str, value: str, options: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"label": label, "kind": kind, "value": value, "options": list(options), "required": False}


register(FormsFamily())
