"""Measure how long ZoomRead's reset and tools take on one core; print medians, spreads and targets.

Usage: python benchmarks/speed/zoom_read_speed.py [--seeds 60] [--difficulty 1] [--clock wall|cpu]

Times are of one thread, in milliseconds; the spread is the 10th to the 90th percentile. READ_TEXT is compared
with the bare recogniser on the same line of text in the same run. Readings are cached by their pixels, so
each here is of a new scene. Next to other work, wall-clock times mean little: quiet the machine, or take the
CPU clock.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import cv2
import numpy as np

from pixelis.envs.pixel.tools.ocr_engine import make_engine
from pixelis.envs.pixel.tools.text_line import find_text_line
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv, target_sign
from pixelis.envs.pixel.zoom_read.players import call

TARGETS = {"reset": 60.0, "ZOOM": 3.0}
RATIO = 1.5
WARM_UP = 3
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Times = dict[str, list[float]]
Clock = Callable[[], float]


def timed(clock: Clock, times: Times, name: str, action: Callable[[], Any]) -> Any:
    """Run an action and note its milliseconds under a name."""
    start = clock()
    result = action()
    times[name].append(1000 * (clock() - start))
    return result


def measure_seed(env: ZoomReadEnv, seed: int, times: Times, clock: Clock) -> None:
    """Play one scene: reset, look closer at the sign, read it, read the view, segment it."""
    note = partial(timed, clock, times)
    note("reset", lambda: env.reset(seed=seed))
    assert env.task is not None  # reset() has set it
    scene, sign = target_sign(env.task)
    box = sign.box(scene.size)
    note("SEGMENT, overview", lambda: env.step(call("SEGMENT")))
    center = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
    note("ZOOM", lambda: env.step(call("ZOOM", center=center, factor=6)))
    x0, y0, x1, y1 = env.workspace.to_view(box)
    pixels = np.ascontiguousarray(env.workspace.view[y0:y1, x0:x1])
    line = find_text_line(pixels)
    name = "READ_TEXT, one line" if line else "READ_TEXT, sign with detection"
    note(name, lambda: env.step(call("READ_TEXT", box=list(box))))
    if line:
        engine = make_engine()
        crop = np.ascontiguousarray(pixels[line[1] : line[3], line[0] : line[2], ::-1])
        note("bare recogniser", lambda: engine(crop, use_det=False, use_cls=False, use_rec=True))
    note("READ_TEXT, whole view", lambda: env.step(call("READ_TEXT")))
    note("SEGMENT, zoomed", lambda: env.step(call("SEGMENT")))
    note("SEGMENT, point", lambda: env.step(call("SEGMENT", point=center)))


def report(times: Times) -> None:
    """Print the table and the targets."""
    print(f"{'':32} {'median':>8} {'10 %':>8} {'90 %':>8} {'n':>4}   target")
    for name, values in times.items():
        low, high = np.percentile(values, [10, 90])
        median = statistics.median(values)
        target = TARGETS.get(name)
        judged = f"≤ {target:g} ms: {'met' if median <= target else 'MISSED'}" if target else ""
        print(f"{name:32} {median:8.2f} {low:8.2f} {high:8.2f} {len(values):4}   {judged}")
    ratio = statistics.median(times["READ_TEXT, one line"]) / statistics.median(times["bare recogniser"])
    print(f"READ_TEXT / bare recogniser: {ratio:.2f} (≤ {RATIO}: {'met' if ratio <= RATIO else 'MISSED'})")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the speed of Pixelis/ZoomRead-v0.")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--difficulty", type=int, default=1)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    env = ZoomReadEnv(difficulty=options.difficulty, max_turns=20)
    for seed in range(WARM_UP):
        measure_seed(env, 1_000_000 + seed, defaultdict(list), CLOCKS[options.clock])
    times: Times = defaultdict(list)
    for seed in range(options.seeds):
        measure_seed(env, seed, times, CLOCKS[options.clock])
    print(f"difficulty {options.difficulty}, {options.seeds} scenes, milliseconds ({options.clock} clock)")
    report(times)


if __name__ == "__main__":
    main()
