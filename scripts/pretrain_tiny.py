"""Rebuild the shipped model ``pixelis-tiny``: ``python scripts/pretrain_tiny.py --output my-tiny``.

Two stages, each written to ``--work`` when it ends so that the next can be run alone:

1. perception: where is each sign in the overview? Painted scenes, supervised.
2. behaviour: full fine-tuning on demonstrations of mixed quality, played in the environment.

See ``docs/reference/pixelis_tiny.md`` for what it takes and gives.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_tiny import stages


def main() -> None:
    """Run the stages that were asked for."""
    parser = argparse.ArgumentParser(
        description="Rebuild pixelis-tiny.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("runs/pixelis-tiny"), help="folder of the finished model"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/pretrain"), help="folder of scenes and stage results"
    )
    parser.add_argument("--stage", choices=("all", "perception", "behaviour"), default="all")
    parser.add_argument("--threads", type=int, default=2, help="torch threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=20_000, help="scenes of the perception stage")
    parser.add_argument("--steps", type=int, default=4_000, help="optimiser steps of the perception stage")
    parser.add_argument("--demonstrations", type=int, default=2_400, help="episodes of the behaviour stage")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.stage in ("all", "perception"):
        stages.perceive(arguments.work, arguments.scenes, arguments.steps, arguments.seed)
    if arguments.stage in ("all", "behaviour"):
        stages.behave(arguments.work, arguments.output, arguments.demonstrations, arguments.seed)


if __name__ == "__main__":
    main()
