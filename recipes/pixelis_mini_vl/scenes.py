"""Tasks to demonstrate: several questions about each scene, and what can be seen in its first view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.envs.pixel.chart_read.env import ask_for as ask_value
from pixelis.envs.pixel.chart_read.env import asked_point
from pixelis.envs.pixel.count_tiny.env import ask_for as ask_count
from pixelis.envs.pixel.count_tiny.scene import CountScene
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion, decimal_text
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene
from pixelis.envs.pixel.size_compare.scene import SUBPIXELS, SizeScene
from pixelis.envs.pixel.track_read.env import target_car
from pixelis.envs.pixel.wire_trace.env import ask_for as ask_end
from pixelis.envs.pixel.wire_trace.env import asked_cable
from pixelis.envs.pixel.wire_trace.grid import follow
from pixelis.envs.pixel.zoom_read.env import ask_for as ask_sign
from pixelis.envs.pixel.zoom_read.env import target_sign
from pixelis.envs.tasks import Task
from pixelis_mini_vl.routine import near
from pixelis_mini_vl.routines import colour_of

MOST_QUESTIONS = 6
Words = tuple[str, str]
"""What is given, and what is to be said: "green sign " and "0.3 0.7"."""


def tasks_of(task: Task, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield a task and others about the same scene, as reset options take them."""
    first = task.to_json()
    yield first
    others = list(_OTHERS.get(task.family, _none)(task))
    for index in rng.permutation(len(others))[: MOST_QUESTIONS - 1]:
        question, truth, data = others[int(index)]
        if question != task.question:
            yield {**first, "question": question, "answer": truth, "data": {**task.data, **data}}


def seen_in(task: Task) -> list[Words]:
    """Return what the first view of a task shows: names or places, and the places that go with them."""
    return _SEEN.get(task.family, _nothing)(task)


Other = tuple[str, str, dict[str, Any]]


def _none(task: Task) -> Iterator[Other]:
    return iter(())


def _nothing(task: Task) -> list[Words]:
    return []


def _signs(task: Task) -> Iterator[Other]:
    scene, _ = target_sign(task)
    for index, sign in enumerate(scene.signs):
        yield ask_sign(sign.colour, sign.kind), sign.code, {"target": index}


def _counts(task: Task) -> Iterator[Other]:
    scene = CountScene.from_json(task.data["scene"])
    for colour in dict.fromkeys(colour for colour, _ in scene.looks):
        yield ask_count(colour, None), str(scene.count(colour, None)), {"colour": colour, "kind": None}


def _sums(task: Task) -> Iterator[Other]:
    scene = ReceiptScene.from_json(task.data["scene"])
    nouns = Counter(item.name.split()[-1] for item in scene.lines)
    asks = [
        ReceiptQuestion(kind, (noun,))
        for noun, count in nouns.items()
        if 2 <= count <= 4
        for kind in ("group", "lowest", "highest")
    ]
    names = [item.name for item in scene.lines]
    asks += [
        ReceiptQuestion("named", (first, second)) for first, second in zip(names, names[3:], strict=False)
    ]
    for ask in asks:
        yield ask.text(scene), decimal_text(ask.answer(scene)), {"ask": ask.to_json()}


def _ends(task: Task) -> Iterator[Other]:
    scene, *_ = asked_cable(task)
    for start, code in enumerate(scene.codes):
        yield ask_end(code), scene.codes[follow(scene.tiles, scene.grid, start)[0]], {"start": start}


def _values(task: Task) -> Iterator[Other]:
    scene, series, _ = asked_point(task)
    unit = scene.title.rpartition(" ")[2]
    row = scene.series[series]
    for category, name in enumerate(scene.categories):
        question = ask_value(name, f"in the {row.colour} series", unit)
        yield question, f"{scene.value(series, category):.5g} {unit}", {"category": category}


_OTHERS = {
    "zoom_read": _signs,
    "count_tiny": _counts,
    "receipt_sum": _sums,
    "wire_trace": _ends,
    "chart_read": _values,
}


def _at(place: Sequence[float] | np.ndarray, step: float = 0.1) -> str:
    x, y = place
    return f"{near(float(min(x, 0.99)), step)} {near(float(min(y, 0.99)), step)}"


def _see_signs(task: Task) -> list[Words]:
    scene, _ = target_sign(task)
    return [(f"{s.colour} {s.kind} ", _at(np.asarray(s.center) / scene.size)) for s in scene.signs]


def _see_shapes(task: Task) -> list[Words]:
    scene = SizeScene.from_json(task.data["scene"])
    middles = [np.asarray(shape.corners).mean(0) / (scene.size * SUBPIXELS) for shape in scene.shapes]
    return [(f"{s.colour} ", _at(middle, 0.05)) for s, middle in zip(scene.shapes, middles, strict=True)]


def _see_page(task: Task) -> list[Words]:
    scene = ReceiptScene.from_json(task.data["scene"])
    width, height = scene.size
    middle = (scene.left + width / 2) / scene.side, (scene.top + height / 2) / scene.side
    return [("page ", _at(middle, 0.05))]


def _see_cables(task: Task) -> list[Words]:
    scene, *_ = asked_cable(task)
    places = [np.asarray(sign.center) / scene.side for sign in scene.labels().signs]
    return [
        (
            f"{_at(places[port], 0.05)} ",
            f"{colour_of(scene, port)} {_at(places[follow(scene.tiles, scene.grid, port)[0]], 0.05)}",
        )
        for port in range(len(scene.codes))
    ]


def _see_bars(task: Task) -> list[Words]:
    scene, series, _ = asked_point(task)
    boxes = [scene.bar(series, category) for category in range(len(scene.categories))]
    return [
        (f"{near((left + right) / 2 / scene.size)} ", f"{near(top / scene.size)}")
        for left, top, right, _ in boxes
    ]


def _see_cars(task: Task) -> list[Words]:
    scene, _ = target_car(task)
    boxes = [(car.colour, car.box(0)) for car in scene.vehicles if car.code]
    found = [(colour, (b[0] + b[2]) / 2 / scene.size, (b[1] + b[3]) / 2 / scene.size) for colour, b in boxes]
    return [(f"{_at((x, y), 0.05)} ", colour) for colour, x, y in found if 0.05 < x < 0.95]


@dataclass(frozen=True)
class Thing:
    """Something in the first view, for the patches that show it.

    Attributes:
        word: what they should say: a colour, or ``PAGE``.
        box: where it is, 0-1 of the view.
        place: the place that goes with it, 0-1 of the view: its middle, or where its cable ends.
    """

    word: str
    box: tuple[float, float, float, float]
    place: tuple[float, float]


PAGE = "page"
Numbers = Sequence[float] | np.ndarray


def things_in(task: Task) -> list[Thing]:
    """Return the things that the first view of a task shows."""
    return _THINGS.get(task.family, _no_things)(task)


def _no_things(task: Task) -> list[Thing]:
    return []


def _thing(word: str, box: Numbers, size: float, place: Numbers | None = None) -> Thing:
    x0, y0, x1, y1 = (float(v) / size for v in box)
    return Thing(
        word, (x0, y0, x1, y1), ((x0 + x1) / 2, (y0 + y1) / 2) if place is None else (place[0], place[1])
    )


def _things_signs(task: Task) -> list[Thing]:
    scene, _ = target_sign(task)
    return [_thing(sign.colour, sign.box(scene.size), 1) for sign in scene.signs]


def _things_shapes(task: Task) -> list[Thing]:
    scene = SizeScene.from_json(task.data["scene"])
    corners = [(s.colour, np.asarray(s.corners) / SUBPIXELS) for s in scene.shapes]
    return [_thing(colour, (*at.min(0), *at.max(0)), scene.size) for colour, at in corners]


def _things_cars(task: Task) -> list[Thing]:
    scene, _ = target_car(task)
    boxes = [(car.colour, np.clip(car.box(0), 0, scene.size)) for car in scene.vehicles if car.code]
    return [_thing(colour, box, scene.size) for colour, box in boxes if box[0] < box[2]]


def _things_page(task: Task) -> list[Thing]:
    scene = ReceiptScene.from_json(task.data["scene"])
    width, height = scene.size
    return [_thing(PAGE, (scene.left, scene.top, scene.left + width, scene.top + height), scene.side)]


def _things_ports(task: Task) -> list[Thing]:
    scene, *_ = asked_cable(task)
    places = [np.asarray(sign.center) / scene.side for sign in scene.labels().signs]
    found = []
    for port, (x, y) in enumerate(places):
        box = (x - 0.04, y - 0.03, x + 0.04, y + 0.03)
        found.append(_thing(colour_of(scene, port), box, 1, places[follow(scene.tiles, scene.grid, port)[0]]))
    return found


def _things_bars(task: Task) -> list[Thing]:
    scene, *_ = asked_point(task)
    found = []
    for index, row in enumerate(scene.series):
        for category in range(len(scene.categories)):
            left, top, right, bottom = scene.bar(index, category)
            place = ((left + right) / 2 / scene.size, top / scene.size)
            found.append(_thing(row.colour, (left, top, right, bottom), scene.size, place))
    return found


_THINGS = {
    "zoom_read": _things_signs,
    "size_compare": _things_shapes,
    "track_read": _things_cars,
    "receipt_sum": _things_page,
    "wire_trace": _things_ports,
    "chart_read": _things_bars,
}

_SEEN = {
    "zoom_read": _see_signs,
    "size_compare": _see_shapes,
    "receipt_sum": _see_page,
    "wire_trace": _see_cables,
    "chart_read": _see_bars,
    "track_read": _see_cars,
}
