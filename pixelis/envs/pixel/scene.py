"""What a street scene holds: its signs, and the seed of the street behind them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from pixelis.envs.pixel.palette import BASE_COLOURS, KINDS, PALETTE, RGB
from pixelis.errors import DifficultyError, SplitError, TaskError

SCENE_SIZE = 1536
"""Side of a scene, native pixels."""

CODE_ALPHABET = "ACEFHKMNPRTXY347"
"""Characters of a code: capitals and digits, without the ones that are easily taken for each other."""

CODE_LENGTH = 4
SPLITS: tuple[str, ...] = ("train", "test")
FONTS: tuple[str, ...] = (
    "DejaVuSansMono-Bold.ttf",
    "LiberationSans-Bold.ttf",
    "Roboto-Bold.ttf",
    "Roboto-Medium.ttf",
)
WHITE_INK: RGB = (250, 250, 246)
BLACK_INK: RGB = (22, 22, 26)


@dataclass(frozen=True)
class Sign:
    """One sign of a scene.

    Attributes:
        kind: one of `KINDS`.
        colour: a name of `PALETTE`.
        rgb: the colour it is painted in, near `PALETTE[colour]`.
        ink: the colour of its text.
        code: the text on it.
        center: x, y of its middle, native pixels from the top left corner of the scene.
        size: width, height of the upright sign, native pixels, bezel and border included.
        angle_degrees: turn about the centre, counter-clockwise.
        text_height: line height (ascent + descent) of the code, native pixels.
        font: file name of a font in `FONTS`.
    """

    kind: str
    colour: str
    rgb: RGB
    ink: RGB
    code: str
    center: tuple[int, int]
    size: tuple[int, int]
    angle_degrees: float
    text_height: int
    font: str

    def extent(self) -> tuple[float, float]:
        """Width and height of the upright box around the turned sign, native pixels."""
        angle = math.radians(abs(self.angle_degrees))
        (width, height), cos, sin = self.size, math.cos(angle), math.sin(angle)
        return width * cos + height * sin, width * sin + height * cos

    def box(self, scene_size: int) -> tuple[float, float, float, float]:
        """Box [x0, y0, x1, y1] around the turned sign, normalised to 0-1 of the scene."""
        (x, y), (width, height) = self.center, self.extent()
        corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        x0, y0, x1, y1 = (round(min(max(v / scene_size, 0.0), 1.0), 6) for v in corners)
        return x0, y0, x1, y1


@dataclass(frozen=True)
class Scene:
    """A street with signs: everything `paint` needs, and nothing random.

    Attributes:
        size: side of the square picture, native pixels.
        signs: the signs, none of which overlap; (colour, kind) is unique.
        backdrop_seed: seed of the street behind the signs, 0 to 2**32 - 1.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    size: int
    signs: tuple[Sign, ...]
    backdrop_seed: int
    noise: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal scene back."""
        return {
            "size": self.size,
            "signs": [
                {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(s).items()} for s in self.signs
            ],
            "backdrop_seed": self.backdrop_seed,
            "noise": self.noise,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scene:
        """The scene that `to_json` wrote.

        Raises:
            TaskError: if a field is missing, unknown or of the wrong type.
        """
        try:
            signs = tuple(_sign_from_json(sign) for sign in data["signs"])
            return cls(int(data["size"]), signs, int(data["backdrop_seed"]), int(data["noise"]))
        except (KeyError, TypeError, ValueError) as error:
            raise TaskError(
                f"expected a scene as Scene.to_json writes it, got a wrong or missing part: {error}"
            ) from error


def _sign_from_json(data: Mapping[str, Any]) -> Sign:
    expected = {field.name for field in fields(Sign)}
    if set(data) != expected:
        raise ValueError(f"a sign has the fields {sorted(expected)}, got {sorted(data)}")
    sign = Sign(**{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()})
    if sign.kind not in KINDS or sign.colour not in PALETTE or sign.font not in FONTS:
        raise ValueError(f"unknown kind, colour or font in {sign}")
    return sign


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
    if (
        isinstance(difficulty, bool)
        or not isinstance(difficulty, int | np.integer)
        or not 0 <= difficulty < len(LEVELS)
    ):
        raise DifficultyError(f"expected a difficulty 0 to {len(LEVELS) - 1}, got {difficulty!r}")
    level = LEVELS[difficulty]
    codes = sample_codes(rng, level.signs, split)
    names = [(colour, kind) for colour in level.colours for kind in level.kinds]
    chosen = [names[i] for i in rng.choice(len(names), level.signs, replace=False)]
    signs: list[Sign] = []
    while len(signs) < level.signs:  # a crowded draw that finds no room starts again
        signs = _place(rng, level, chosen, codes)
    return Scene(SCENE_SIZE, tuple(signs), int(rng.integers(2**32)), level.noise)


def code_split(code: str) -> str:
    """The split a code belongs to: a fifth of all codes is "test", by their SHA-256."""
    return "test" if hashlib.sha256(code.encode()).digest()[0] % 5 == 0 else "train"


def sample_codes(rng: np.random.Generator, count: int, split: str) -> list[str]:
    """Draw codes of one split; two of them differ in at least two places, and no character comes twice in one.

    (A repeated character is what text recognisers lose most often.)

    Raises:
        SplitError: if split is unknown.
    """
    if split not in SPLITS:
        raise SplitError(f"expected a split of {SPLITS}, got {split!r}")
    codes: list[str] = []
    while len(codes) < count:
        code = "".join(CODE_ALPHABET[i] for i in rng.choice(len(CODE_ALPHABET), CODE_LENGTH, replace=False))
        if code_split(code) == split and all(_differences(code, other) >= 2 for other in codes):
            codes.append(code)
    return codes


def _differences(a: str, b: str) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


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


def relative_luminance(rgb: RGB) -> float:
    """Luminance 0-1 of an sRGB colour (WCAG 2.2, "relative luminance")."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_for(rgb: RGB) -> RGB:
    """White or near-black, whichever has the larger contrast with the board (WCAG 2.2, "contrast ratio")."""
    board, white, black = (relative_luminance(c) + 0.05 for c in (rgb, WHITE_INK, BLACK_INK))
    return WHITE_INK if white / board >= board / black else BLACK_INK
