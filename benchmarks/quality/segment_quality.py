"""Measure the segmentation tools against scenes whose truth is known, and print the tables.

Usage: python benchmarks/quality/segment_quality.py [--scenes 50] [--views 30]

Point and box prompts: drawn shapes on four kinds of background (512 x 512 pixels), mean intersection over
union. No prompt: the signs of `Pixelis/ZoomRead-v0`, in the overview and in zoomed views. A sign counts as
found when a region's box overlaps the sign's with an IoU of 0.4 or more and the region has the sign's colour
name. Times are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from pixelis.envs.pixel.drawing.signs import Sign
from pixelis.envs.pixel.tools.salient import Region, salient_regions
from pixelis.envs.pixel.tools.segment import segment_box, segment_point
from pixelis.envs.pixel.tools.view import crop_view, square_box
from pixelis.envs.pixel.zoom_read.paint import paint
from pixelis.envs.pixel.zoom_read.scene import LEVELS, sample_scene

SIDE = 512
KINDS = ("flat", "gradient", "noise", "texture", "text")
_INK = (245, 245, 245)


@dataclass(frozen=True)
class Prompted:
    """A view, the true mask of one object in it, and the prompts a user would give for it."""

    view: np.ndarray
    truth: np.ndarray
    point: tuple[int, int]
    box: tuple[int, int, int, int]


def shape_mask(rng: np.random.Generator, center: tuple[int, int], radius: int) -> np.ndarray:
    """Return a filled disc, ellipse, turned rectangle, triangle, pentagon or star as 0/1 ``[SIDE, SIDE]``."""
    mask = np.zeros((SIDE, SIDE), np.uint8)
    kind = rng.integers(6)
    if kind < 2:
        axes = (radius, radius if kind == 0 else int(radius * rng.uniform(0.5, 0.9)))
        cv2.ellipse(mask, center, axes, float(rng.uniform(0, 180)), 0, 360, (1,), -1)
        return mask
    if kind == 2:
        rectangle = (center, (2 * radius, radius * float(rng.uniform(0.8, 1.6))), float(rng.uniform(0, 90)))
        corners = cv2.boxPoints(rectangle)
    else:
        count = (3, 5, 10)[kind - 3]
        reach = np.where((np.arange(count) % 2 == 1) & (count == 10), 0.5 * radius, radius)
        angles = rng.uniform(0, math.tau) + np.arange(count) * math.tau / count
        corners = np.stack([center[0] + reach * np.cos(angles), center[1] + reach * np.sin(angles)], -1)
    cv2.fillPoly(mask, [np.round(corners).astype(np.int32)], (1,))
    return mask


def prompted_scene(kind: str, seed: int) -> Prompted:
    """Draw six separate shapes of distinct colours on a background; one is the target."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    colours = [rng.integers(30, 226, 3).astype(np.float64)]
    image = np.ones((SIDE, SIDE, 3)) * colours[0]
    if kind == "texture":
        coarse = rng.random((24, 24, 3)).astype(np.float32)
        image = 0.6 * image + 110 * cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    masks: list[np.ndarray] = []
    while len(masks) < 6:
        radius = int(rng.integers(24, 78))
        center = int(rng.integers(radius, SIDE - radius)), int(rng.integers(radius, SIDE - radius))
        mask, colour = shape_mask(rng, center, radius), rng.integers(30, 226, 3).astype(np.float64)
        near = any(np.abs(colour - other).sum() < 90 for other in colours)
        if near or any((mask & other).any() for other in masks):
            continue
        fill = np.ones((SIDE, SIDE, 3)) * colour
        if kind == "gradient":
            ramp = np.linspace(-45, 45, SIDE) * SIDE / (4 * radius)
            fill += ramp[None, :, None] if rng.random() < 0.5 else ramp[:, None, None]
        if kind == "text":
            lettering = np.zeros((SIDE, SIDE), np.uint8)
            cv2.putText(lettering, "A7", (center[0] - 12, center[1] + 6), cv2.FONT_HERSHEY_SIMPLEX, 0.6, 1, 2)
            fill[lettering > 0] = _INK
        image = np.where(mask[..., None] > 0, fill, image)
        masks.append(mask)
        colours.append(colour)
    if kind == "gradient":
        image = image + np.linspace(-30, 30, SIDE)[None, :, None]
    image = cv2.GaussianBlur(np.clip(image, 0, 255), (0, 0), 0.8)
    image += rng.normal(0, 16 if kind == "noise" else 2, image.shape)
    return _prompts(rng, np.clip(image, 0, 255).astype(np.uint8), masks[rng.integers(6)])


def _prompts(rng: np.random.Generator, view: np.ndarray, truth: np.ndarray) -> Prompted:
    """A point well inside the object, and its box grown by up to 4 pixels."""
    depth = cv2.distanceTransform(np.pad(truth, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    ys, xs = np.nonzero(depth > 0.5 * depth.max())
    index = rng.integers(len(xs))
    rows, columns = np.flatnonzero(truth.any(1)), np.flatnonzero(truth.any(0))
    grow = rng.integers(0, 5, 4)
    box = (columns[0] - grow[0], rows[0] - grow[1], columns[-1] + 1 + grow[2], rows[-1] + 1 + grow[3])
    x0, y0, x1, y1 = (int(min(max(value, 0), SIDE)) for value in box)
    return Prompted(view, truth.astype(bool), (int(xs[index]), int(ys[index])), (x0, y0, x1, y1))


def mask_iou(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two bool masks."""
    return float((a & b).sum() / max(1, (a | b).sum()))


def box_iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union of two boxes [x0, y0, x1, y1]."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


@dataclass(frozen=True)
class SignScore:
    """Of one view: signs wholly in it, those found, regions, those on no sign, and the CPU time."""

    signs: int
    found: int
    regions: int
    false: int
    milliseconds: float


def score_signs(signs: Sequence[Sign], scene_size: int, view: np.ndarray, box: Sequence[float]) -> SignScore:
    """List the regions of a view and compare them with the scene's signs."""
    started = time.thread_time()
    regions = salient_regions(view)
    elapsed = 1000 * (time.thread_time() - started)
    side = view.shape[0]
    boxes = [sign_box(sign, scene_size, side, box) for sign in signs]
    whole = [i for i, b in enumerate(boxes) if min(b) >= 0 and max(b) <= side]
    found = sum(is_found(boxes[i], signs[i].colour, regions) for i in whole)
    clipped = [[min(max(value, 0), side) for value in b] for b in boxes]
    false = sum(all(box_iou(region.box, b) < 0.3 for b in clipped) for region in regions)
    return SignScore(len(whole), found, len(regions), false, elapsed)


def sign_box(sign: Sign, scene_size: int, side: int, view_box: Sequence[float]) -> list[float]:
    """The box of a sign in pixels of a view; parts may be outside."""
    scale = side / (view_box[2] - view_box[0])
    return [(value - view_box[i % 2]) * scale for i, value in enumerate(sign.box(scene_size))]


def is_found(box: Sequence[float], colour: str, regions: Sequence[Region]) -> bool:
    """Whether a region of the right colour name covers a sign's box with an IoU of at least 0.4."""
    return any(region.colour == colour and box_iou(region.box, box) >= 0.4 for region in regions)


def _timed(function: Callable[..., np.ndarray], *arguments: object) -> tuple[np.ndarray, float]:
    started = time.thread_time()
    result = function(*arguments)
    return result, 1000 * (time.thread_time() - started)


def print_prompted(scenes: int) -> None:
    """Print the table of point and box prompts."""
    print(f"Prompts, {scenes} scenes of each background")
    print("| background | point: IoU mean | median | >= .9 | ms | box: IoU mean | median | >= .9 | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        examples = [prompted_scene(kind, seed) for seed in range(scenes)]
        cells = []
        for find in (_by_point, _by_box):
            results = [find(example) for example in examples]
            ious = np.array([iou for iou, _ in results])
            milliseconds = float(np.median([elapsed for _, elapsed in results]))
            cells += [f"{ious.mean():.3f}", f"{np.median(ious):.3f}", f"{(ious >= 0.9).mean():.2f}"]
            cells.append(f"{milliseconds:.1f}")
        print(f"| {kind} | {' | '.join(cells)} |")


def _by_point(example: Prompted) -> tuple[float, float]:
    mask, elapsed = _timed(segment_point, example.view, *example.point)
    return mask_iou(mask, example.truth), elapsed


def _by_box(example: Prompted) -> tuple[float, float]:
    mask, elapsed = _timed(segment_box, example.view, example.box)
    return mask_iou(mask, example.truth), elapsed


def print_salient(views: int) -> None:
    """Print the table of salient regions by difficulty and zoom factor."""
    print(f"\nNo prompt, {views} views of each difficulty and factor")
    print("| difficulty | factor | signs | recall | regions on no sign, a view | ms median | ms max |")
    print("|---|---|---|---|---|---|---|")
    for difficulty in range(len(LEVELS)):
        for factor in (1, 2, 4, 8):
            scores = [_score_view(difficulty, factor, seed) for seed in range(views)]
            signs, found = sum(s.signs for s in scores), sum(s.found for s in scores)
            false, times = sum(s.false for s in scores), [s.milliseconds for s in scores]
            print(
                f"| {difficulty} | {factor} | {signs} | {found / max(1, signs):.4f} | {false / views:.3f} "
                f"| {np.median(times):.1f} | {max(times):.1f} |"
            )


def _score_view(difficulty: int, factor: int, seed: int) -> SignScore:
    scene = sample_scene(np.random.default_rng([seed, difficulty]), difficulty, "train")
    rng = np.random.default_rng([seed, difficulty, factor])
    sign = scene.signs[rng.integers(len(scene.signs))]
    center = np.array(sign.center) / scene.size + rng.uniform(-0.25, 0.25, 2) / factor
    box = square_box(center.tolist(), factor)
    return score_signs(scene.signs, scene.size, crop_view(paint(scene), box, 384), box)


def main() -> None:
    """Read the options and print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=50, help="scenes of each background")
    parser.add_argument("--views", type=int, default=30, help="views of each difficulty and factor")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    salient_regions(np.zeros((64, 64, 3), np.uint8))  # build the colour table outside the timing
    print_prompted(options.scenes)
    print_salient(options.views)


if __name__ == "__main__":
    main()
