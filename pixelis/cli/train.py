"""``scripts/train_agent.py``: train a model by GRPO, or a small network by SB3, from flags and YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pixelis.agents.distributed.launched import alone
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli import run_command
from pixelis.cli.dry_run import dry_run
from pixelis.cli.interrupts import Interrupts
from pixelis.cli.training import TrainingCommand, stop_of

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.runs.metrics import Row
    from pixelis.agents.runs.run import Run


def _kind_of_settings(given: Mapping[str, Any]) -> type[Any]:
    """Return the class of the settings: those of a small network where an agent is named."""
    if "agent" not in given:
        return TrainConfig
    from pixelis.agents.sb3.config import Sb3Config

    return Sb3Config


def _kind_of_run(config: Any) -> type[Run[Any, Any]]:
    if isinstance(config, TrainConfig):
        from pixelis.agents.rl.run import TrainingRun

        return TrainingRun
    from pixelis.agents.sb3.run import Sb3Run

    alone(f"--agent {config.agent}")
    return Sb3Run


def _teller(config: Any) -> Callable[[Row], str]:
    from pixelis.cli.progress import describe, describe_small

    return describe if isinstance(config, TrainConfig) else describe_small


def _warm_start(config: Any, console: Console, interrupts: Interrupts) -> Any:
    """Do the SFT run that comes first; return the settings of the next, or the exit code if it broke off."""
    if getattr(config, "warm_start", None) is None:
        return config
    from pixelis.agents.rl.run import TrainingRun
    from pixelis.agents.rl.warm_start import open_warm_start, started_from
    from pixelis.cli.sft import COMMAND as SFT

    config = TrainingRun.ready_for_warm_start(config)
    with open_warm_start(config) as run:
        console.print(f"warm start: {run.folder.path}\nmodel: {run.config.model}", soft_wrap=True)
        try:
            finished = SFT.complete(run, console, interrupts)
        except KeyboardInterrupt:
            finished = False
    if finished:
        return started_from(config, run)
    code, why = stop_of(run)
    console.print(f"{why} in the warm start; the same command goes on with it")
    return code


COMMAND = TrainingCommand(
    program="train_agent.py",
    description="""\
Train a language or vision-language model by GRPO in a Pixelis environment, or with --agent sb3-ppo,
sb3-dqn or sb3-grpo a small network without language (--agent sb3-ppo --help tells its settings).
Every setting below is also a key of the YAML file given with --config; flags win over the file.""",
    examples="""\
examples:
  train_agent.py --env Pixelis/ZoomRead-v0
  train_agent.py --config zoom_read --minutes 5 --seed 1
  train_agent.py --config zoom_read --dry-run
  train_agent.py --env Pixelis/ZoomRead-v0 --agent sb3-ppo
  train_agent.py --resume runs/zoomread-pixelis-tiny-seed0 --steps 400""",
    settings=_kind_of_settings,
    run=_kind_of_run,
    describe=_teller,
    closing=lambda run: f"everything is in {run.folder.path}",
    before=_warm_start,
    in_team=True,
    dry=dry_run,
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(COMMAND, words)
