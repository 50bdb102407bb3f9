"""``scripts/expert_iteration.py``: best-of-n, then SFT on it, and again; from flags and YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.expert import ExpertConfig
from pixelis.cli import run_command
from pixelis.cli.training import TrainingCommand, adapter_line, number

if TYPE_CHECKING:
    from pixelis.agents.runs.metrics import Row
    from pixelis.agents.sft.expert.run import ExpertRun


def _run(config: Any) -> type[ExpertRun]:
    from pixelis.agents.sft.expert.run import ExpertRun

    return ExpertRun


def describe(row: Row) -> str:
    """Return the numbers of a round that a person watches, in one line."""
    means = f"(mean of 10: {number(row['success/ma10'], '.2f')})"
    return "  ".join(
        [
            f"success {number(row['success/rate'], '.2f')} {means}",
            f"reward {number(row['reward/mean'], '.3f')}",
            f"kept {row['expert/kept']} of {row['episodes/count']}",
            f"loss {number(row['train/loss'], '.4f')}",
        ]
    )


COMMAND = TrainingCommand(
    program="expert_iteration.py",
    description="""\
Train a model by expert iteration: play, keep the best episodes, learn them by SFT, and again. A baseline for
train_agent.py, with the same tasks at the same seed.
Every setting below is also a key of the YAML file given with --config; flags win over the file.""",
    examples="""\
examples:
  expert_iteration.py --env Pixelis/ZoomRead-v0 --steps 50
  expert_iteration.py --select all --restart --epochs 3
  expert_iteration.py --resume runs/expert-zoomread-pixelis-tiny-seed0""",
    settings=ExpertConfig,
    run=_run,
    describe=lambda _: describe,
    closing=adapter_line,
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(COMMAND, words)
