"""Turn a WireTrace scene into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.drawing.noise import add_noise_to
from pixelis.envs.pixel.drawing.sign_paint import paste_sign
from pixelis.envs.pixel.drawing.signs import Sign
from pixelis.envs.pixel.drawing.tabletop import tabletop_pixels
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_map_view
from pixelis.envs.pixel.tools.palette import PALETTE, RGB, shade
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.wire_trace.curves import Curve, all_crossing_points, all_curves, strand_curve
from pixelis.envs.pixel.wire_trace.grid import (
    BENDS_LEFT,
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    UPRIGHT_OVER,
    Strand,
    cables,
)
from pixelis.envs.pixel.wire_trace.scene import EDGE, WireScene

CABLE_WIDTH = 5
"""Native pixels of a cable in its own colour; a dark rim adds one on each side."""

GAP_WIDTH = 17
"""Native pixels around the middle of a cable in which what it crosses is not seen."""

_RIM, _FRAME, _SHADOW, _SHADOW_SHIFT = 58, (60, 64, 70), (120, 120, 122), (2, 3)
_SOCKET, _SOCKET_BEZEL, _SOCKET_HALF = (28, 29, 32), (150, 153, 158), 13
_STUB = 46  # native pixels from the grid to a socket's middle
_SUBPIXELS = 4  # bits
_LABEL_ROOM = 8  # native pixels around a label: its shadow lies in them


@dataclass(frozen=True)
class _Over:
    """A crossing's upper cable: stretches of it around the crossing, each longer, its colour and piece."""

    stretches: tuple[Curve, Curve, Curve]
    rgb: RGB
    piece: int

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of a scene that the gap around it lies in."""
        near = self.stretches[0]
        low = np.floor(near.min(0)).astype(int) - GAP_WIDTH
        high = np.ceil(near.max(0)).astype(int) + GAP_WIDTH
        return slice(low[1], high[1]), slice(low[0], high[0])


@lru_cache(maxsize=12)
def paint_wires(scene: WireScene) -> tuple[Image.Image, NDArray[np.uint8]]:
    """The picture of a scene, and which object each of its pixels shows.

    The objects are numbered from 1: first the pieces of cables, then the ports' labels. A cable is in pieces
    where others lie over it: a piece is what looks connected.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    pixels, label_map = _paint_board(scene), np.zeros((scene.side, scene.side), np.uint8)
    pieces, overs = _lay_cables(scene)
    bare = [pixels[over.window].copy() for over in overs]
    for piece, _ in pieces:
        _draw(pixels, piece + _SHADOW_SHIFT, _SHADOW, CABLE_WIDTH + 2)
    for piece, rgb in pieces:
        _draw_cable(pixels, piece, rgb)
    for number, (piece, _) in enumerate(pieces, 1):
        _draw(label_map, piece, (number,), CABLE_WIDTH)
    for over, board in zip(overs, bare, strict=True):
        _cross(pixels, label_map, board, over)
    for number, sign in enumerate(scene.labels().signs, len(pieces) + 1):
        shape = _stick(pixels, sign)
        height, width = shape.mask.shape
        label_map[shape.top : shape.top + height, shape.left : shape.left + width][shape.mask] = number
    label_map.setflags(write=False)
    if scene.noise:
        add_noise_to(pixels, scene.noise, scene.seed)
    return Image.fromarray(pixels), label_map


def wire_labels(scene: WireScene, view_box: Box, view_size: int) -> Labels:
    """Which piece of a cable or label every pixel of a view shows, as `paint_wires` numbers them."""
    return label_map_view(paint_wires(scene)[1], view_box, view_size)


def _paint_board(scene: WireScene) -> NDArray[np.uint8]:
    """A table in a dark frame with a socket for every port."""
    pixels = tabletop_pixels(scene.side, scene.seed)
    inner, frame = EDGE - 26, np.full_like(pixels[:1], _FRAME)  # a row of it: whole rows are copied faster
    pixels[:inner] = pixels[-inner:] = frame
    pixels[:, :inner] = pixels[:, -inner:] = frame[:, :inner]
    for x, y in np.round(scene.port_places(_STUB)).astype(int).tolist():
        for half, rgb in ((_SOCKET_HALF, _SOCKET_BEZEL), (_SOCKET_HALF - 3, _SOCKET)):
            pixels[y - half : y + half + 1, x - half : x + half + 1] = rgb
    return pixels


def _lay_cables(scene: WireScene) -> tuple[list[tuple[Curve, RGB]], list[_Over]]:
    """Return the pieces of all cables with their colours, and the crossings."""
    curves, sockets = all_curves(scene.mesh), scene.port_places(_STUB)
    laid = cables(scene.tiles, scene.grid)
    meetings = _meetings(curves, [one for *_, way in laid for one in way if _is_crossed(scene, one)])
    pieces: list[tuple[Curve, RGB]] = []
    overs: list[_Over] = []
    for (start, end, strands), colour in zip(laid, scene.colours, strict=True):
        rgb = PALETTE[colour]
        points = [sockets[[start]]]
        for strand in strands:
            curve = strand_curve(curves, strand)
            if _is_crossed(scene, strand):
                at, place = next(meetings)
                if _is_over(scene, strand):
                    one, two, three = (curve[max(0, at - n) : at + n + 2] for n in (1, 2, 3))
                    overs.append(_Over((one, two, three), rgb, len(pieces) + 1))
                else:
                    pieces.append((np.concatenate([*points, curve[: at + 1], place]), rgb))
                    points, curve = [place], curve[at + 1 :]
            points.append(curve)
        pieces.append((np.concatenate([*points, sockets[[end]]]), rgb))
    return pieces, overs


def _meetings(curves: NDArray[np.float64], strands: Sequence[Strand]) -> Iterator[tuple[int, Curve]]:
    """Yield for each strand its segment in which the tile's other cable crosses it, and where, ``[1, 2]``."""
    others = [
        (one.tile, *((LEFT, RIGHT) if one.enter in (TOP, BOTTOM) else (TOP, BOTTOM))) for one in strands
    ]
    mine = [(one.tile, one.enter, one.leave) for one in strands]
    which, found = all_crossing_points(curves[_columns(mine)], curves[_columns(others)])
    for first in np.searchsorted(which, np.arange(len(strands))).tolist():
        yield int(found[first, 2]), found[first : first + 1, :2]


def _columns(rows: Sequence[tuple[int, int, int]]) -> tuple[NDArray[np.int64], ...]:
    """Turn (tile, enter, leave) a row into three arrays, to index curves with."""
    return tuple(np.array(rows, np.int64).reshape(-1, 3).T)


def _is_crossed(scene: WireScene, strand: Strand) -> bool:
    return scene.tiles[strand.tile] < BENDS_LEFT


def _is_over(scene: WireScene, strand: Strand) -> bool:
    return (strand.enter in (TOP, BOTTOM)) == (scene.tiles[strand.tile] == UPRIGHT_OVER)


def _cross(
    pixels: NDArray[np.uint8], label_map: NDArray[np.uint8], board: NDArray[np.uint8], over: _Over
) -> None:
    """Cut a gap into what lies under a cable, down to the bare board, and paint the cable through it."""
    near, farther, farthest = over.stretches
    window = rows, columns = over.window
    gap = np.zeros(board.shape[:2], np.uint8)
    _draw(gap, near - (columns.start, rows.start), (255,), GAP_WIDTH)
    pixels[window][gap > 0] = board[gap > 0]
    label_map[window][gap > 0] = 0
    # The ends of what is painted again would show, were each not hidden by the next.
    _draw(pixels, farther + _SHADOW_SHIFT, _SHADOW, CABLE_WIDTH + 2)
    _draw(pixels, farther, shade(over.rgb, _RIM), CABLE_WIDTH + 2)
    _draw(pixels, farthest, over.rgb, CABLE_WIDTH)
    _draw(label_map, farthest, (over.piece,), CABLE_WIDTH)


def _stick(pixels: NDArray[np.uint8], sign: Sign) -> Silhouette:
    """Paint an upright sign on an array, and return what it covers.

    Only the part around the sign becomes an image: to turn the whole scene into one and back takes longer
    than to paint all labels.
    """
    left, top = (
        max(0, at - side // 2 - _LABEL_ROOM) for at, side in zip(sign.center, sign.size, strict=True)
    )
    window = (
        slice(top, sign.center[1] + sign.size[1] // 2 + _LABEL_ROOM),
        slice(left, sign.center[0] + sign.size[0] // 2 + _LABEL_ROOM),
    )
    part = Image.fromarray(pixels[window])
    shape = paste_sign(part, replace(sign, center=(sign.center[0] - left, sign.center[1] - top)))
    pixels[window] = np.asarray(part)
    return Silhouette(shape.left + left, shape.top + top, shape.mask)


def _draw_cable(pixels: NDArray[np.uint8], points: Curve, rgb: RGB) -> None:
    _draw(pixels, points, shade(rgb, _RIM), CABLE_WIDTH + 2)
    _draw(pixels, points, rgb, CABLE_WIDTH)


def _draw(pixels: NDArray[np.uint8], points: Curve, colour: tuple[int, ...], width: int) -> None:
    """Draw a line through points: smoothly in a picture, in whole pixels in a map of labels."""
    import cv2

    fixed = np.round(points * (1 << _SUBPIXELS)).astype(np.int32)
    kind = cv2.LINE_AA if pixels.ndim == 3 else cv2.LINE_8
    cv2.polylines(pixels, [fixed], False, colour, width, kind, _SUBPIXELS)
