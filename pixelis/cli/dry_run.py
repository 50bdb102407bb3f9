"""``pixelis train … --dry-run``: what a step will cost, and what the run will take, before it takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.levels import ReplayedLevels, SflLevels
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.rl.step_cost import StepCost

_MIB = 2**20


def dry_run(config: Any, console: Console) -> int:
    """Probe and print; return the exit code.

    Raises:
        ConfigError: the settings are those of a small network, or a warm start comes first.
    """
    if not isinstance(config, TrainConfig):
        raise ConfigError(
            "--dry-run is for language models; a small network of --agent is trained in minutes"
        )
    if config.warm_start is not None:
        raise ConfigError(
            "--dry-run starts from a model, and warm_start makes that first; give --warm-start null, or "
            "--model with an adapter that is there"
        )
    from pixelis.agents.rl.step_cost import step_cost

    for line in told(step_cost(config), config):
        console.print(line, soft_wrap=True, highlight=False)
    return 0


def told(cost: StepCost, config: TrainConfig) -> list[str]:
    """Return what is printed of a cost."""
    groups = ", ".join(str(each.groups) for each in cost.probes)
    how = "whole steps were taken" if cost.is_measured else f"from steps of {groups} groups"
    episodes = f"{config.groups} groups of {config.group_size} episodes"
    lines = [f"a step: {episodes}; {how}; nothing was written"]
    if config.workers is not None:
        lines += [f"this is for one process: what it saves that {config.workers} workers play is not in it"]
    lines += _not_in_it(config)
    width = max(map(len, [*cost.seconds, *cost.memory]))
    lines += ["", "seconds a step, if every group is trained on"]
    lines += [f"  {name:{width}}  {value:9.2f}" for name, value in cost.seconds.items()]
    lines += [f"  {'together':{width}}  {cost.most_seconds:9.2f}"]
    if not any(each.trained for each in cost.probes):
        lines += ["  no group of the probe had a difference to learn from: the update is not in this"]
    elif cost.signal < 1:
        told = f"with {cost.signal:.0%} of the tokens in groups to train on, as here"
        lines += [f"  {told:{width}}  {cost.likely_seconds:9.2f}"]
    lines += ["", "tokens a step"]
    lines += [f"  {name:{width}}  {value:9,.0f}" for name, value in cost.tokens.items()]
    passes = ", ".join(f"{count} of {name}" for name, count in cost.passes.items())
    lines += ["", f"forward passes of the update: {passes}, of {config.micro_batch_size} episodes each"]
    lines += ["", "memory, MiB"]
    lines += [f"  {name:{width}}  {value / _MIB:9,.0f}" for name, value in cost.memory.items()]
    lines += [f"  {'together':{width}}  {sum(cost.memory.values()) / _MIB:9,.0f}"]
    return [*lines, "", _whole(cost, config)]


def _not_in_it(config: TrainConfig) -> list[str]:
    """Return what samplers of levels play besides, or do not train on."""
    levels = config.levels
    if isinstance(levels, SflLevels):
        more = f"{levels.candidates} groups more in every {levels.every}th step"
        return [f"this is for levels at random: that sfl plays {more} is not in it"]
    if isinstance(levels, ReplayedLevels):
        return [
            f"this is for levels at random: that {levels.type} also plays levels to score them is not in it"
        ]
    return []


def _whole(cost: StepCost, config: TrainConfig) -> str:
    """Return what the run takes: its steps, or how many of them fit into its minutes."""
    seconds = cost.likely_seconds
    hours = config.steps * seconds / 3600
    if config.minutes is not None and 60 * config.minutes < config.steps * seconds:
        return f"{config.minutes:g} minutes of training: about {60 * config.minutes / seconds:.0f} steps"
    took = f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"
    return f"{config.steps} steps: about {took} of training, evaluations not counted"
