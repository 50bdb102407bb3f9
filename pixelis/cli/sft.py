"""``scripts/train_sft.py``: fine-tune a model on demonstrations, from flags and YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.sft import SftConfig
from pixelis.cli import run_command
from pixelis.cli.training import TrainingCommand, adapter_line, number

if TYPE_CHECKING:
    from pixelis.agents.runs.metrics import Row
    from pixelis.agents.sft.run import SftRun


def _run(config: Any) -> type[SftRun]:
    from pixelis.agents.sft.run import SftRun

    return SftRun


def describe(row: Row) -> str:
    """Return the numbers of a step that a person watches, in one line."""
    parts = [f"loss {number(row['train/loss'], '.4f')}", f"epoch {number(row['train/epochs'], '.2f')}"]
    if row.get("curriculum/stage") is not None:
        parts.append(f"stage {row['curriculum/stage']}")
    if row.get("held_out/loss") is not None:
        parts.append(
            f"held out: loss {number(row['held_out/loss'], '.4f')},"
            f" accuracy {number(row['held_out/accuracy'], '.3f')}"
        )
    return "  ".join(parts)


COMMAND = TrainingCommand(
    program="train_sft.py",
    description="""\
Fine-tune a language or vision-language model on demonstrations: of an environment's scripted player, or of a
JSONL file of chats. The adapter it leaves is what train_agent.py takes as --model.
Every setting below is also a key of the YAML file given with --config; flags win over the file.""",
    examples="""\
examples:
  train_sft.py --env Pixelis/ZoomRead-v0 --output runs/sft
  train_sft.py --data chats.jsonl --model my-model --packing --epochs 2
  train_sft.py --resume runs/sft""",
    settings=SftConfig,
    run=_run,
    describe=lambda _: describe,
    closing=adapter_line,
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(COMMAND, words)
