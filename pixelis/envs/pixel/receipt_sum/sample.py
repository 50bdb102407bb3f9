"""Draw receipts of a difficulty and a split: which lines there are, what they cost and what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pixelis.envs.pixel.base.splits import sample_seed
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion
from pixelis.envs.pixel.receipt_sum.scene import Item, ReceiptScene

SCENE_SIZE = 1536
PRICES = range(100, 2500)
"""Prices of one, cents, each as often: nothing can be guessed from what things usually cost."""

NOUNS: tuple[str, ...] = (
    *("Apples", "Beans", "Bread", "Butter", "Cake", "Cheese", "Coffee", "Flour", "Honey", "Juice"),
    *("Lemons", "Milk", "Noodles", "Nuts", "Olives", "Onions", "Pasta", "Pears", "Pepper", "Plums"),
    *("Rice", "Salad", "Soap", "Soup", "Sugar", "Tea", "Tomatoes", "Yogurt"),
)
ADJECTIVES: tuple[str, ...] = (
    *("Brown", "Dark", "Dried", "Fresh", "Frozen", "Golden", "Green", "Large", "Light", "Mild"),
    *("Mixed", "Organic", "Plain", "Red", "Small", "Smoked", "Spiced", "Sweet", "White", "Young"),
)
SHOPS: tuple[str, ...] = (
    *("Corner Market", "Harbour Foods", "Green Basket", "Station Store", "Old Mill Grocer"),
    *("Sunny Side Deli", "North Gate Shop", "River Pantry", "Little Larder", "Market Hall"),
)
PENS: tuple[str, ...] = ("red", "blue", "purple", "green")

_EDGE = 24  # least distance of a page from the scene's edge, native pixels


@dataclass(frozen=True)
class ReceiptLevel:
    """How hard the receipts of one difficulty are.

    Attributes:
        lines: how many.
        forms: of the page, to draw from.
        kinds: of question, to draw from.
        named: how many lines a `named` question names.
        group: how many lines have the word that is asked for.
        struck: how many lines are struck out.
        underlined: how many names are underlined.
        detailed: whether lines say how many and the price of one, and the page adds tax.
        text_height: line height, native pixels.
        pitch: from one line to the next, native pixels.
        points: decimal marks to draw from.
        noise: amplitude of the pixel noise, grey levels.
    """

    lines: int
    forms: tuple[str, ...]
    kinds: tuple[str, ...]
    named: range
    group: range
    struck: range
    underlined: range
    detailed: bool
    text_height: int
    pitch: int
    points: str
    noise: int


_FEW = ("named", "group", "lowest", "highest")
_ALL, _TAX = (*_FEW, "total"), (*_FEW, "total", "due")
_SLIP, _BOTH, _NONE, _NAMES = ("receipt",), ("receipt", "invoice"), range(1), range(3, 9)
LEVELS: tuple[ReceiptLevel, ...] = (
    ReceiptLevel(8, _SLIP, _FEW, range(2, 3), range(3, 5), _NONE, _NONE, False, 14, 32, ".", 0),
    ReceiptLevel(16, _SLIP, _FEW, range(3, 4), range(3, 6), _NONE, _NONE, False, 14, 30, ".,", 0),
    ReceiptLevel(28, _BOTH, _ALL, range(3, 5), range(3, 6), range(2, 6), _NONE, False, 14, 27, ".,", 2),
    ReceiptLevel(44, _BOTH, _TAX, range(4, 6), range(4, 7), range(3, 9), _NONE, True, 14, 24, ".,", 2),
    ReceiptLevel(60, _BOTH, _TAX, range(4, 6), range(4, 9), range(4, 13), _NAMES, True, 14, 21, ".,", 3),
)  # fmt: skip


def greatest_guess(difficulty: int) -> float:
    """Return a bound on how often any one amount is the answer, 0-1.

    A sum takes a value at most as often as one price does. The least or greatest of k amounts takes it at
    most k times as often, and a page is drawn anew when that amount is the least or greatest of all n lines
    that count, which happens once in n / k times.
    """
    level = LEVELS[difficulty]
    group, counted = level.group[-1], level.lines - level.struck[-1]
    return group / len(PRICES) / (1 - group / counted)


def sample_receipt(
    rng: np.random.Generator, difficulty: int, split: str
) -> tuple[ReceiptScene, ReceiptQuestion]:
    """Draw a page and the question about it; a pure function of the generator's state.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; the scene's seed belongs to it.
    """
    level = LEVELS[difficulty]
    seed = sample_seed(rng, split)
    names, noun = _names(rng, level)
    kind = _pick(rng, level.kinds)
    named = [names[i] for i in rng.choice(level.lines, int(rng.choice(level.named)), replace=False)]
    ask = ReceiptQuestion(kind, {"named": tuple(named), "total": (), "due": ()}.get(kind, (noun,)))
    page = _blank_page(rng, level, seed)
    unmarked = replace(page, lines=tuple(Item(name, 1, PRICES[0], "") for name in names))
    marks = _marks(rng, level, ask.rows(unmarked) if ask.names else [])
    while True:
        lines = _priced(rng, level, names, marks)
        scene = replace(page, lines=lines)
        if not _is_extreme_of_all(scene, ask):
            return _placed(rng, _taxed(rng, level, scene)), ask


def _pick(rng: np.random.Generator, choices: tuple[str, ...] | str) -> str:
    return choices[int(rng.integers(len(choices)))]


def _names(rng: np.random.Generator, level: ReceiptLevel) -> tuple[list[str], str]:
    """Names of all lines, each once, and the word that is asked for."""
    nouns = [NOUNS[i] for i in rng.permutation(len(NOUNS))]
    count = int(rng.choice(level.group))
    group = [f"{ADJECTIVES[i]} {nouns[0]}" for i in rng.choice(len(ADJECTIVES), count, replace=False)]
    others = [f"{adjective} {noun}" for noun in nouns[1 : 1 + level.lines // 3] for adjective in ADJECTIVES]
    chosen = [others[i] for i in rng.choice(len(others), level.lines - count, replace=False)]
    names = [*group, *chosen]
    return [names[i] for i in rng.permutation(len(names))], nouns[0]


def _blank_page(rng: np.random.Generator, level: ReceiptLevel, seed: int) -> ReceiptScene:
    return ReceiptScene(
        side=SCENE_SIZE,
        form=_pick(rng, level.forms),
        shop=_pick(rng, SHOPS),
        left=_EDGE,
        top=_EDGE,
        font=_pick(rng, FONTS),
        text_height=level.text_height,
        pitch=level.pitch,
        point=_pick(rng, level.points),
        quantities=level.detailed,
        tax=0,
        pen=_pick(rng, PENS),
        lines=(),
        seed=seed,
        noise=level.noise,
    )


def _marks(rng: np.random.Generator, level: ReceiptLevel, asked: list[int]) -> list[str]:
    """A mark a line. Of the lines asked for one is struck every other time, so that looking is worth it."""
    marks = [""] * level.lines
    count = int(rng.choice(level.struck))
    hits = [asked[int(rng.integers(len(asked)))]] if asked and count and rng.integers(2) else []
    free = [int(i) for i in rng.permutation(level.lines) if i not in asked]
    for i in [*hits, *free[: count - len(hits)]]:
        marks[i] = "struck"
    clean = [int(i) for i in rng.permutation(level.lines) if not marks[i]]
    for i in clean[: int(rng.choice(level.underlined))]:
        marks[i] = "underlined"
    return marks


def _priced(
    rng: np.random.Generator, level: ReceiptLevel, names: list[str], marks: list[str]
) -> tuple[Item, ...]:
    units = rng.integers(PRICES.start, PRICES.stop, level.lines).tolist()
    counts = rng.integers(1, 5 if level.detailed else 2, level.lines).tolist()
    return tuple(map(Item, names, counts, units, marks))


def _is_extreme_of_all(scene: ReceiptScene, ask: ReceiptQuestion) -> bool:
    """Whether the least (greatest) amount asked for is the whole page's, so that the word does not matter."""
    if ask.kind not in ("lowest", "highest"):
        return False
    asked, sign = set(ask.rows(scene)), 1 if ask.kind == "lowest" else -1
    counted = [(i, sign * item.amount) for i, item in enumerate(scene.lines) if item.mark != "struck"]
    least = min(amount for i, amount in counted if i in asked)
    return all(amount > least for i, amount in counted if i not in asked)


def _taxed(rng: np.random.Generator, level: ReceiptLevel, scene: ReceiptScene) -> ReceiptScene:
    """The page with a rate, where its level has one, that leaves no half cent to round."""
    if not level.detailed:
        return scene
    due = ReceiptQuestion("total").answer(scene)
    rates = [rate for rate in range(3, 26) if due * rate % 100 != 50]
    return replace(scene, tax=rates[int(rng.integers(len(rates)))])


def _placed(rng: np.random.Generator, scene: ReceiptScene) -> ReceiptScene:
    """The page anywhere on the table."""
    width, height = scene.size
    left = int(rng.integers(_EDGE, SCENE_SIZE - _EDGE - width + 1))
    top = int(rng.integers(_EDGE, SCENE_SIZE - _EDGE - height + 1))
    return replace(scene, left=left, top=top)
