"""Measure how wrong the heights are that SEGMENT and READ_TEXT give, on the charts of ChartRead.

Usage: python benchmarks/quality/chart_error.py [--scenes 20] [--points 6]

For each difficulty, in native pixels of the scene: how far the upper edge of a bar's box, or the middle of a
mark's, is from the painted one (``data``), and how far the middle of a label's box is from its tick
(``label``); views are up to four pixels off. ``pixel`` is what one native pixel is worth at the value asked
for, per cent of the value, at most over all scenes: 2 % over it is how many pixels an answer may be off. The
generator (``ASKED`` of ``pixelis.envs.pixel.chart_read.sample``) is to keep that well above the errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from pixelis.envs.pixel.chart_read.env import TOLERANCE
from pixelis.envs.pixel.chart_read.paint import paint_chart
from pixelis.envs.pixel.chart_read.sample import LEVELS, sample_chart
from pixelis.envs.pixel.chart_read.scene import ChartScene
from pixelis.envs.pixel.chart_read.text import tick_texts
from pixelis.envs.pixel.tools.ocr import Reader, make_reader
from pixelis.envs.pixel.tools.toolset import pixel_toolset
from pixelis.envs.pixel.tools.workspace import PixelWorkspace

VIEW = 384


def pixel_worth(scene: ChartScene, series: int, category: int) -> float:
    """Return how much a value changes with one native pixel of height, share of the value."""
    height = scene.series[series].heights[category]
    value = scene.axis.value(height / scene.height)
    return scene.axis.value((height + 1) / scene.height) / value - 1


def height_errors(scene: ChartScene, points: int, rng: np.random.Generator) -> Iterator[float]:
    """Yield outlined less painted row of some bars or marks, native pixels."""
    workspace = _open(scene, make_reader("truth"))
    tools = pixel_toolset(lambda task: workspace)
    for _ in range(points):
        series, category = int(rng.integers(len(scene.series))), int(rng.integers(len(scene.categories)))
        column, row = scene.point(series, category)
        point, factor = (column, row), 12.0
        if scene.kind == "bars":
            left, _, right, _ = scene.bar(series, category)
            point, factor = ((left + right) / 2, row + 10), min(12.0, max(5.0, 960 / (right - left)))
        center = (np.array(point) + rng.uniform(-4, 4, 2)) / scene.size
        tools.call(workspace, "ZOOM", {"center": center.tolist(), "factor": factor})
        found = tools.call(workspace, "SEGMENT", {"point": [value / scene.size for value in point]})
        _, top, _, bottom = found.data["regions"][0]["box"]
        yield (top if scene.kind == "bars" else (top + bottom) / 2) * scene.size - row


def label_errors(scene: ChartScene, reader: Reader, rng: np.random.Generator) -> Iterator[float]:
    """Yield the middle of each label that was read, less the row of its tick, native pixels."""
    workspace = _open(scene, reader)
    tools = pixel_toolset(lambda task: workspace)
    for label in tick_texts(scene):
        center = np.array((label.left + label.width / 2, label.row))
        rim = np.array((label.width / 2 + 8, 17))
        box = np.clip(np.concatenate([center - rim, center + rim]) / scene.size, 0, 1).tolist()
        shifted = (center + rng.uniform(-4, 4, 2)) / scene.size
        tools.call(workspace, "ZOOM", {"center": shifted.tolist(), "factor": 8.0})
        read = tools.call(workspace, "READ_TEXT", {"box": box})
        for line in read.data["lines"]:
            if line["text"] == label.text:
                yield (line["box"][1] + line["box"][3]) / 2 * scene.size - label.row


def _open(scene: ChartScene, reader: Reader) -> PixelWorkspace:
    return PixelWorkspace(paint_chart(scene)[0], VIEW, lambda box: reader)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the tools' errors on ChartRead's charts.")
    parser.add_argument("--scenes", type=int, default=20, help="scenes of each difficulty")
    parser.add_argument("--points", type=int, default=6, help="bars or marks of each scene")
    options = parser.parse_args()
    reader = make_reader("ocr")
    print("| difficulty | data: points | sd | most | label: labels | sd | most | pixel | 2 % is |")
    print("|---|---|---|---|---|---|---|---|---|")
    for difficulty in range(len(LEVELS)):
        rng = np.random.default_rng(difficulty)
        drawn = [sample_chart(np.random.default_rng(s), difficulty, "train") for s in range(options.scenes)]
        data = [error for scene, *_ in drawn for error in height_errors(scene, options.points, rng)]
        labels = [error for scene, *_ in drawn for error in label_errors(scene, reader, rng)]
        worth = max(pixel_worth(*one) for one in drawn)
        cells = [
            f"{len(values)} | {np.std(values):.2f} | {np.abs(values).max():.2f}" for values in (data, labels)
        ]
        print(
            f"| {difficulty} | {cells[0]} | {cells[1]} | {worth:.2%} | {TOLERANCE / worth:.1f} px |",
            flush=True,
        )


if __name__ == "__main__":
    main()
