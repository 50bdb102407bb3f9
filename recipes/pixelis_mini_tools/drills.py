"""Drills: the last turn of an episode by itself, or a whole one of which nothing was rendered.

An episode has some hundred tokens, of which a handful show what is larger or what a digit comes to; a drill
shows little else. Where a line must be found, question and looks stand as in the episode, since how far back
the question is makes it hard. The numbers are random, in the ranges of the scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from pixelis_mini_vl.aloud import columns, combined, compared

from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.receipt_sum.question import decimal_text
from pixelis.envs.pixel.receipt_sum.sample import ADJECTIVES, NOUNS, SHOPS
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, PALETTE
from pixelis_mini_tools.scan import scanned
from pixelis_mini_tools.sheets import FACTOR, LOOKS, asked_part, drawing
from pixelis_mini_tools.words import TOOLS

Turns = tuple[tuple[str, str], ...]
"""What is read and what is said to it, in order."""

STEPS = {"largest": 0.2, "smallest": 0.1, "lowest": 0.15, "highest": 0.15, "together": 0.4}
KINDS = ("group", "lowest", "highest")


def shares(rng: np.random.Generator) -> Turns:
    """Two to four areas, and which is the largest, or the smallest."""
    rows = _areas(rng)
    smallest = bool(rng.random() < 0.3)
    said, best = compared(rows, smallest=smallest)
    asked = ", ".join(f"{name} {share}" for name, share in rows)
    return ((f"{'smallest' if smallest else 'largest'}: {asked}", f"{said} {answer(best)}"),)


def properties(rng: np.random.Generator) -> Turns:
    """The same in the words of GET_PROPERTIES."""
    rows = _areas(rng)
    places = ("top", "centre", "bottom", "left", "right", "top left", "bottom right")
    lines = [
        f"colour {name}, area_share {share}, circularity {rng.uniform(0.5, 1):.3g}, "
        f"solidity {rng.uniform(0.9, 1):.3g}, aspect_ratio {rng.uniform(1, 2):.3g}, "
        f"orientation_degrees {rng.uniform(-90, 90):.3g}, position {rng.choice(places)}"
        for name, share in rows
    ]
    said, best = compared(rows)
    names = ", ".join(name for name, _ in rng.permutation(np.array(rows, dtype=object)))
    read = "\n".join([f"Which shape shows the largest area: {names}?", *lines])
    return ((read, f"{said} {answer(best)}"),)


def amounts(rng: np.random.Generator) -> Turns:
    """Two to four amounts, and what they come to or the lowest or highest."""
    rows = [(name, cents) for name, cents in _lines(rng, int(rng.integers(2, 5)))]
    kind = str(rng.choice(KINDS, p=(0.7, 0.15, 0.15)))
    said, result = combined(rows, kind)
    asked = ", ".join(f"{name} {decimal_text(cents)}" for name, cents in rows)
    word = "together" if kind == "group" else kind
    return ((f"{word}: {asked}", f"{said} {answer(decimal_text(result))}"),)


def receipts(rng: np.random.Generator) -> Turns:
    """A receipt and a question about some of its lines."""
    nouns = [str(noun) for noun in rng.permutation(NOUNS)[:3]]
    names = [f"{adjective} {noun}" for noun in nouns for adjective in rng.permutation(ADJECTIVES)[:4]]
    page = [(str(name), _cents(rng)) for name in rng.permutation(names)[: int(rng.integers(7, 11))]]
    counts = [sum(noun in name for name, _ in page) for noun in nouns]
    noun, kind = nouns[int(np.argmax(counts))], str(rng.choice(("named", *KINDS)))
    if kind == "named":
        rows = [page[i] for i in rng.permutation(len(page))[: int(rng.integers(2, 4))]]
        asked = [name for name, _ in rows]
        said, result = combined(rows, kind)
        question = f"What do these receipt lines come to together: {', '.join(asked[:-1])} and {asked[-1]}?"
    else:
        said, found = scanned(page, noun, kind)
        result = found or 0
        question = {
            "group": f"What do all receipt lines with {noun} come to together?",
            "lowest": f"What is the lowest amount among the receipt lines with {noun}?",
            "highest": f"What is the highest amount among the receipt lines with {noun}?",
        }[kind]
    left, top = rng.uniform(0.1, 0.6), rng.uniform(0.05, 0.5)
    shop, look = str(rng.choice(SHOPS)), [round(left + 0.06, 2), round(top + 0.14, 2)]
    total = [("TOTAL", sum(cents for _, cents in page))]
    return (
        (f"{question} Answer with an amount to the cent.{TOOLS}", call("READ_TEXT")),
        (f"{shop} {_box(left, top)}", call("ZOOM", center=look, factor=3) + call("READ_TEXT")),
        (
            f"{_view(look)}\n{shop} {_box(left, top)}\n{_printed(rng, [*page, *total], left, top + 0.05)}",
            f"{said} {answer(decimal_text(result))}",
        ),
    )


def plates(rng: np.random.Generator) -> Turns:
    """One to four looks at a car in the words of the tools, of which one shows a code."""
    code, last = sample_codes(rng, 1, "train")[0], int(rng.integers(20, 48))
    frames = np.sort(rng.choice(last, int(rng.integers(1, 5)), replace=False))
    shown, (x, y) = int(rng.integers(len(frames))), rng.uniform(0.1, 0.9, 2)
    lines = []
    for i, frame in enumerate(frames):
        x += rng.uniform(-0.03, 0.03)
        view = f"[{max(x - 0.1, 0):.2f}, {max(y - 0.1, 0):.2f}, {min(x + 0.1, 1):.2f}, {min(y + 0.1, 1):.2f}]"
        box = f"[{x:.2f}, {y:.2f}, {x + 0.03:.2f}, {y + 0.01:.2f}]"
        read = f"{code} {box}" if i == shown else "No text can be read here."
        lines.append(f"Frame {frame} of 0 to {last}, view {view}.\nView {view}.\n{read}")
    return (("\n".join(lines), answer(code)),)


def steps(rng: np.random.Generator) -> Turns:
    """Eight single steps without names: two numbers, and which it is or what they come to."""
    word = str(rng.choice(list(STEPS), p=list(STEPS.values())))
    least = word in ("smallest", "lowest")
    said = []
    for _ in range(8):
        if word in ("largest", "smallest"):
            (_, a), (_, b), *_ = _areas(rng)
            said.append(f"{a} {b}: {min(a, b) if least else max(a, b)}.")
            continue
        a, b = _cents(rng), _cents(rng)
        if word == "together":
            a += int(rng.integers(0, 3)) * _cents(rng)  # as far as a sum has come
            result = f"{columns(a, b)[0]} {decimal_text(a + b)}"
        else:
            result = decimal_text(min(a, b) if least else max(a, b))
        said.append(f"{decimal_text(a)} {decimal_text(b)}: {result}.")
    return ((word, " ".join(said)),)


def lookups(rng: np.random.Generator) -> Turns:
    """A page in the words of READ_TEXT, and eight of its lines in another order: each shows once more how."""
    kind = str(rng.choice(("amounts", "board", "goods", "lockers"), p=(0.2, 0.15, 0.15, 0.5)))
    if kind == "amounts":
        names = [f"{adjective} {rng.choice(NOUNS)}" for adjective in rng.permutation(ADJECTIVES)[:9]]
        page = [(name, _cents(rng)) for name in names]
        rows = [(name, decimal_text(cents)) for name, cents in page]
        read = _printed(rng, page, *rng.uniform(0.1, 0.5, 2))
    else:
        rows, looks = {"board": _board, "goods": _goods, "lockers": _lockers}[kind](rng)
        some = looks[: 1 + (rng.random() < 0.3)] if kind == "lockers" else looks
        read = "\n".join(line for look in some for line in look)
        rows = [row for row in rows if f"\n{row[0]} " in f"\n{read}"] if kind == "lockers" else rows
    asked = [rows[i] for i in rng.permutation(len(rows))[:8]]
    return ((read, " ".join(f"{' '.join(row)}." for row in asked)),)


def boards(rng: np.random.Generator) -> Turns:
    """A departure board, its rows whole or in pieces, and a question about one."""
    rows, looks = _board(rng)
    row = rows[int(rng.integers(len(rows)))]
    question, how = _drawn(
        rng,
        (f"Which platform does the train to {row[0]} leave from?", "Answer with one number."),
        (f"When does the train to {row[0]} leave?", "Answer with the text alone."),
    )
    said = f"{' '.join(row)}. {answer(asked_part(question, row))}"
    return _looked(f"{question}\n{how}", "board", looks, said)


def goods(rng: np.random.Generator) -> Turns:
    """A sheet with what goods cost, and a question about one of them."""
    rows, looks = _goods(rng)
    row = rows[int(rng.integers(len(rows)))]
    question = "What is the total?" if row[0] == "Total" else f"What does the {row[0].lower()} cost?"
    said = f"{' '.join(row)}. {answer(row[-1])}"
    return _looked(f"{question}\nAnswer with one number.", "receipt", looks, said)


def plates_of_lockers(rng: np.random.Generator) -> Turns:
    """A wall of numbers, and the place of one."""
    rows, looks = _lockers(rng)
    number, at = rows[int(rng.integers(len(rows)))]
    question = f"Point at locker {number}.\nAnswer with a point [x, y] in 0-1 of the scene."
    return _looked(question, "lockers", looks, f"{number} {at}. {answer(at)}")


DRILLS: Mapping[Callable[[np.random.Generator], Turns], float] = {
    steps: 0.24,
    lookups: 0.24,
    shares: 0.08,
    properties: 0.14,
    amounts: 0.08,
    receipts: 0.12,
    boards: 0.03,
    goods: 0.02,
    plates_of_lockers: 0.03,
    plates: 0.02,
}
"""Drill → its share."""


def drills(count: int, seed: int = 0) -> Iterator[Turns]:
    """Yield so many drills, in random order."""
    rng = np.random.default_rng([seed, 11])
    kinds = list(DRILLS)
    for kind in rng.choice(len(kinds), count, p=list(DRILLS.values())):
        yield kinds[kind](rng)


Row = tuple[str, ...]
"""Of a page: what it is about, then what is told of it."""


def _board(rng: np.random.Generator) -> tuple[list[Row], list[list[str]]]:
    """Return the twelve rows of a departure board and the lines of its four looks; two are seen twice."""
    names = rng.permutation([*drawing().CITIES, *ADJECTIVES])[:12]
    rows = [(str(name), str(rng.integers(10, 100)), _time(rng)) for name in names]
    looks: list[list[str]] = []
    for part in ((0, 1, 2, 3), (3, 4, 5), (6, 7, 8, 9), (9, 10, 11)):
        lines: list[str] = []
        for number in part:
            city, platform, time = rows[number]
            x, y = 0.06 + 0.5 * (number // 6), 0.28 + 0.08 * (number % 6)
            pieces = [time, city, f"Platform {platform}"]
            for cut in (1, 0):  # behind the city, behind the time
                if rng.random() > 0.3:
                    pieces[cut : cut + 2] = [" ".join(pieces[cut : cut + 2])]
            for piece in pieces:
                lines.append(f"{piece} {_box(x, y)}")
                x += 0.03
        looks.append(lines)
    return list(rows), looks


def _goods(rng: np.random.Generator) -> tuple[list[Row], list[list[str]]]:
    """Return what goods cost, and the lines of the three looks at the sheet, the date among them."""
    names = rng.permutation([*drawing().GOODS, *NOUNS])[:12]
    rows = [(name, f"${_cents(rng) / 100:.2f}") for name in dict.fromkeys(map(str, names))]
    rows.append(("Total", f"${rng.integers(6000, 16000) / 100:.2f}"))
    lines = [f"{' '.join(row)} {_box(0.38, 0.15 + 0.055 * number)}" for number, row in enumerate(rows)]
    date = str(rng.choice(("October 21st", "May 2nd", "June 3rd", "April 11th", "March 30th")))
    return list(rows), [[f"{date} {_box(0.38, 0.08)}", *lines[:4]], lines[4:9], lines[9:]]


def _lockers(rng: np.random.Generator) -> tuple[list[Row], list[list[str]]]:
    """Return forty numbers with their places as `[x, y]`, and the lines of the six looks at the wall."""
    numbers, shift = rng.permutation(np.arange(100, 1000))[:40], rng.uniform(-0.02, 0.04, 2)
    places = [(0.07 + shift[0] + 0.12 * (i % 8), 0.25 + shift[1] + 0.11 * (i // 8)) for i in range(40)]
    rows = [(str(number), f"[{x:.2f}, {y:.2f}]") for number, (x, y) in zip(numbers, places, strict=True)]
    lines = [f"{number} {_box(*place)}" for number, place in zip(numbers, places, strict=True)]
    return list(rows), [
        [lines[8 * row + column] for row in at for column in columns_of]
        for at in ((0, 1, 2), (2, 3, 4))
        for columns_of in ((0, 1, 2), (3, 4), (5, 6, 7))
    ]


def _looked(question: str, kind: str, looks: Sequence[Sequence[str]], said: str) -> Turns:
    """Return the question, the looks at a sheet of that kind with what they show, and what is said."""
    calls = [call("ZOOM", center=list(at), factor=FACTOR) + call("READ_TEXT") for at in LOOKS[kind]]
    shown = [f"{_view(at)}\n" + "\n".join(look) for at, look in zip(LOOKS[kind], looks, strict=True)]
    return ((f"{question}{TOOLS}", "".join(calls)), ("\n".join(shown), said))


def _drawn(rng: np.random.Generator, *choices: tuple[str, str]) -> tuple[str, str]:
    return choices[int(rng.integers(len(choices)))]


def _view(at: Sequence[float]) -> str:
    x, y = (min(max(value, 0.17), 0.83) for value in at)
    return f"View [{x - 0.17:.2f}, {y - 0.17:.2f}, {x + 0.17:.2f}, {y + 0.17:.2f}]."


def _box(x: float, y: float) -> str:
    return f"[{x:.2f}, {y:.2f}, {x + 0.04:.2f}, {y + 0.01:.2f}]"


def _printed(rng: np.random.Generator, page: Sequence[tuple[str, int]], left: float, top: float) -> str:
    right = left + rng.uniform(0.15, 0.25)
    return "\n".join(
        f"{text} {_box(x, top + 0.02 * row)}"
        for row, (name, cents) in enumerate(page)
        for text, x in ((name, left), (decimal_text(cents), right))
    )


def _areas(rng: np.random.Generator) -> list[tuple[str, float]]:
    names = rng.permutation(BASE_COLOURS if rng.random() < 0.8 else list(PALETTE))[: int(rng.integers(2, 5))]
    most = rng.uniform(0.005, 0.03)
    values: set[float] = set()
    while len(values) < len(names):
        values.add(float(f"{most * rng.uniform(0.5, 1):.3g}"))
    return list(zip(map(str, names), rng.permutation(list(values)).tolist(), strict=True))


def _lines(rng: np.random.Generator, count: int) -> list[tuple[str, int]]:
    noun = str(rng.choice(NOUNS))
    return [(f"{adjective} {noun}", _cents(rng)) for adjective in rng.permutation(ADJECTIVES)[:count]]


def _time(rng: np.random.Generator) -> str:
    return f"{rng.integers(6, 23):02d}:{rng.integers(0, 60):02d}"


def _cents(rng: np.random.Generator) -> int:
    return int(rng.integers(100, 2500))
