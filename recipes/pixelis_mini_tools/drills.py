"""Drills: the last turn of an episode by itself, without the episode.

An episode has some hundred tokens, of which a handful show what is larger or what a digit comes to; a drill
shows little else, and nothing has to be rendered for it. The numbers are random, in the ranges of the scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from pixelis_mini_vl.aloud import columns, combined, compared

from pixelis.envs.pixel.base.scripted_turns import answer
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.receipt_sum.question import decimal_text
from pixelis.envs.pixel.receipt_sum.sample import ADJECTIVES, NOUNS
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, PALETTE
from pixelis_mini_tools.sheets import asked_part, drawing

Turn = tuple[str, str]
"""What is read, and what is said to it."""

STEPS = {"largest": 0.25, "smallest": 0.1, "lowest": 0.1, "highest": 0.1, "together": 0.45}
KINDS = ("group", "lowest", "highest")


def shares(rng: np.random.Generator) -> Turn:
    """Two to four areas, and which is the largest, or the smallest."""
    rows = _areas(rng)
    smallest = bool(rng.random() < 0.3)
    said, best = compared(rows, smallest=smallest)
    asked = ", ".join(f"{name} {share}" for name, share in rows)
    return f"{'smallest' if smallest else 'largest'}: {asked}", f"{said} {answer(best)}"


def properties(rng: np.random.Generator) -> Turn:
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
    return f"Which shape shows the largest area: {names}?\n" + "\n".join(lines), f"{said} {answer(best)}"


def amounts(rng: np.random.Generator) -> Turn:
    """Two to four amounts, and what they come to or the lowest or highest."""
    rows = [(name, cents) for name, cents in _lines(rng, int(rng.integers(2, 5)))]
    kind = str(rng.choice(KINDS, p=(0.7, 0.15, 0.15)))
    said, result = combined(rows, kind)
    asked = ", ".join(f"{name} {decimal_text(cents)}" for name, cents in rows)
    word = "together" if kind == "group" else kind
    return f"{word}: {asked}", f"{said} {answer(decimal_text(result))}"


def receipts(rng: np.random.Generator) -> Turn:
    """A short page in the words of READ_TEXT, and a question about some of its lines."""
    noun, *others = rng.permutation(NOUNS)[:3]
    names = [f"{adjective} {noun}" for adjective in rng.permutation(ADJECTIVES)[: int(rng.integers(2, 5))]]
    rest = [
        f"{adjective} {rng.choice(others)}"
        for adjective in rng.permutation(ADJECTIVES)[: int(rng.integers(1, 4))]
    ]
    page = [(str(name), _cents(rng)) for name in rng.permutation([*names, *rest])]
    kind = str(rng.choice(("named", *KINDS)))
    if kind == "named":
        asked = [str(name) for name in rng.permutation([name for name, _ in page])[:2]]
        question = f"What do these receipt lines come to together: {' and '.join(asked)}?"
    else:
        asked = [name for name, _ in page if name.split()[1] == noun]
        question = {
            "group": f"What do all receipt lines with {noun} come to together?",
            "lowest": f"What is the lowest amount among the receipt lines with {noun}?",
            "highest": f"What is the highest amount among the receipt lines with {noun}?",
        }[kind]
    said, result = combined([row for row in page if row[0] in asked], kind)
    return f"{question}\n{_printed(rng, page)}", f"{said} {answer(decimal_text(result))}"


def plates(rng: np.random.Generator) -> Turn:
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
    return "\n".join(lines), answer(code)


def steps(rng: np.random.Generator) -> Turn:
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
            result = f"{columns(a, b)} {decimal_text(a + b)}"
        else:
            result = decimal_text(min(a, b) if least else max(a, b))
        said.append(f"{decimal_text(a)} {decimal_text(b)}: {result}.")
    return word, " ".join(said)


def lookups(rng: np.random.Generator) -> Turn:
    """A page in the words of READ_TEXT, and the amounts of its lines in another order."""
    count = int(rng.integers(5, 9))
    names = zip(rng.permutation(ADJECTIVES)[:count], rng.choice(NOUNS, count), strict=True)
    page = [(f"{adjective} {noun}", _cents(rng)) for adjective, noun in names]
    asked = [page[i] for i in rng.permutation(count)[:6]]
    return _printed(rng, page), " ".join(f"{name} {decimal_text(cents)}." for name, cents in asked)


def boards(rng: np.random.Generator) -> Turn:
    """A departure board in the words of READ_TEXT, its rows whole or in pieces, and a question about one."""
    names, lines = rng.permutation([*drawing().CITIES, *ADJECTIVES])[:12], []
    rows = [(str(name), str(rng.integers(10, 100)), _time(rng)) for name in names]
    for number, (city, platform, time) in enumerate(rows):
        x, y = 0.06 + 0.5 * (number // 6), 0.28 + 0.08 * (number % 6)
        pieces = [time, city, f"Platform {platform}"]
        for cut in (1, 0):  # behind the city, behind the time
            if rng.random() > 0.3:
                pieces[cut : cut + 2] = [" ".join(pieces[cut : cut + 2])]
        for piece in pieces:
            lines.append(f"{piece} [{x:.2f}, {y:.2f}, {x + 0.04:.2f}, {y + 0.01:.2f}]")
            x += 0.03
    row = rows[int(rng.integers(len(rows)))]
    questions = (
        f"Which platform does the train to {row[0]} leave from?",
        f"When does the train to {row[0]} leave?",
    )
    question = str(rng.choice(questions))
    return f"{question}\n" + "\n".join(lines), f"{' '.join(row)}. {answer(asked_part(question, row))}"


def plates_of_lockers(rng: np.random.Generator) -> Turn:
    """A wall of numbers in the words of READ_TEXT, and the place of one."""
    numbers, lines = rng.permutation(np.arange(100, 1000))[: int(rng.integers(9, 41))], []
    shift, step = rng.uniform(0, 0.05, 2), rng.uniform(0.09, 0.12)
    for place, number in enumerate(numbers):
        x, y = 0.05 + shift[0] + step * (place % 8), 0.2 + shift[1] + step * (place // 8)
        lines.append(f"{number} [{x:.2f}, {y:.2f}, {x + 0.02:.2f}, {y + 0.01:.2f}]")
    asked = int(rng.integers(len(numbers)))
    at = lines[asked].split(" [")[1].split(", ")[:2]
    place = f"[{', '.join(at)}]"
    said = f"{numbers[asked]} {place}. {answer(place)}"
    return f"Point at locker {numbers[asked]}.\n" + "\n".join(rng.permutation(lines)), said


DRILLS: Mapping[Callable[[np.random.Generator], Turn], float] = {
    steps: 0.35,
    lookups: 0.07,
    shares: 0.1,
    properties: 0.1,
    amounts: 0.14,
    receipts: 0.12,
    boards: 0.06,
    plates_of_lockers: 0.04,
    plates: 0.02,
}
"""Drill → its share."""


def drills(count: int, seed: int = 0) -> Iterator[Turn]:
    """Yield so many drills, in random order."""
    rng = np.random.default_rng([seed, 11])
    kinds = list(DRILLS)
    for kind in rng.choice(len(kinds), count, p=list(DRILLS.values())):
        yield kinds[kind](rng)


def _printed(rng: np.random.Generator, page: Sequence[tuple[str, int]]) -> str:
    left, right, top = rng.uniform(0.1, 0.4), rng.uniform(0.5, 0.9), rng.uniform(0.1, 0.5)
    lines = []
    for row, (name, cents) in enumerate(page):
        y0 = top + 0.02 * row
        for text, x in ((name, left), (decimal_text(cents), right)):
            lines.append(f"{text} [{x:.2f}, {y0:.2f}, {x + 0.04:.2f}, {y0 + 0.01:.2f}]")
    return "\n".join(lines)


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
