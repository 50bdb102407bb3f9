"""Turn a TrackRead scene into frames: the same bytes on every machine, each painted when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from PIL import Image, ImageDraw

from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.video import Film, Placement
from pixelis.envs.pixel.drawing.sign_paint import draw_board
from pixelis.envs.pixel.drawing.sign_texts import sign_text
from pixelis.envs.pixel.drawing.signs import Sign
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view, silhouette
from pixelis.envs.pixel.tools.ocr import PixelBox
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.tools.palette import RGB
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.track_read.cars import Picture as Sprite
from pixelis.envs.pixel.track_read.cars import car_picture, tree_picture
from pixelis.envs.pixel.track_read.motion import bridge_box, tree_box
from pixelis.envs.pixel.track_read.scene import CLEAR, GLARE, LENGTHS, ROADS, SMEAR, TREE, TrackScene, Vehicle

PLATE_SIZE, PLATE_TEXT = (64, 22), 14
"""Width and height of a plate, and the line height of its code, native pixels."""

_PAPER: RGB = (240, 240, 236)
_WASHED: RGB = (252, 252, 250)
_INK: RGB = (20, 20, 24)
_ASPHALT: RGB = (112, 113, 116)
_PAVING: RGB = (168, 167, 163)
_GRASS: RGB = (142, 150, 132)
_GRAIN = 256  # pixels after which the ground's grain repeats
_COARSE = 4  # native pixels along the sides of those that are counted to see how much of a car is visible
_PLATE_HEIGHT = 0.59  # of the plate's middle, share of the vehicle's height from the top


@dataclass(frozen=True)
class Layer:
    """A picture in a frame.

    Attributes:
        sprite: the picture and what it covers.
        left: column of its left edge, native pixels; may be outside.
        top: row of its upper edge.
        vehicle: index of the vehicle it shows, or ``None``.
    """

    sprite: Sprite
    left: int
    top: int
    vehicle: int | None = None


def track_film(scene: TrackScene) -> Film:
    """Return the frames of a scene, painted when they are looked at, and what is known about them."""
    return Film(
        frames=scene.frames,
        picture_of=partial(_frame_picture, scene),
        part_of=partial(paint_part, scene),
        places_of=partial(vehicle_places, scene),
    )


def _frame_picture(scene: TrackScene, frame: int) -> Picture:
    return Picture(
        paint_part(scene, frame, (0, 0, scene.size, scene.size)),
        partial(plate_texts, scene, frame),
        partial(track_labels, scene, frame),
    )


def paint_part(scene: TrackScene, frame: int, box: PixelBox) -> Image.Image:
    """The part of a frame in a box of native pixels inside the scene: only what is there is painted."""
    image = _ground(scene.size, scene.seed).crop(box)
    for layer in layers(scene, frame, box):
        picture, mask = layer.sprite
        image.paste(picture, (layer.left - box[0], layer.top - box[1]), mask)
    return image


def layers(scene: TrackScene, frame: int, box: PixelBox | None = None) -> list[Layer]:
    """What stands or drives there, from the back to the front: vehicles and trees, at last the bridge.

    With a box (native pixels), only what may be seen in it.
    """
    found = [
        (vehicle.path[frame][1], Layer(_with_plate(vehicle, vehicle.states[frame]), *place[:2], i))
        for i, vehicle in enumerate(scene.vehicles)
        if _meet(place := vehicle.box(frame), box)
    ]
    found += [
        (tree[1], Layer(tree_picture(index % 4), *place[:2]))
        for index, tree in enumerate(scene.trees)
        if _meet(place := tree_box(tree), box)
    ]
    found.sort(key=lambda item: item[0])
    standing, width = [layer for _, layer in found], scene.bridge[1] - scene.bridge[0]
    if width and _meet(place := bridge_box(scene.bridge), box):
        standing.append(Layer(_bridge(width), *place[:2]))
    return standing


def _meet(place: PixelBox, box: PixelBox | None) -> bool:
    """Return whether two boxes share an area; None is all of the plane."""
    return box is None or (
        place[0] < box[2] and place[1] < box[3] and place[2] > box[0] and place[3] > box[1]
    )


# ---------------------------------------------------------------------- what is known


def plate_texts(scene: TrackScene, frame: int, view_box: Box, view_size: int) -> list[TextItem]:
    """Return where the codes are that can be read in a frame."""
    scale = view_size / ((view_box[2] - view_box[0]) * scene.size)
    origin = view_box[0] * scene.size, view_box[1] * scene.size
    clear = [v for v in scene.vehicles if v.code and v.states[frame] == CLEAR]
    return [sign_text(plate_sign(vehicle, vehicle.box(frame)), scale, origin) for vehicle in clear]


def track_labels(scene: TrackScene, frame: int, view_box: Box, view_size: int) -> Labels:
    """Which thing every pixel of a view of a frame shows: 1 + the index of its layer, 0: ground."""
    return label_view(_silhouettes(scene, frame), scene.size, view_box, view_size)


@lru_cache(maxsize=4)
def _silhouettes(scene: TrackScene, frame: int) -> tuple[Silhouette, ...]:
    return tuple(silhouette(one.sprite[1], one.left, one.top) for one in layers(scene, frame))


def vehicle_places(scene: TrackScene, frame: int) -> list[Placement]:
    """Return where every vehicle is in a frame; how much of it can be seen is found out when asked for."""
    return [
        Placement(_clipped(vehicle.box(frame), scene.size), partial(_visible_share, scene, frame, index))
        for index, vehicle in enumerate(scene.vehicles)
    ]


def _visible_share(scene: TrackScene, frame: int, vehicle: int) -> float:
    """Return the share 0-1 of a vehicle that can be seen; only what may hide it is looked at."""
    near = layers(scene, frame, scene.vehicles[vehicle].box(frame))
    shapes = [silhouette(one.sprite[1], one.left, one.top) for one in near]
    mine = [one.vehicle for one in near].index(vehicle)
    labels = label_view(shapes, scene.size, (0.0, 0.0, 1.0, 1.0), scene.size // _COARSE)
    whole = np.count_nonzero(shapes[mine].mask) / _COARSE**2
    return min(1.0, float(np.count_nonzero(labels == mine + 1) / whole))


def _clipped(box: PixelBox, size: int) -> Box | None:
    x0, y0, x1, y1 = (min(max(value, 0), size) / size for value in box)
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


# ---------------------------------------------------------------------- plates


def plate_sign(vehicle: Vehicle, box: PixelBox) -> Sign:
    """The plate of a vehicle that fills a box, as a sign."""
    middle = (box[0] + box[2]) // 2, box[1] + round(_PLATE_HEIGHT * (box[3] - box[1]))
    return Sign("sign", "beige", _PAPER, _INK, vehicle.code, middle, PLATE_SIZE, 0, PLATE_TEXT, vehicle.font)


def _with_plate(vehicle: Vehicle, state: int) -> Sprite:
    if not vehicle.code:
        return car_picture(vehicle.kind, vehicle.colour, vehicle.right)
    return _car_with_plate(vehicle.kind, vehicle.colour, vehicle.right, vehicle.code, vehicle.font, state)


@lru_cache(maxsize=256)
def _car_with_plate(kind: str, colour: str, right: bool, code: str, font: str, state: int) -> Sprite:
    image, mask = car_picture(kind, colour, right)
    vehicle = Vehicle(kind, colour, right, (), code, font, ())
    sign = plate_sign(vehicle, (0, 0, *LENGTHS[kind]))
    board, edge = draw_board(sign)
    if state == GLARE:
        board = Image.new("RGB", board.size, _WASHED)
    elif state == SMEAR:
        narrow = board.resize((4, board.height), Image.Resampling.BOX)
        board = narrow.resize(board.size, Image.Resampling.BILINEAR)
    image = image.copy()
    image.paste(board, (sign.center[0] - board.width // 2, sign.center[1] - board.height // 2), edge)
    return image, mask


# ---------------------------------------------------------------------- the ground and the bridge


@lru_cache(maxsize=12)
def _ground(size: int, seed: int) -> Image.Image:
    """Lawn, pavement and two roads of four lanes; the roads lie where `ROADS` says."""
    rng = np.random.Generator(np.random.PCG64(seed))
    image = Image.new("RGB", (size, size), _GRASS)
    draw = ImageDraw.Draw(image)
    for road in ROADS:
        top, low = road[0] - 74, road[-1] + 22
        draw.rectangle((0, top - 46, size, low + 34), fill=_PAVING)
        for x in range(-int(rng.integers(60)), size, 64):
            draw.line((x, top - 46, x, top - 8), fill=(154, 153, 150), width=2)
        draw.rectangle((0, top - 8, size, low + 8), fill=(196, 195, 191))
        draw.rectangle((0, top, size, low), fill=_ASPHALT)
        for lane in road[:-1]:
            for x in range(-int(rng.integers(150)), size, 150):
                draw.rectangle((x, lane + 14, x + 70, lane + 18), fill=(206, 206, 202))
    pixels = np.asarray(image).copy()
    grain = np.repeat(rng.integers(-4, 5, size=(_GRAIN, _GRAIN, 1), dtype=np.int8).view(np.uint8), 3, 2)
    row = np.ascontiguousarray(np.tile(grain, (1, -(-size // _GRAIN), 1))[:, :size])
    for y in range(0, size, _GRAIN):
        band = pixels[y : y + _GRAIN]
        band += row[: len(band)]  # two's complement, far from 0 and 255
    image = Image.fromarray(pixels)
    _plant(image, rng)
    return image


def _plant(image: Image.Image, rng: np.random.Generator) -> None:
    """Trees on the lawns above and below the roads, far from them."""
    for foot in (ROADS[0][0] - 160, image.height + 90):
        for x in range(int(rng.integers(-60, 120)), image.width, 260):
            if rng.integers(3):
                picture, mask = tree_picture(int(rng.integers(4)))
                shift = int(rng.integers(-50, 51)), int(rng.integers(-40, 41))
                image.paste(picture, (x + shift[0], foot - TREE[1] + shift[1]), mask)


@lru_cache(maxsize=4)
def _bridge(width: int) -> Sprite:
    """A footbridge seen from above: planks between two railings."""
    _, top, _, low = bridge_box((0, width))
    image = Image.new("RGB", (width, low - top), (150, 142, 132))
    draw = ImageDraw.Draw(image)
    for y in range(0, low - top, 22):
        draw.line((0, y, width, y), fill=(134, 126, 117), width=2)
    for x in (0, width - 13):
        draw.rectangle((x, 0, x + 12, low - top), fill=(108, 110, 114))
        for y in range(0, low - top, 66):
            draw.rectangle((x + 2, y, x + 10, y + 8), fill=(176, 178, 180))
    return image, Image.new("L", image.size, 255)
