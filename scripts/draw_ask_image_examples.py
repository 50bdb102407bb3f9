"""Draw the images that ``Pixelis/AskImage-v0`` asks about when it is given no data, and write its questions.

Usage: python scripts/draw_ask_image_examples.py [--output FOLDER]

Four kinds of picture, eight of each to train on and four to test with: a departure board, a receipt, a wall
of lockers, a stack of crates. So many, because what was learnt of one of each (26 questions) said nothing of
others. All writing is too small for the first view. The same program and fonts give the same files.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pixelis.envs.pixel.ask_image.env import EXAMPLES
from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER

SEEDS = {"train": 1, "test": 2}
SHEETS = {"train": 8, "test": 4}
"""Of each kind."""
COLOURS_IN_FILE = 32
TEXT = 16  # pixels: 3 in the first view
INK, PAPER, WALL = (34, 36, 40), (250, 249, 245), (214, 210, 200)

CITIES = (
    *(
        "Lund",
        "Porto",
        "Graz",
        "Turku",
        "Cork",
        "Lyon",
        "Bergen",
        "Gdansk",
        "Trento",
        "Leiden",
        "Split",
        "Ghent",
    ),
    *("Malmo", "Vigo", "Basel", "Tampere"),
)
GOODS = (
    "Bread",
    "Tea",
    "Pears",
    "Cheese",
    "Honey",
    "Rice",
    "Olives",
    "Milk",
    "Soap",
    "Coffee",
    "Lentils",
    "Plums",
)
DATES = {
    "train": [
        ("October 21st", "Oct 21"),
        ("June 3rd", "3 June"),
        ("12th of May", "May 12"),
        ("August 30th", "Aug 30"),
        ("1st of July", "July 1"),
        ("April 22nd", "22 April"),
        ("9th of January", "Jan 9"),
        ("Nov 5", "5 November"),
    ],
    "test": [
        ("3rd of March", "March 3"),
        ("September 14th", "14 Sept"),
        ("Feb 2", "2nd of February"),
        ("July 31st", "31 July"),
    ],
}
"""Of every receipt of a split, its date as it is written and as the file of questions has it."""
CRATES = {"red": (196, 60, 52), "green": (70, 140, 84), "blue": (58, 98, 176), "yellow": (224, 186, 66)}

Region = dict[str, Any]
Row = dict[str, Any]
Date = tuple[str, str]


class Sheet:
    """A picture that knows where its writing is.

    Args:
        size: width and height, pixels.
        ground: its colour.
    """

    def __init__(self, size: tuple[int, int], ground: tuple[int, int, int]) -> None:
        self.image = Image.new("RGB", size, ground)
        self.draw = ImageDraw.Draw(self.image)

    def share(self, box: tuple[float, float, float, float]) -> list[float]:
        """Return a box in pixels as one in 0-1 of width and height."""
        width, height = self.image.size
        return [round(v / s, 5) for v, s in zip(box, (width, height, width, height), strict=True)]

    def write(self, place: tuple[int, int], text: str, ink: tuple[int, int, int] = INK) -> Region:
        """Write a line with its top left corner at a place; return it as a region of a row."""
        font = ImageFont.truetype(
            str(FONT_FOLDER / "LiberationSans-Bold.ttf"), TEXT, layout_engine=ImageFont.Layout.BASIC
        )
        self.draw.text(place, text, ink, font)
        x0, y0, x1, y1 = self.draw.textbbox(place, text, font)
        return {"box": self.share((x0 - 3, y0 - 3, x1 + 3, y1 + 3)), "text": text}


def ask(question: str, kind: str, truth: Any, look: list[Region], known: list[Region], **more: Any) -> Row:
    """Return a row: the oracle looks at ``look``; the other ``known`` texts may be read by mistake."""
    beside = [{**region, "look": False} for region in known if region not in look]
    return {"question": question, "answer": truth, "answer_type": kind, **more, "regions": [*look, *beside]}


def draw_board(rng: np.random.Generator, date: Date, asked: Sequence[int]) -> tuple[Image.Image, list[Row]]:
    """Return a departure board of 12 lines, and questions about some of them."""
    sheet = Sheet((2000, 1100), (24, 28, 36))
    cities = [CITIES[i] for i in rng.permutation(len(CITIES))[:12]]
    platforms = rng.permutation(np.arange(10, 100))[:12].tolist()
    times = [f"{rng.integers(6, 23):02d}:{rng.integers(0, 60):02d}" for _ in cities]
    lines = []
    for index, (time, city, platform) in enumerate(zip(times, cities, platforms, strict=True)):
        x, y = 120 + 1000 * (index % 2), 110 + 160 * (index // 2)
        sheet.draw.rectangle((x - 40, y - 40, x + 760, y + 70), fill=(36, 44, 56))
        lines.append(sheet.write((x, y), f"{time}   {city}   Platform {platform}", (240, 214, 120)))
    rows = []
    for index in asked:
        look, city = [lines[index]], cities[index]
        rows.append(
            ask(
                f"Which platform does the train to {city} leave from?",
                "number",
                platforms[index],
                look,
                lines,
            )
        )
        rows.append(ask(f"When does the train to {city} leave?", "text", times[index], look, lines))
    return sheet.image, rows


def draw_receipt(rng: np.random.Generator, date: Date, asked: Sequence[int]) -> tuple[Image.Image, list[Row]]:
    """Return a receipt of 12 goods, and questions about it."""
    sheet = Sheet((900, 2000), WALL)
    sheet.draw.rectangle((150, 60, 750, 1940), fill=PAPER)
    goods = [GOODS[i] for i in rng.permutation(len(GOODS))]
    prices = rng.integers(120, 1800, len(goods)).tolist()  # cents
    lines = [sheet.write((220, 160), date[0])]
    for index, (name, price) in enumerate(zip(goods, prices, strict=True)):
        lines.append(sheet.write((220, 300 + 110 * index), f"{name}   ${price / 100:.2f}"))
    total = f"${sum(prices) / 100:.2f}"
    lines.append(sheet.write((220, 1750), f"Total   {total}"))
    rows = [
        ask(f"What does the {goods[i].lower()} cost?", "number", prices[i] / 100, [lines[i + 1]], lines)
        for i in asked
    ]
    rows.append(ask("What is the total?", "number", total, [lines[-1]], lines))
    rows.append(ask("Which day is it from?", "text", date[1], [lines[0]], lines))
    return sheet.image, rows


def draw_lockers(
    rng: np.random.Generator,
    date: Date,
    boxes_of: Sequence[int],
    middles_of: Sequence[int],
) -> tuple[Image.Image, list[Row]]:
    """Return a wall of 40 lockers, and questions about where some are."""
    sheet, boxes, plates = Sheet((2000, 1200), WALL), [], []
    numbers = rng.permutation(np.arange(100, 1000))[:40].tolist()
    for index, number in enumerate(numbers):
        x, y = 60 + 240 * (index % 8), 60 + 220 * (index // 8)
        sheet.draw.rectangle((x, y, x + 199, y + 179), fill=(120, 136, 150), outline=(70, 80, 90), width=4)
        plates.append(sheet.write((x + 86, y + 40), str(number), PAPER))
        boxes.append(sheet.share((x, y, x + 200, y + 180)))
    rows = [ask(f"Where is locker {numbers[i]}?", "box", boxes[i], [plates[i]], plates) for i in boxes_of]
    for i in middles_of:
        x0, y0, x1, y1 = boxes[i]
        middle = [round((x0 + x1) / 2, 5), round((y0 + y1) / 2, 5)]
        question = f"Point at locker {numbers[i]}."
        rows.append(ask(question, "point", middle, [plates[i]], plates, tolerance=0.04))
    return sheet.image, rows


def draw_crates(rng: np.random.Generator, date: Date) -> tuple[Image.Image, list[Row]]:
    """Return a stack of crates with codes, and questions about them."""
    sheet = Sheet((1900, 1900), (232, 228, 220))
    codes = [str(code) for code in rng.permutation(np.arange(1_000, 10_000))[:20]]
    colours = [list(CRATES)[i] for i in rng.permutation([0, 0, 1, 2, 2, 2, 3, 3, 3])]
    lines = []
    for index, colour in enumerate(colours):
        x, y = 130 + 600 * (index % 3), 130 + 600 * (index // 3)
        sheet.draw.rectangle((x, y, x + 440, y + 440), fill=CRATES[colour])
        sheet.draw.rectangle((x + 140, y + 190, x + 260, y + 244), fill=PAPER)
        lines.append(sheet.write((x + 178, y + 208), codes[index]))
    of = {name: [line for line, c in zip(lines, colours, strict=True) if c == name] for name in CRATES}
    green = of["green"][0]["text"]
    rows = [
        ask("Which code is on the green crate?", "choice", green, of["green"], lines, choices=sorted(codes))
    ]
    for name in ("red", "blue", "yellow"):
        truth = [line["text"] for line in of[name]]
        rows.append(ask(f"Which codes are on the {name} crates?", "set", truth, of[name], lines))
    return sheet.image, rows


DRAWINGS = {"board": draw_board, "receipt": draw_receipt, "lockers": draw_lockers, "crates": draw_crates}


def lots(rng: np.random.Generator, name: str) -> tuple[list[int], ...]:
    """Draw what of a sheet is asked: four lines of twelve, of 40 lockers four boxes and four middles."""
    if name == "crates":  # every colour
        return ()
    if name == "lockers":
        drawn = rng.permutation(40).tolist()
        return sorted(drawn[:4]), sorted(drawn[4:8])
    return (sorted(rng.permutation(12)[:4].tolist()),)


def draw_all(folder: Path) -> Iterator[Row]:
    """Draw every image into a folder; yield the rows of the questions."""
    for split, seed in SEEDS.items():
        for number, (name, draw) in product(range(SHEETS[split]), DRAWINGS.items()):
            rng = np.random.default_rng([seed, number, *name.encode()])
            image, questions = draw(rng, DATES[split][number], *lots(rng, name))
            file = f"{name}_{split}_{number + 1}.png"
            image.quantize(COLOURS_IN_FILE, dither=Image.Dither.NONE).save(folder / file, optimize=True)
            yield from ({"image": file, **question, "split": split} for question in questions)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Draw the example images of Pixelis/AskImage-v0.")
    parser.add_argument(
        "--output", type=Path, default=EXAMPLES.parent, help="folder (default: the package's)"
    )
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(draw_all(folder))
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / EXAMPLES.name).write_text(lines, encoding="utf-8", newline="\n")
    print(f"{len(rows)} questions about {len({row['image'] for row in rows})} images in {folder}")


if __name__ == "__main__":
    main()
