"""Draw scenes of a difficulty and a split: which signs there are, where they hang and what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.drawing.signs import Scene, Sign, ink_for
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, KINDS, PALETTE
from pixelis.envs.tasks import check_difficulty

SCENE_SIZE = 1536
"""Side of a scene, native pixels."""


@dataclass(frozen=True)
class _Level:
    """How hard the scenes of one difficulty are.

    Attributes:
        signs: how many.
        colours: names to draw from.
        kinds: kinds to draw from.
        spacing: least distance between two centres (the larger of |dx| and |dy|), share of the scene.
        jitter: largest change of a colour channel, grey levels.
        tilt: largest turn, tenths of a degree.
        noise: amplitude of the pixel noise, grey levels.
    """

    signs: int
    colours: tuple[str, ...]
    kinds: tuple[str, ...]
    spacing: float
    jitter: int
    tilt: int
    noise: int


_ALL = tuple(PALETTE)
LEVELS: tuple[_Level, ...] = (
    _Level(3, BASE_COLOURS, ("sign",), 0.2, 0, 0, 0),
    _Level(6, BASE_COLOURS, ("sign",), 0.2, 0, 0, 0),
    _Level(12, _ALL, ("sign",), 0.13, 5, 0, 2),
    _Level(24, _ALL, KINDS, 0.08, 5, 30, 3),
    _Level(40, _ALL, KINDS, 0.06, 6, 50, 6),
)

_EDGE = 0.06  # least gap between a sign and the scene's edge, share of the scene
_GAP = 12  # least gap between two signs, native pixels


def sample_scene(rng: np.random.Generator, difficulty: int, split: str) -> Scene:
    """Draw a scene; a pure function of the generator's state.

    Args:
        rng: the only source of randomness.
        difficulty: 0 (3 signs, base colours) to 4 (40 signs, look-alikes, three kinds, turned, noisy).
        split: "train" or "test"; every code of the scene belongs to it.

    Raises:
        DifficultyError: if difficulty is not an integer 0-4.
        SplitError: if split is unknown.
    """
    level = LEVELS[check_difficulty(difficulty, range(len(LEVELS)))]
    codes = sample_codes(rng, level.signs, split)
    names = [(colour, kind) for colour in level.colours for kind in level.kinds]
    chosen = [names[i] for i in rng.choice(len(names), level.signs, replace=False)]
    signs: list[Sign] = []
    while len(signs) < level.signs:  # a crowded draw that finds no room starts again
        signs = _place(rng, level, chosen, codes)
    return Scene(SCENE_SIZE, tuple(signs), int(rng.integers(2**32)), level.noise)


def _place(
    rng: np.random.Generator, level: _Level, names: list[tuple[str, str]], codes: list[str]
) -> list[Sign]:
    """Signs at random free places; fewer than asked where no room was found."""
    signs: list[Sign] = []
    for (colour, kind), code in zip(names, codes, strict=True):
        for _ in range(200):
            sign = _draw_sign(rng, level, colour, kind, code)
            if all(_apart(sign, other, level.spacing) for other in signs):
                signs.append(sign)
                break
        else:
            return []
    return signs


def _draw_sign(rng: np.random.Generator, level: _Level, colour: str, kind: str, code: str) -> Sign:
    width, height = 2 * int(rng.integers(55, 76)), 2 * int(rng.integers(20, 29))
    low = math.ceil(_EDGE * SCENE_SIZE) + width // 2 + 4, math.ceil(_EDGE * SCENE_SIZE) + height // 2 + 8
    x, y = (int(rng.integers(edge, SCENE_SIZE - edge + 1)) for edge in low)
    shifts = rng.integers(-level.jitter, level.jitter + 1, size=3)
    red, green, blue = (min(max(v + int(d), 0), 255) for v, d in zip(PALETTE[colour], shifts, strict=True))
    return Sign(
        kind=kind,
        colour=colour,
        rgb=(red, green, blue),
        ink=ink_for((red, green, blue)),
        code=code,
        center=(x, y),
        size=(width, height),
        angle_degrees=int(rng.integers(-level.tilt, level.tilt + 1)) / 10,
        text_height=int(rng.integers(14, 17)),
        font=FONTS[int(rng.integers(len(FONTS)))],
    )


def _apart(a: Sign, b: Sign, spacing: float) -> bool:
    dx, dy = abs(a.center[0] - b.center[0]), abs(a.center[1] - b.center[1])
    (aw, ah), (bw, bh) = a.extent(), b.extent()
    clear = dx >= (aw + bw) / 2 + _GAP or dy >= (ah + bh) / 2 + _GAP
    return clear and max(dx, dy) >= spacing * SCENE_SIZE
