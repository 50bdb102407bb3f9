from __future__ import annotations

import itertools
import math

from pixelis.envs.pixel.tools.palette import BASE_COLOURS, KINDS, PALETTE, shade


def lab(rgb):
    """sRGB 0-255 -> CIE L*a*b* under D65, by the definition (IEC 61966-2-1, CIE 15)."""
    red, green, blue = (
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)
    )
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(a, b):
    return math.dist(lab(PALETTE[a]), lab(PALETTE[b]))


def test_the_yardstick_itself_gives_the_published_values_of_pure_red():
    assert all(
        math.isclose(a, b, abs_tol=0.01) for a, b in zip(lab((255, 0, 0)), (53.24, 80.09, 67.20), strict=True)
    )


def test_names():
    assert len(PALETTE) == 18
    assert tuple(PALETTE)[:8] == BASE_COLOURS
    assert set(PALETTE).isdisjoint({"grey", "gray", "white", "black"})
    assert KINDS == ("sign", "label", "screen")


def test_base_colours_are_well_apart():
    assert min(distance(a, b) for a, b in itertools.combinations(BASE_COLOURS, 2)) >= 35


def test_no_two_colours_are_confusable():
    assert min(distance(a, b) for a, b in itertools.combinations(PALETTE, 2)) >= 20


def test_every_other_colour_looks_like_an_easier_one_more_than_base_colours_do():
    apart = min(distance(a, b) for a, b in itertools.combinations(BASE_COLOURS, 2))
    alike = min(distance(a, b) for a in BASE_COLOURS for b in PALETTE if b not in BASE_COLOURS)
    assert alike < apart


def test_every_colour_is_colourful():
    assert min(math.hypot(*lab(rgb)[1:]) for rgb in PALETTE.values()) >= 28


def test_shade():
    assert shade((100, 50, 201), 50) == (50, 25, 100)
    assert shade((100, 200, 255), 150) == (150, 255, 255)
