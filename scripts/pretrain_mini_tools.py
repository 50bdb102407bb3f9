"""Train a model that plays by words alone: ``python scripts/pretrain_mini_tools.py --output my-model``.

pixelis-mini goes on learning: to play pixel environments by what their tools say, without seeing.
First drills alone, numbers to compare, add and look up; then the episodes of demonstrators of mixed quality.
What was played is kept in ``--work``. ``docs/reference/pixelis_mini_tools.md`` has what came of it.
"""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini import train
from pixelis_mini_tools import collect
from pixelis_mini_tools.measure import right_steps
from pixelis_mini_tools.words import extend

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder

EPISODES = {
    **{"SizeCompare": 3000, "ReceiptSum": 3000, "TrackRead": 2000, "AskImage": 2000},
    **{"CountTiny": 2000, "ChartRead": 2000},
}
DRILLS = (30_000, 3000, 3000)
"""Of the first part of the training, and among the episodes of the second and the third."""
STEPS = (600, 1300, 1100)
"""Of the three parts: less than once through the drills, then twice about once through the episodes."""
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
    parser.add_argument("--start", type=Path, help="do the last part alone, with this model")
    parser.add_argument("--processes", type=int, default=2, help="processes that play")
    parser.add_argument(
        "--share", type=float, default=1.0, help=f"of {EPISODES} episodes and {DRILLS} drills"
    )
    parser.add_argument("--steps", type=int, nargs=3, default=STEPS, help="of the three parts of training")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--half", action="store_true", help="products in bfloat16, see TrainSettings.half")
    arguments = parser.parse_args()
    if arguments.stage in ("all", "play"):
        counts = {name: round(count * arguments.share) for name, count in EPISODES.items()}
        collect.play(arguments.work, counts, arguments.processes)
    if arguments.stage in ("all", "train"):
        work, start = arguments.work, arguments.work / "drills" / "tokenizer"
        parts = ((work / "drills", work / "first"), (work, work / "second"), (work, arguments.output))
        plan = list(zip(parts, DRILLS, arguments.steps, strict=True))
        if arguments.start is not None:
            plan, start = plan[-1:], arguments.start
        for (folder, output), drills, steps in plan:
            extend(shipped_folder(MINI_NAME), folder / "tokenizer", CONTEXT)
            collect.encode(folder, folder / "tokenizer", round(drills * arguments.share))
            settings = train.TrainSettings(
                minutes=math.inf,
                steps=steps,
                batch_tokens=arguments.batch_tokens,
                learning_rate=arguments.learning_rate,
                muon=2.0,
                warm_up=100,
                start=str(start),
                report_every=50,
                half=arguments.half,
            )
            train.train(folder, output, settings, partial(print, flush=True))
            start = output
    if arguments.stage in ("all", "measure"):
        for name, (right, of) in right_steps(arguments.output).items():
            print(f"{name}: {right / of:.2f} of {of} right")


if __name__ == "__main__":
    main()
