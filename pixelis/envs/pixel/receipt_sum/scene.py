"""A receipt or an invoice: its lines, what is written where, and what its lines come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from annotated_types import Ge, Interval, Len

from pixelis.envs.pixel.drawing.fonts import Font
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.tools.palette import Colour
from pixelis.envs.schema import Bool, Int, OneOf, ShortText, Stored

MARKS: tuple[str, ...] = ("", "struck", "underlined")
"""What a pen did to a line: nothing, a stroke through all of it, a stroke under its name."""

FORMS: tuple[str, ...] = ("receipt", "invoice")
"""A narrow slip of a till; a wide page with numbered lines and columns."""

PAGE_WIDTH = {"receipt": 372, "invoice": 884}
HEAD, GAP, FOOT = 96, 12, 26
"""Heights in native pixels: above the first line, between lines and totals, below the totals."""

MAX_LINES = 80


class Item(NamedTuple):
    """One line.

    Attributes:
        name: what was bought.
        quantity: how many, 1 to 99.
        unit: price of one, cents.
        mark: one of `MARKS`.
    """

    name: Annotated[str, ShortText(24)]
    quantity: Annotated[Int, Interval(ge=1, le=99)]
    unit: Annotated[Int, Interval(ge=1, le=99_999)]
    mark: Annotated[str, OneOf(MARKS)]

    @property
    def amount(self) -> int:
        """What the line comes to, cents: the number in the last column."""
        return self.quantity * self.unit


@dataclass(frozen=True)
class ReceiptScene(Stored):
    """A page on a table: everything the painter needs, and nothing random.

    Attributes:
        side: of the square picture, native pixels.
        form: one of `FORMS`.
        shop: the heading.
        left: first column of the page, native pixels.
        top: its first row.
        font: file name of a font in `FONTS`.
        text_height: line height (ascent + descent) of all but the heading, native pixels.
        pitch: from one line to the next, native pixels.
        point: decimal mark, "." or ",".
        quantities: whether a receipt says how many and the price of one; an invoice always does.
        tax: percent that the page adds to its lines, 0 for none.
        pen: a name of `PALETTE`.
        lines: the items, from the top.
        seed: of the table and the noise.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    side: Annotated[Int, Interval(ge=256, le=4096)]
    form: Annotated[str, OneOf(FORMS)]
    shop: Annotated[str, ShortText(24)]
    left: Annotated[Int, Ge(0)]
    top: Annotated[Int, Ge(0)]
    font: Font
    text_height: Annotated[Int, Interval(ge=8, le=24)]
    pitch: Annotated[Int, Interval(ge=12, le=64)]
    point: Annotated[str, OneOf(".,")]
    quantities: Bool
    tax: Annotated[Int, Interval(ge=0, le=50)]
    pen: Colour
    lines: Annotated[tuple[Item, ...], Len(1, MAX_LINES)]
    seed: Seed
    noise: Noise

    @property
    def totals(self) -> list[tuple[str, int]]:
        """Labels and amounts in cents at the bottom, as printed before a pen struck anything out."""
        due = sum(item.amount for item in self.lines)
        if not self.tax:
            return [("TOTAL", due)]
        tax = percent_of(due, self.tax)
        return [("SUBTOTAL", due), (f"TAX {self.tax}%", tax), ("TOTAL", due + tax)]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the page, native pixels."""
        rows = len(self.lines) + len(self.totals)
        return PAGE_WIDTH[self.form], HEAD + GAP + FOOT + self.pitch * rows

    def row(self, index: int) -> int:
        """Middle of a line (or, from `len(lines)` on, of a total), native pixels from the scene's top."""
        gap = GAP if index >= len(self.lines) else 0
        return self.top + HEAD + gap + self.pitch * index + self.pitch // 2

    def money(self, cents: int) -> str:
        """An amount as the page writes it."""
        return f"{cents // 100}{self.point}{cents % 100:02d}"

    def check(self) -> None:
        """The page lies on the table."""
        width, height = self.size
        if self.left + width > self.side or self.top + height > self.side:
            raise ValueError(f"a page of {width} x {height} that does not fit")


def percent_of(cents: int, percent: int) -> int:
    """Share of an amount in whole cents, halves rounded up."""
    return (cents * percent + 50) // 100


# ---------------------------------------------------------------------- what is written where


@dataclass(frozen=True)
class Writing:
    """A text on the page.

    Attributes:
        text: the characters.
        x: where its `anchor` is, native pixels from the scene's left.
        y: its middle.
        anchor: "l", "m" or "r": its start, middle or end is at `x`.
        height: line height (ascent + descent), native pixels.
        ink: grey level, 0-255.
    """

    text: str
    x: int
    y: int
    anchor: str
    height: int
    ink: int


_INK, _PALE_INK, _HEADING = 44, 92, 28
_COLUMNS = {"receipt": (24, 278, 348), "invoice": (96, 600, 848)}  # name, price of one, amount
_LABELS = {"receipt": 24, "invoice": 560}
_NUMBER, _QUANTITY = 62, 430  # of an invoice: ends of the line's number and the quantity


def writings(scene: ReceiptScene) -> list[Writing]:
    """Every text on the page, from the top."""
    return [*_head(scene), *_lines(scene), *_totals(scene)]


def amount_end(scene: ReceiptScene) -> int:
    """Where the numbers of the last column end, native pixels from the scene's left."""
    return scene.left + _COLUMNS[scene.form][2]


def name_start(scene: ReceiptScene) -> int:
    """Where the names of the lines start, native pixels from the scene's left."""
    return scene.left + _COLUMNS[scene.form][0]


def label_start(scene: ReceiptScene) -> int:
    """Where the labels of the totals start, native pixels from the scene's left."""
    return scene.left + _LABELS[scene.form]


def _head(scene: ReceiptScene) -> Iterable[Writing]:
    x, height = scene.left + PAGE_WIDTH[scene.form] // 2, scene.text_height
    yield Writing(scene.shop, x, scene.top + 38, "m", _HEADING, _INK)
    y = scene.top + 80
    yield Writing("Item", name_start(scene), y, "l", height, _PALE_INK)
    if scene.form == "invoice":
        yield Writing("No", scene.left + _NUMBER, y, "r", height, _PALE_INK)
        yield Writing("Quantity", scene.left + _QUANTITY, y, "r", height, _PALE_INK)
    if scene.form == "invoice" or scene.quantities:
        yield Writing("Price", scene.left + _COLUMNS[scene.form][1], y, "r", height, _PALE_INK)
    yield Writing("Amount", amount_end(scene), y, "r", height, _PALE_INK)


def _lines(scene: ReceiptScene) -> Iterable[Writing]:
    price_end, height = scene.left + _COLUMNS[scene.form][1], scene.text_height
    for index, item in enumerate(scene.lines):
        y, price = scene.row(index), scene.money(item.unit)
        if scene.form == "invoice":
            yield Writing(str(index + 1), scene.left + _NUMBER, y, "r", height, _PALE_INK)
            yield Writing(str(item.quantity), scene.left + _QUANTITY, y, "r", height, _INK)
            yield Writing(price, price_end, y, "r", height, _INK)
        elif scene.quantities:
            yield Writing(f"{item.quantity} x {price}", price_end, y, "r", height, _INK)
        yield Writing(item.name, name_start(scene), y, "l", height, _INK)
        yield Writing(scene.money(item.amount), amount_end(scene), y, "r", height, _INK)


def _totals(scene: ReceiptScene) -> Iterable[Writing]:
    for index, (label, cents) in enumerate(scene.totals, len(scene.lines)):
        yield Writing(label, label_start(scene), scene.row(index), "l", scene.text_height, _INK)
        yield Writing(scene.money(cents), amount_end(scene), scene.row(index), "r", scene.text_height, _INK)
