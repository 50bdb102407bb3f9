"""Train a model that plays by words alone: ``python scripts/pretrain_mini_tools.py --output my-model``.

pixelis-mini goes on learning: to play pixel environments by what their tools say, without seeing.
Demonstrators of mixed quality play, their episodes become tokens, and next-token training does the rest; what
was played is kept in ``--work``. None ships; ``docs/reference/pixelis_mini_tools.md`` has what came of it.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini import train
from pixelis_mini_tools import collect
from pixelis_mini_tools.words import extend

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder

EPISODES = {"SizeCompare": 3000, "ReceiptSum": 3000, "TrackRead": 2000}
DRILLS = 30_000
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
    parser.add_argument("--stage", choices=("all", "play", "train"), default="all")
    parser.add_argument("--processes", type=int, default=2, help="processes that play")
    parser.add_argument(
        "--share", type=float, default=1.0, help=f"of {EPISODES} episodes and {DRILLS} drills"
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="of training, on the device there is")
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--learning-rate", type=float, default=6e-4)
    arguments = parser.parse_args()
    if arguments.stage in ("all", "play"):
        counts = {name: round(count * arguments.share) for name, count in EPISODES.items()}
        collect.play(arguments.work, counts, arguments.processes)
    if arguments.stage in ("all", "train"):
        begin = arguments.work / "tokenizer"
        extend(shipped_folder(MINI_NAME), begin, CONTEXT)
        collect.encode(arguments.work, begin, round(DRILLS * arguments.share))
        settings = train.TrainSettings(
            minutes=arguments.minutes,
            batch_tokens=arguments.batch_tokens,
            learning_rate=arguments.learning_rate,
            warm_up=100,
            start=str(begin),
            report_every=50,
        )
        train.train(arguments.work, arguments.output, settings, partial(print, flush=True))


if __name__ == "__main__":
    main()
