"""A whole GRPO step of a 0.5B model: ``python benchmarks/speed/gpu_step.py [--dtype bfloat16]``.

A random Qwen2 of the published 0.5B shape, LoRA of rank 8, one group of 4 episodes of 64 + 512 tokens, on the
GPU if there is one. Printed: median seconds of a step and of its parts with their range, tokens sampled a
second, and the peak memory on the GPU (on a CPU of the process). ``--size tiny`` is quick on a CPU.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from grpo_speed import SIZES, build_model, pixelis_steps  # pyright: ignore[reportMissingImports]

WARM_UP = 2
PARTS = ("time/step", "time/generation", "time/update", "time/env")


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the metrics of the timed steps."""
    with tempfile.TemporaryDirectory() as folder:
        options.model = f"{folder}/model"
        build_model(Path(options.model), options.size, options.prompt + options.completion + 8)
        steps = pixelis_steps(options, options.dtype)
        for _ in range(WARM_UP):
            next(steps)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        return [next(steps) for _ in range(options.steps)]


def peak_gib() -> float:
    """Return the most memory that was used, GiB."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_reserved() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def spread(values: Sequence[float]) -> str:
    """Return the median and the range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=list(SIZES), default="0.5b")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--completion", type=int, default=512)
    parser.add_argument("--rows", type=int, default=4, help="episodes a forward pass of the update")
    parser.add_argument("--checkpointing", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    rows = measure(options)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{options.size}, {options.dtype}, {options.groups} x {options.members} episodes on {where}")
    for name in PARTS:
        print(f"{name.removeprefix('time/')}: {spread([row[name] for row in rows])} s")
    print(f"sampled: {spread([row['tokens/sampled'] / row['time/generation'] for row in rows])} tokens/s")
    print(f"peak memory: {peak_gib():.2f} GiB")


if __name__ == "__main__":
    main()
