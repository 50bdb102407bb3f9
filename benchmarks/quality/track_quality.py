"""Measure TRACK's two methods, and the choice between them, on videos whose truth is known.

Usage: python benchmarks/quality/track_quality.py [--videos 40]

For every level of ``Pixelis/TrackRead-v0`` the car that is asked for is followed through all frames from its
true box in frame 0; and, without a street, a disc of one colour, a turning ellipse of one colour and a patch
of gravel, each beside two look-alikes (60 frames of 320 x 240 pixels on a mottled ground, hidden for some).
``in sight``: the share of the frames that show at least half of the object in which it is reported with an
IoU of 0.5 or more: median, mean and least of the videos, and the share of videos in which it is 1.
``invented``: the share of the frames that show less than a fifth of it for which a box is reported.
Times are CPU time of one thread, the frames' painting included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np
from PIL import Image

from pixelis.envs.pixel.base.tool_scores import box_iou
from pixelis.envs.pixel.base.video import Film, Placement, film_of
from pixelis.envs.pixel.tools.locators import Method
from pixelis.envs.pixel.tools.tracking import Sighting, follow
from pixelis.envs.pixel.track_read.paint import track_film
from pixelis.envs.pixel.track_read.sample import LEVELS, sample_track_scene

METHODS: tuple[Method | None, ...] = (*get_args(Method), None)
TOYS = ("flat disc", "flat ellipse, turning", "gravel")
_TOY_COLOURS = ((208, 32, 38), (38, 150, 64), (32, 98, 214), (246, 122, 178))
_TOY_SIZE, _TOY_FRAMES, _TOY_SIDE = (320, 240), 60, 32
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Video:
    """Frames, and where the object is in each.

    Attributes:
        film: the frames.
        size: width and height of a frame, native pixels.
        truth: box (native pixels, ``None`` outside) and visible share of the object in every frame.
    """

    film: Film
    size: tuple[int, int]
    truth: tuple[tuple[Box | None, float], ...]


@dataclass(frozen=True)
class Outcome:
    """What a method did with a video: two shares 0-1 (NaN for none of such frames), milliseconds a frame."""

    in_sight: float
    invented: float
    milliseconds: float
    method: Method


def run(video: Video, method: Method | None) -> Outcome:
    """Follow a video's object from its true box in the first frame to the last frame."""
    first, _ = video.truth[0]
    assert first is not None  # every object begins in full view
    start = time.process_time()
    trail = follow(video.film.part_of, video.size, Sighting(0, first, 1.0), video.film.frames - 1, method)
    spent = (time.process_time() - start) / video.film.frames
    seen = {one.frame: one.box for one in trail.sightings[1:]}
    good, invented = [], []
    for frame, (box, visible) in enumerate(video.truth[1:], 1):
        if visible >= 0.5 and box is not None:
            good.append(frame in seen and box_iou(seen[frame], box) >= 0.5)
        elif visible < 0.2:
            invented.append(frame in seen)
    return Outcome(
        float(np.mean(good)),
        float(np.mean(invented)) if invented else float("nan"),
        1e3 * spent,
        trail.method,
    )


# ---------------------------------------------------------------------- videos


def street_videos(level: int, count: int) -> Iterator[Video]:
    """Draw videos of one level of TrackRead."""
    for seed in range(count):
        scene, target = sample_track_scene(np.random.default_rng(seed), level, "train")
        film = track_film(scene)
        assert film.places_of is not None  # a painted street's truth is known
        places = [film.places_of(frame)[target] for frame in range(film.frames)]
        yield Video(film, (scene.size, scene.size), tuple(_native(place, scene.size) for place in places))


def _native(place: Placement, size: int) -> tuple[Box | None, float]:
    if place.box is None:
        return None, place.visible
    x0, y0, x1, y1 = (value * size for value in place.box)
    return (x0, y0, x1, y1), place.visible


def toy_videos(kind: str, count: int) -> Iterator[Video]:
    """Draw videos of a flat disc, a flat turning ellipse or a patch of gravel, with two look-alikes."""
    for seed in range(count):
        rng = np.random.default_rng([TOYS.index(kind), seed])
        colour = _TOY_COLOURS[int(rng.integers(len(_TOY_COLOURS)))]
        stones = rng.integers(40, 216, (8, 8, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        spots = rng.integers(104, 152, (_TOY_SIZE[1] // 8, _TOY_SIZE[0] // 8), dtype=np.uint8)
        ground = Image.fromarray(spots.repeat(8, 0).repeat(8, 1)).convert("RGB")
        paint = Image.fromarray(stones) if kind == "gravel" else Image.new("RGB", (32, 32), colour)
        paths = [_toy_path(rng, row) for row in range(3)]
        bar = int(rng.integers(130, 160))
        images = [
            _toy_frame(ground, paint, _toy_mask(kind, i), [path[i] for path in paths], bar)
            for i in range(_TOY_FRAMES)
        ]
        truth = []
        for x, y in paths[0]:
            hidden = max(0, min(x + _TOY_SIDE, bar + 36) - max(x, bar))
            truth.append(((float(x), float(y), float(x + 32), float(y + 32)), 1 - hidden / _TOY_SIDE))
        yield Video(film_of(images), _TOY_SIZE, tuple(truth))


def _toy_mask(kind: str, frame: int) -> Image.Image:
    """What the object covers: all of a square, a disc, or an ellipse that turns by 4 degrees a frame."""
    side = _TOY_SIDE
    if kind == "gravel":
        return Image.new("L", (side, side), 255)
    angle = np.radians(4 * frame)
    steps = (2 * np.arange(side) + 1 - side) / side
    x, y = steps, steps[:, None]
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    width = 1.0 if kind == "flat disc" else 0.55
    return Image.fromarray(np.uint8(255) * ((along**2 + (across / width) ** 2) <= 1).astype(np.uint8))


def _toy_path(rng: np.random.Generator, row: int) -> list[tuple[int, int]]:
    speed, start = rng.uniform(3.5, 4.2), rng.uniform(10, 30)
    sway = rng.uniform(2, 6)
    return [
        (round(start + speed * i), round(30 + 70 * row + sway * np.sin(i / 6))) for i in range(_TOY_FRAMES)
    ]


def _toy_frame(
    ground: Image.Image, paint: Image.Image, mask: Image.Image, places: list[tuple[int, int]], bar: int
) -> Image.Image:
    image = ground.copy()
    for place in places:
        image.paste(paint, place, mask)
    image.paste((90, 88, 84), (bar, 0, bar + 36, _TOY_SIZE[1]))
    return image


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the trackers on videos whose truth is known.")
    parser.add_argument("--videos", type=int, default=40, help="of each kind")
    options = parser.parse_args()
    kinds = {f"level {level}": partial(street_videos, level) for level in range(len(LEVELS))}
    kinds |= {kind: partial(toy_videos, kind) for kind in TOYS}
    print("| videos | method | in sight: median | mean | least | all frames right | invented | ms/frame |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, draw in kinds.items():
        videos = list(draw(options.videos))
        for method in METHODS:
            print_row(kind, method, [run(video, method) for video in videos])


def print_row(kind: str, method: Method | None, outcomes: list[Outcome]) -> None:
    """Print the row of one method on one kind of videos."""
    good = np.array([one.in_sight for one in outcomes])
    invented = np.array([one.invented for one in outcomes])
    known = invented[~np.isnan(invented)]
    name = method or f"chosen ({np.mean([one.method == 'template' for one in outcomes]):.0%} template)"
    print(
        f"| {kind} | {name} | {np.median(good):.3f} | {good.mean():.3f} | {good.min():.3f} "
        f"| {(good == 1).mean():.2f} | {f'{known.mean():.3f}' if len(known) else '–'} "
        f"| {np.median([one.milliseconds for one in outcomes]):.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
