"""A receipt or an invoice: its lines, what is written where, and what its lines come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pixelis.envs.data.scene_fields import one_of, reading_scene, whole, word
from pixelis.envs.pixel.base.splits import SEEDS
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import PALETTE

MARKS: tuple[str, ...] = ("", "struck", "underlined")
"""What a pen did to a line: nothing, a stroke through all of it, a stroke under its name."""

FORMS: tuple[str, ...] = ("receipt", "invoice")
"""A narrow slip of a till; a wide page with numbered lines and columns."""

PAGE_WIDTH = {"receipt": 372, "invoice": 884}
HEAD, GAP, FOOT = 96, 12, 26
"""Heights in native pixels: above the first line, between lines and totals, below the totals."""

MAX_LINES = 80


@dataclass(frozen=True)
class Item:
    """One line.

    Attributes:
        name: what was bought.
        quantity: how many, 1 to 99.
        unit: price of one, cents.
        mark: one of `MARKS`.
    """

    name: str
    quantity: int
    unit: int
    mark: str

    @property
    def amount(self) -> int:
        """What the line comes to, cents: the number in the last column."""
        return self.quantity * self.unit


@dataclass(frozen=True)
class ReceiptScene:
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

    side: int
    form: str
    shop: str
    left: int
    top: int
    font: str
    text_height: int
    pitch: int
    point: str
    quantities: bool
    tax: int
    pen: str
    lines: tuple[Item, ...]
    seed: int
    noise: int

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

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal scene back."""
        return {**vars(self), "lines": [list(asdict(item).values()) for item in self.lines]}

    @classmethod
    def from_json(cls, data: Any) -> ReceiptScene:
        """The scene that `to_json` wrote.

        Raises:
            TaskError: a part is missing, of the wrong type or out of range.
        """
        with reading_scene("ReceiptScene"):
            side, form = whole(data["side"], 256, 4096), one_of(data["form"], FORMS)
            if not isinstance(data["quantities"], bool) or not 1 <= len(data["lines"]) <= MAX_LINES:
                raise ValueError(f"quantities not true or false, or not 1 to {MAX_LINES} lines")
            scene = cls(
                side=side,
                form=form,
                shop=word(data["shop"], 24),
                left=whole(data["left"], 0, side),
                top=whole(data["top"], 0, side),
                font=one_of(data["font"], FONTS),
                text_height=whole(data["text_height"], 8, 24),
                pitch=whole(data["pitch"], 12, 64),
                point=one_of(data["point"], (".", ",")),
                quantities=data["quantities"],
                tax=whole(data["tax"], 0, 50),
                pen=one_of(data["pen"], tuple(PALETTE)),
                lines=tuple(_item(*row) for row in data["lines"]),
                seed=whole(data["seed"], 0, SEEDS - 1),
                noise=whole(data["noise"], 0, 64),
            )
            width, height = scene.size
            if scene.left + width > side or scene.top + height > side:
                raise ValueError(f"a page of {width} x {height} that does not fit")
            return scene


def _item(name: Any, quantity: Any, unit: Any, mark: Any) -> Item:
    return Item(word(name, 24), whole(quantity, 1, 99), whole(unit, 1, 99_999), one_of(mark, MARKS))


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
