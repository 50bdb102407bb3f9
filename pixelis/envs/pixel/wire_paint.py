"""Turn a WireTrace scene into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.labels import Labels, label_map_view
from pixelis.envs.pixel.paint import add_noise, paste_sign
from pixelis.envs.pixel.palette import PALETTE, RGB, shade
from pixelis.envs.pixel.tabletop import paint_tabletop
from pixelis.envs.pixel.view import Box
from pixelis.envs.pixel.wire_curves import Curve, all_curves, crossing_points, strand_curve
from pixelis.envs.pixel.wire_grid import (
    BENDS_LEFT,
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    UPRIGHT_OVER,
    Strand,
    cables,
)
from pixelis.envs.pixel.wire_scene import EDGE, WireScene

CABLE_WIDTH = 5
"""Native pixels of a cable in its own colour; a dark rim adds one on each side."""

GAP_WIDTH = 17
"""Native pixels around the middle of a cable in which what it crosses is not seen."""

_RIM, _FRAME, _SHADOW, _SHADOW_SHIFT = 58, (60, 64, 70), (120, 120, 122), (2, 3)
_SOCKET, _SOCKET_BEZEL, _SOCKET_HALF = (28, 29, 32), (150, 153, 158), 13
_STUB = 46  # native pixels from the grid to a socket's middle
_SUBPIXELS = 4  # bits


@dataclass(frozen=True)
class _Over:
    """A crossing's upper cable: stretches of it around the crossing, each longer, its colour and piece."""

    stretches: tuple[Curve, Curve, Curve]
    rgb: RGB
    piece: int


@lru_cache(maxsize=12)
def paint_wires(scene: WireScene) -> tuple[Image.Image, NDArray[np.uint8]]:
    """The picture of a scene, and which object each of its pixels shows.

    The objects are numbered from 1: first the pieces of cables, then the ports' labels. A cable is in pieces
    where others lie over it: a piece is what looks connected.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    board = _paint_board(scene)
    pixels, label_map = board.copy(), np.zeros((scene.side, scene.side), np.uint8)
    pieces, overs = _lay_cables(scene)
    for piece, _ in pieces:
        _draw(pixels, piece + _SHADOW_SHIFT, _SHADOW, CABLE_WIDTH + 2)
    for piece, rgb in pieces:
        _draw_cable(pixels, piece, rgb)
    for number, (piece, _) in enumerate(pieces, 1):
        _draw(label_map, piece, (number,), CABLE_WIDTH)
    for over in overs:
        _cross(pixels, label_map, board, over)
    image = Image.fromarray(pixels)
    for number, sign in enumerate(scene.labels().signs, len(pieces) + 1):
        shape = paste_sign(image, sign)
        height, width = shape.mask.shape
        label_map[shape.top : shape.top + height, shape.left : shape.left + width][shape.mask] = number
    label_map.setflags(write=False)
    return add_noise(image, scene.noise, scene.seed) if scene.noise else image, label_map


def wire_labels(scene: WireScene, view_box: Box, view_size: int) -> Labels:
    """Which piece of a cable or label every pixel of a view shows, as `paint_wires` numbers them."""
    return label_map_view(paint_wires(scene)[1], view_box, view_size)


def _paint_board(scene: WireScene) -> NDArray[np.uint8]:
    """A table in a dark frame with a socket for every port."""
    pixels = np.array(paint_tabletop(scene.side, scene.seed))
    inner = EDGE - 26
    for strip in (np.s_[:inner], np.s_[-inner:], np.s_[:, :inner], np.s_[:, -inner:]):
        pixels[strip] = _FRAME
    for x, y in np.round(scene.port_places(_STUB)).astype(int).tolist():
        for half, rgb in ((_SOCKET_HALF, _SOCKET_BEZEL), (_SOCKET_HALF - 3, _SOCKET)):
            pixels[y - half : y + half + 1, x - half : x + half + 1] = rgb
    return pixels


def _lay_cables(scene: WireScene) -> tuple[list[tuple[Curve, RGB]], list[_Over]]:
    """Return the pieces of all cables with their colours, and the crossings."""
    curves, sockets = all_curves(scene.mesh), scene.port_places(_STUB)
    pieces: list[tuple[Curve, RGB]] = []
    overs: list[_Over] = []
    for (start, end, strands), colour in zip(cables(scene.tiles, scene.grid), scene.colours, strict=True):
        rgb = PALETTE[colour]
        points = [sockets[[start]]]
        for strand in strands:
            curve = strand_curve(curves, strand)
            if scene.tiles[strand.tile] < BENDS_LEFT:
                at, place = _meeting(curves, strand)
                if _is_over(scene, strand):
                    one, two, three = (curve[max(0, at - n) : at + n + 2] for n in (1, 2, 3))
                    overs.append(_Over((one, two, three), rgb, len(pieces) + 1))
                else:
                    pieces.append((np.concatenate([*points, curve[: at + 1], place]), rgb))
                    points, curve = [place], curve[at + 1 :]
            points.append(curve)
        pieces.append((np.concatenate([*points, sockets[[end]]]), rgb))
    return pieces, overs


def _meeting(curves: NDArray[np.float64], strand: Strand) -> tuple[int, Curve]:
    """Return the segment of a strand in which the tile's other cable crosses it, and where, ``[1, 2]``."""
    sides = (LEFT, RIGHT) if strand.enter in (TOP, BOTTOM) else (TOP, BOTTOM)
    found = crossing_points(strand_curve(curves, strand), curves[strand.tile, sides[0], sides[1]])
    return int(found[0, 2]), found[:1, :2]


def _is_over(scene: WireScene, strand: Strand) -> bool:
    return (strand.enter in (TOP, BOTTOM)) == (scene.tiles[strand.tile] == UPRIGHT_OVER)


def _cross(
    pixels: NDArray[np.uint8], label_map: NDArray[np.uint8], board: NDArray[np.uint8], over: _Over
) -> None:
    """Cut a gap into what lies under a cable, and paint the cable through it."""
    near, farther, farthest = over.stretches
    low = np.floor(near.min(0)).astype(int) - GAP_WIDTH
    high = np.ceil(near.max(0)).astype(int) + GAP_WIDTH
    window = slice(low[1], high[1]), slice(low[0], high[0])
    gap = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
    _draw(gap, near - low, (255,), GAP_WIDTH)
    pixels[window][gap > 0] = board[window][gap > 0]
    label_map[window][gap > 0] = 0
    # The ends of what is painted again would show, were each not hidden by the next.
    _draw(pixels, farther + _SHADOW_SHIFT, _SHADOW, CABLE_WIDTH + 2)
    _draw(pixels, farther, shade(over.rgb, _RIM), CABLE_WIDTH + 2)
    _draw(pixels, farthest, over.rgb, CABLE_WIDTH)
    _draw(label_map, farthest, (over.piece,), CABLE_WIDTH)


def _draw_cable(pixels: NDArray[np.uint8], points: Curve, rgb: RGB) -> None:
    _draw(pixels, points, shade(rgb, _RIM), CABLE_WIDTH + 2)
    _draw(pixels, points, rgb, CABLE_WIDTH)


def _draw(pixels: NDArray[np.uint8], points: Curve, colour: tuple[int, ...], width: int) -> None:
    """Draw a line through points: smoothly in a picture, in whole pixels in a map of labels."""
    import cv2

    fixed = np.round(points * (1 << _SUBPIXELS)).astype(np.int32)
    kind = cv2.LINE_AA if pixels.ndim == 3 else cv2.LINE_8
    cv2.polylines(pixels, [fixed], False, colour, width, kind, _SUBPIXELS)
