"""Measure how wrong the areas are that SEGMENT and GET_PROPERTIES give, on the shapes of SizeCompare.

Usage: python benchmarks/quality/area_error.py [--scenes 40] [--factors 4 5]

For each difficulty and zoom factor: the measured visible area over the painted one, less 1, of each shape.
The view is around a point up to four pixels off its middle, or, at factor 4, also exactly on the scene's
pixels ("on pixels"), which a view then shows unchanged. ``spread`` is the largest error less the least: two
shapes whose areas differ by more are never taken for each other, wherever they lie and however they are
filled. The generator's margins (``LEVELS`` of ``pixelis.envs.pixel.size_compare.scene``) are to be larger.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from pixelis.envs.pixel.size_compare.paint import paint_sizes, size_labels
from pixelis.envs.pixel.size_compare.scene import LEVELS, SizeScene, sample_size_scene
from pixelis.envs.pixel.tools.ocr_truth import TruthReader
from pixelis.envs.pixel.tools.toolset import pixel_toolset
from pixelis.envs.pixel.tools.workspace import WHOLE, PixelWorkspace

VIEW = 384


def area_errors(scene: SizeScene, factor: float, rng: np.random.Generator | None) -> Iterator[float]:
    """Yield measured over painted area - 1 of every shape, seen ``factor`` times closer than the overview.

    ``rng`` shifts the views; without one they lie on the scene's pixels.
    """
    workspace = PixelWorkspace(paint_sizes(scene)[0], VIEW, lambda box: TruthReader())
    tools = pixel_toolset(lambda task: workspace)
    labels = size_labels(scene, WHOLE, scene.size)
    for number in range(1, len(scene.shapes) + 1):
        rows, columns = np.nonzero(labels == number)
        middle = np.array([columns.min() + columns.max(), rows.min() + rows.max()]) / 2
        center = (np.round(middle) if rng is None else middle + rng.uniform(-4, 4, 2)) / scene.size
        point = [float(columns.mean()) / scene.size, float(rows.mean()) / scene.size]
        tools.call(workspace, "ZOOM", {"center": center.tolist(), "factor": factor})
        region = tools.call(workspace, "SEGMENT", {"point": point}).data["regions"][0]["region"]
        share = tools.call(workspace, "GET_PROPERTIES", {"region": region}).data["area_share"]
        x0, y0, x1, y1 = workspace.view_box
        yield share * (x1 - x0) * (y1 - y0) * scene.size**2 / len(rows) - 1


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the tools' area error on SizeCompare's shapes.")
    parser.add_argument("--scenes", type=int, default=40, help="scenes of each difficulty")
    parser.add_argument("--factors", type=float, nargs="+", default=[4.0, 5.0], help="zoom factors")
    options = parser.parse_args()
    print("| difficulty | margin | factor | shapes | mean | sd | least | most | spread |")
    print("|---|---|---|---|---|---|---|---|---|")
    for difficulty in range(len(LEVELS)):
        print_row(difficulty, 4.0, options.scenes, None)
        for factor in options.factors:
            print_row(difficulty, factor, options.scenes, np.random.default_rng(difficulty))


def print_row(difficulty: int, factor: float, scenes: int, rng: np.random.Generator | None) -> None:
    """Measure the scenes of one difficulty at one factor and print a row of the table."""
    errors = [
        error
        for seed in range(scenes)
        for error in area_errors(
            sample_size_scene(np.random.default_rng(seed), difficulty, "train")[0], factor, rng
        )
    ]
    print(
        f"| {difficulty} | {LEVELS[difficulty].margin:.2f} | {factor:g}{'' if rng else ' on pixels'} "
        f"| {len(errors)} | {np.mean(errors):.4f} | {np.std(errors):.4f} | {min(errors):.4f} "
        f"| {max(errors):.4f} | {np.ptp(errors):.4f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
