"""Measure READ_TEXT on the signs of `Pixelis/ZoomRead-v0`, and print the tables.

Usage: python benchmarks/quality/read_quality.py [--codes 2000] [--views 100] [--reader ocr] [--difficulty 4]

One sign: the region is the sign's box; exact matches by size, and which characters were taken for which.
Whole view: the region is the view; how often the code of the sign near the middle is among the lines, and how
many lines hold no code of the scene, apart from those of signs cut off by the view's edge.
Speed: READ_TEXT of one sign against the bare recogniser on the same line. Times are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import cv2
import numpy as np

from pixelis.envs.pixel.drawing.sign_texts import sign_texts
from pixelis.envs.pixel.drawing.signs import Scene, Sign
from pixelis.envs.pixel.tools.ocr import RapidReader, Reader, Reading
from pixelis.envs.pixel.tools.ocr_engine import make_engine
from pixelis.envs.pixel.tools.ocr_truth import TruthReader
from pixelis.envs.pixel.tools.pixel_cache import PixelCache
from pixelis.envs.pixel.tools.text_line import find_text_line
from pixelis.envs.pixel.tools.view import Box, crop_view, square_box
from pixelis.envs.pixel.zoom_read.paint import paint
from pixelis.envs.pixel.zoom_read.scene import sample_scene

VIEW = 384
FACTORS = (1, 3, 4, 8, 12)  # of a 1536 px scene: 0.25, 0.75, 1, 2 and 3 view pixels to a native one


@dataclass
class Tally:
    """Readings of one kind: how many, how many right, CPU milliseconds, and what was read instead."""

    total: int = 0
    right: int = 0
    milliseconds: list[float] = field(default_factory=list)
    wrong: collections.Counter[str] = field(default_factory=collections.Counter)


def signs(difficulty: int, split: str = "train") -> Iterator[tuple[Scene, Sign]]:
    """Every sign of scene after scene, without end."""
    seed = 0
    while True:
        scene = sample_scene(np.random.default_rng([seed, difficulty, 99]), difficulty, split)
        yield from ((scene, sign) for sign in scene.signs)
        seed += 1


def make_fresh_reader(name: str) -> Reader:
    """A reader that remembers nothing, so that every time is that of a first reading."""
    return TruthReader() if name == "truth" else RapidReader(PixelCache(1))


def read(reader: Reader, scene: Scene, box: Box, region: tuple[int, int, int, int]) -> tuple[Reading, float]:
    """Read a region of a view of the scene; return the reading and its CPU milliseconds."""
    view = crop_view(paint(scene), box, VIEW)
    if isinstance(reader, TruthReader):
        reader.show(sign_texts(scene, box, VIEW))
    started = time.thread_time()
    reading = reader.read(view, region)
    return reading, 1000 * (time.thread_time() - started)


def region_of(sign: Sign, scene: Scene, box: Box) -> tuple[int, int, int, int]:
    """The box of a sign in pixels of a view."""
    scale = VIEW / (box[2] - box[0])
    x0, y0, x1, y1 = (round((value - box[i % 2]) * scale) for i, value in enumerate(sign.box(scene.size)))
    return x0, y0, x1, y1


def print_codes(reader: Reader, difficulty: int, count: int) -> None:
    """Print how many codes are read exactly from their sign, by the size of the view."""
    tallies = {factor: Tally() for factor in FACTORS}
    for (scene, sign), _ in zip(signs(difficulty), range(count), strict=False):
        for factor, tally in tallies.items():
            box = square_box([value / scene.size for value in sign.center], factor)
            reading, elapsed = read(reader, scene, box, region_of(sign, scene, box))
            tally.total += 1
            tally.right += reading.text == sign.code
            tally.milliseconds.append(elapsed)
            if reading.text != sign.code:
                tally.wrong[mistake(sign.code, reading.text)] += 1
    print(f"One sign, {count} codes, difficulty {difficulty}")
    print("| factor | view px per native px | exact | ms median | most frequent mistakes |")
    print("|---|---|---|---|---|")
    for factor, tally in tallies.items():
        mistakes = ", ".join(f"{name} {n}x" for name, n in tally.wrong.most_common(5)) if factor > 1 else ""
        median = np.median(tally.milliseconds)
        scale = factor * VIEW / 1536
        print(
            f"| {factor} | {scale} | {tally.right / tally.total:.4f} | {median:.1f} | {mistakes} |",
            flush=True,
        )


def mistake(code: str, text: str) -> str:
    """Describe a wrong reading by the characters that were exchanged, or whole if the lengths differ."""
    if len(code) != len(text):
        return f"{code}->{text!r}"
    return " ".join(f"{a}->{b}" for a, b in zip(code, text, strict=True) if a != b)


def print_whole_views(reader: Reader, difficulty: int, count: int) -> None:
    """Print how often a sign's code is among the lines of a whole view."""
    print(f"\nWhole view, {count} views of each factor, difficulty {difficulty}")
    print("| factor | code read | lines that are no code and not at the edge, a view | ms median |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(0)
    for factor in (3, 4, 6):
        right, ghosts, times = 0, 0, []
        for (scene, sign), _ in zip(signs(difficulty), range(count), strict=False):
            shift = rng.uniform(-0.25, 0.25, 2) / factor
            center = [value / scene.size + float(d) for value, d in zip(sign.center, shift, strict=True)]
            box = square_box(center, factor)
            reading, elapsed = read(reader, scene, box, (0, 0, VIEW, VIEW))
            codes = {other.code for other in scene.signs}
            right += any(line.text == sign.code for line in reading.lines)
            ghosts += sum(line.text not in codes and not at_edge(line.box) for line in reading.lines)
            times.append(elapsed)
        print(
            f"| {factor} | {right / count:.4f} | {ghosts / count:.3f} | {np.median(times):.1f} |", flush=True
        )


def at_edge(box: tuple[int, int, int, int]) -> bool:
    """Whether a line is near enough to the view's edge to be the rest of a longer one."""
    return min(box[0], box[1], VIEW - box[2], VIEW - box[3]) < 12


def print_speed(difficulty: int, count: int) -> None:
    """Print the CPU time of READ_TEXT on one sign against that of the bare recogniser, call by call."""
    reader, engine, ours, bare = RapidReader(PixelCache(1)), make_engine(), [], []
    for (scene, sign), _ in zip(signs(difficulty), range(count), strict=False):
        box = square_box([value / scene.size for value in sign.center], 6)
        view, region = crop_view(paint(scene), box, VIEW), region_of(sign, scene, box)
        crop = view[region[1] : region[3], region[0] : region[2]]
        line = find_text_line(crop) or (0, 0, crop.shape[1], crop.shape[0])
        bgr = np.ascontiguousarray(crop[line[1] : line[3], line[0] : line[2], ::-1])
        started = time.thread_time()
        engine(bgr, use_det=False, use_cls=False, use_rec=True)
        bare.append(1000 * (time.thread_time() - started))
        started = time.thread_time()
        reader.read(view, region)
        ours.append(1000 * (time.thread_time() - started))
    slow, fast = float(np.median(ours)), float(np.median(bare))
    print("\nSpeed of one line, CPU ms")
    print(f"READ_TEXT {slow:.1f}, bare recogniser {fast:.1f}: {slow / fast:.2f} times as long")


def main() -> None:
    """Read the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--codes", type=int, default=2000, help="signs read alone")
    parser.add_argument("--views", type=int, default=100, help="whole views of each factor")
    parser.add_argument("--reader", choices=("ocr", "truth"), default="ocr")
    parser.add_argument("--difficulty", type=int, default=4)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    reader = make_fresh_reader(options.reader)
    print_codes(reader, options.difficulty, options.codes)
    print_whole_views(reader, options.difficulty, options.views)
    if options.reader == "ocr":
        print_speed(options.difficulty, 60)


if __name__ == "__main__":
    main()
