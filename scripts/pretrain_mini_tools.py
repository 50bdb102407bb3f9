"""Train a model that plays by words alone: ``python scripts/pretrain_mini_tools.py --output my-model``.

pixelis-mini goes on learning: to play pixel environments by what their tools say, without seeing.
First drills alone, numbers to compare, add and look up; then the episodes of demonstrators of mixed quality.
What was played is kept in ``--work``. ``docs/reference/pixelis_mini_tools.md`` has what came of it.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini import train
from pixelis_mini_tools import collect
from pixelis_mini_tools.measure import right_steps
from pixelis_mini_tools.words import extend

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder

EPISODES = {"SizeCompare": 3000, "ReceiptSum": 3000, "AskImage": 2000}
"""TrackRead has a routine too, but a step of GRPO would read some two hundred plates: it is not taught."""
DRILLS, MIXED = 30_000, 6000
"""Drills of the first part of the training, and among the episodes of the second."""
DRILLED = 0.5
"""Share of the training that goes to drills alone."""
CONTEXT = 4096


def main() -> None:
    """Run the stages that were asked for."""
    parser = argparse.ArgumentParser(
        description="Train pixelis-mini-tools.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("runs/pixelis-mini-tools"), help="the model's folder"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain-mini-tools"), help="what was played")
    parser.add_argument("--stage", choices=("all", "play", "train", "measure"), default="all")
    parser.add_argument("--processes", type=int, default=2, help="processes that play")
    parser.add_argument(
        "--share", type=float, default=1.0, help=f"of {EPISODES} episodes and {DRILLS + MIXED} drills"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="of training, on the device there is")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    arguments = parser.parse_args()
    if arguments.stage in ("all", "play"):
        counts = {name: round(count * arguments.share) for name, count in EPISODES.items()}
        collect.play(arguments.work, counts, arguments.processes)
    if arguments.stage in ("all", "train"):
        share, drills = arguments.share, arguments.work / "drills"
        for folder, drilled, part, start in (
            (drills, DRILLS, DRILLED, drills / "tokenizer"),
            (arguments.work, MIXED, 1 - DRILLED, drills / "model"),
        ):
            extend(shipped_folder(MINI_NAME), folder / "tokenizer", CONTEXT)
            collect.encode(folder, folder / "tokenizer", round(drilled * share))
            settings = train.TrainSettings(
                minutes=arguments.minutes * part,
                batch_tokens=arguments.batch_tokens,
                learning_rate=arguments.learning_rate,
                muon=2.0,
                warm_up=100,
                start=str(start),
                report_every=50,
            )
            output = arguments.output if folder == arguments.work else drills / "model"
            train.train(folder, output, settings, partial(print, flush=True))
    if arguments.stage in ("all", "measure"):
        for name, (right, of) in right_steps(arguments.output).items():
            print(f"{name}: {right / of:.2f} of {of} right")


if __name__ == "__main__":
    main()
