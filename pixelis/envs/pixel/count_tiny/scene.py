"""Scenes of CountTiny: hundreds of small pieces on a table, in a few looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval, MaxLen

from pixelis.envs.pixel.base.splits import sample_seed
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, Colour
from pixelis.envs.schema import Int, OneOf, Stored, check_range

SCENE_SIZE = 1536
KINDS: tuple[str, ...] = ("bead", "tile", "stick")
"""A disc, a square, a rectangle half as wide as it is long, lying or standing."""

MAX_PIECES = 1000
_Standing = Annotated[Int, Interval(ge=0, le=1)]
_LOOK_ALIKES = {
    "red": "maroon",
    "orange": "gold",
    "yellow": "beige",
    "green": "teal",
    "blue": "navy",
    "purple": "magenta",
    "pink": "lavender",
    "brown": "olive",
}


@dataclass(frozen=True)
class CountLevel:
    """How hard the scenes of one difficulty are.

    Attributes:
        pieces: how many.
        size: diameter or length of a piece, native pixels.
        colours: how many base colours there are.
        kinds: kinds to draw from.
        by_kind: whether the question names the kind beside the colour.
        look_alikes: whether each colour comes with the one most like it.
        counts: what the answer may be, each as often.
        noise: amplitude of the pixel noise, grey levels.
    """

    pieces: int
    size: int
    colours: int
    kinds: tuple[str, ...]
    by_kind: bool
    look_alikes: bool
    counts: range
    noise: int


LEVELS: tuple[CountLevel, ...] = (
    CountLevel(100, 20, 4, ("bead",), False, False, range(4, 29), 0),
    CountLevel(150, 17, 5, ("bead", "tile"), False, False, range(5, 36), 0),
    CountLevel(220, 14, 6, KINDS, False, True, range(6, 46), 2),
    CountLevel(300, 11, 4, ("bead", "stick"), True, True, range(8, 58), 2),
    CountLevel(400, 8, 5, ("bead", "stick"), True, True, range(10, 70), 3),
)

_EDGE, _GAP = 40, 8  # least distance from the scene's edge and between two pieces, native pixels


@dataclass(frozen=True)
class CountScene(Stored):
    """A table with pieces: everything the painter needs, and nothing random.

    Attributes:
        side: of the square picture, native pixels.
        size: diameter or length of the pieces, native pixels.
        looks: colour (a name of `PALETTE`) and kind (of `KINDS`) of each look.
        pieces: x and y of the middle in native pixels, index of the look, and 1 for a standing stick, else 0.
        seed: of the table and the noise.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    side: Annotated[Int, Interval(ge=64, le=4096)]
    size: Annotated[Int, Interval(ge=4, le=32)]
    looks: tuple[tuple[Colour, Annotated[str, OneOf(KINDS)]], ...]
    pieces: Annotated[tuple[tuple[Int, Int, Int, _Standing], ...], MaxLen(MAX_PIECES)]
    seed: Seed
    noise: Noise

    def count(self, colour: str, kind: str | None) -> int:
        """How many pieces have a colour and, unless it is None, a kind."""
        right = {i for i, (c, k) in enumerate(self.looks) if c == colour and kind in (None, k)}
        return sum(piece[2] in right for piece in self.pieces)

    def check(self) -> None:
        """Pieces lie on the table and have one of its looks."""
        low, high = self.size, self.side - self.size
        check_range((at for piece in self.pieces for at in piece[:2]), low, high, "the places of pieces")
        check_range((look for _, _, look, _ in self.pieces), 0, len(self.looks) - 1, "the looks of pieces")


def sample_count_scene(
    rng: np.random.Generator, difficulty: int, split: str
) -> tuple[CountScene, str, str | None]:
    """Draw a scene and return it with the colour and the kind (or None) that are asked for.

    A pure function of the generator's state. How many pieces are asked for is drawn first, every count as
    often, and how many there are in all is fixed, so that neither a habit nor the crowd tells the answer.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; the scene's seed belongs to it.
    """
    level = LEVELS[difficulty]
    seed = sample_seed(rng, split)
    chosen = [BASE_COLOURS[i] for i in rng.choice(len(BASE_COLOURS), level.colours, replace=False)]
    colours = [*chosen, *(_LOOK_ALIKES[name] for name in chosen if level.look_alikes)]
    looks = tuple((colour, kind) for colour in colours for kind in level.kinds)
    colour = chosen[int(rng.integers(len(chosen)))]
    kind = level.kinds[int(rng.integers(len(level.kinds)))] if level.by_kind else None
    right = [i for i, (c, k) in enumerate(looks) if c == colour and kind in (None, k)]
    others = [i for i in range(len(looks)) if i not in right]
    count = int(rng.choice(level.counts))
    drawn = [
        *(right[i] for i in rng.integers(len(right), size=count)),
        *(others[i] for i in rng.integers(len(others), size=level.pieces - count)),
    ]
    places = _places(rng, level)
    standing = rng.integers(2, size=level.pieces)
    pieces = tuple(
        (x, y, look, int(up) if looks[look][1] == "stick" else 0)
        for (x, y), look, up in zip(places, drawn, standing, strict=True)
    )
    return CountScene(SCENE_SIZE, level.size, looks, pieces, seed, level.noise), colour, kind


def _places(rng: np.random.Generator, level: CountLevel) -> list[tuple[int, int]]:
    """Free places: cells of a grid in random order, and within each a random shift."""
    room = SCENE_SIZE - 2 * _EDGE
    least = level.size + _GAP
    cells = min(room // least, int((3 * level.pieces) ** 0.5) + 1)  # a third of the cells is taken
    pitch = room // cells
    shifts = rng.integers(0, pitch - least + 1, size=(level.pieces, 2))
    taken = rng.choice(cells * cells, level.pieces, replace=False)
    return [
        (
            _EDGE + int(cell % cells) * pitch + least // 2 + int(dx),
            _EDGE + int(cell // cells) * pitch + least // 2 + int(dy),
        )
        for cell, (dx, dy) in zip(taken, shifts, strict=True)
    ]
