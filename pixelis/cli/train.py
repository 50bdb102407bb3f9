"""``scripts/train_agent.py``: train a model by GRPO, or a small network by SB3, from flags and YAML."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import yaml

from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import RUN
from pixelis.cli import INTERRUPTED, called_as, run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.evaluating import show_evaluation, show_partial
from pixelis.cli.interrupts import Interrupts
from pixelis.errors import ConfigError, suggest

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.runs.run import Run
    from pixelis.agents.sb3.config import Sb3Config

PROGRAM = "train_agent.py"
LANGUAGE = "language"
DESCRIPTION = """\
Train a language or vision-language model by GRPO in a Pixelis environment, or with --agent sb3-ppo,
sb3-dqn or sb3-grpo a small network without language (--agent sb3-ppo --help tells its settings).
Every setting below is also a key of the YAML file given with --config; flags win over the file."""
EXAMPLES = """\
examples:
  train_agent.py --env Pixelis/ZoomRead-v0
  train_agent.py --config configs/zoom_read.yaml --minutes 5 --seed 1
  train_agent.py --env Pixelis/ZoomRead-v0 --agent sb3-ppo
  train_agent.py --resume runs/zoomread-pixelis-tiny-seed0 --steps 400"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_train, words)


def read_settings(words: Sequence[str]) -> tuple[TrainConfig | Sb3Config, str | None]:
    """Return the settings that the words of a command line ask for, and the run to resume if there is one.

    Raises:
        ConfigError, CheckpointError: see `Arguments.parse` and `Run.resume`.
    """
    settings, words = _kind_of_settings(words)
    values, extra = _arguments(settings).parse(words, base=_of_recipe(settings, words))
    if extra["resume"] is not None:
        from pixelis.agents.run_files.saved_run import settings_of

        saved = settings_of(extra["resume"])
        settings.from_mapping(saved)
        values, _ = _arguments(settings).parse(words, base=saved)
    return settings.from_mapping(values), extra["resume"]


def _of_recipe(settings: type[Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the recipe that is named, which stand in the place of defaults.

    Raises:
        ConfigError: there is no such recipe, or a setting is wrong that it depends on.
    """
    if settings is not TrainConfig:
        return {}
    from pixelis.agents.settings.recipes import expanded

    name = _said(words, "recipe")
    if name is None:
        return {}
    given = _arguments(settings).parse(words)[0]
    needed = {key: given[key] for key in ("groups", "group_size", "max_new_tokens")}
    return expanded(settings, {"recipe": name, **needed})


def _said(words: Sequence[str], setting: str) -> Any:
    """Return what the flag, else the YAML file, says of a setting; None for nothing."""
    flag = "--" + setting.replace("_", "-")
    found = None
    for word, source in (("--config", lambda path: _from_yaml(path, setting)), (flag, str)):
        values = [source(value) for value in _values(words, word)]
        found = next((value for value in reversed(values) if value is not None), found)
    return found


def _kind_of_settings(words: Sequence[str]) -> tuple[type[TrainConfig] | type[Sb3Config], list[str]]:
    """Return the dataclass for the agent that is named, and the words that its flags are.

    Raises:
        ConfigError: there is no such agent.
    """
    agent = _agent(words)
    if agent in (None, LANGUAGE):
        return TrainConfig, _without_agent(words)
    from pixelis.agents.sb3.config import AGENTS, Sb3Config

    if agent not in AGENTS:
        raise ConfigError(f"unknown agent {agent!r}.{suggest(str(agent), (LANGUAGE, *AGENTS))}")
    return Sb3Config, list(words)


def _agent(words: Sequence[str]) -> Any:
    """Return what the flag, else the run to resume, else the YAML file calls the agent; None for nothing."""
    found = None
    for flag, source in (("--config", _from_yaml), ("--resume", _from_run), ("--agent", str)):
        values = [source(value) for value in _values(words, flag)]
        found = next((value for value in reversed(values) if value is not None), found)
    return found


def _values(words: Sequence[str], flag: str) -> list[str]:
    after = [following for word, following in pairwise(words) if word == flag]
    return after + [word.partition("=")[2] for word in words if word.startswith(f"{flag}=")]


def _from_yaml(path: str, setting: str = "agent") -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            values = yaml.safe_load(file)
    except (OSError, ValueError, yaml.YAMLError):
        return None  # the arguments' parser says what is wrong with it
    return values.get(setting) if isinstance(values, dict) else None


def _from_run(path: str) -> Any:
    from pixelis.agents.run_files.saved_run import settings_of

    return settings_of(path).get("agent")


def _without_agent(words: Sequence[str]) -> list[str]:
    """Return the words without ``--agent language``, which is no setting of a language model."""
    kept, skip = [], False
    for word in words:
        if not skip and word != "--agent" and not word.startswith("--agent="):
            kept.append(word)
        skip = not skip and word == "--agent"
    return kept


def _arguments(settings: type[TrainConfig] | type[Sb3Config]) -> Arguments[Any]:
    arguments = Arguments(PROGRAM, DESCRIPTION, settings, EXAMPLES)
    arguments.add(RUN, "--resume", "FOLDER", "go on with the run in this folder, with its settings")
    return arguments


def _kind_of_run(config: TrainConfig | Sb3Config) -> type[Run[Any, Any]]:
    if isinstance(config, TrainConfig):
        from pixelis.agents.rl.run import TrainingRun

        return TrainingRun
    from pixelis.agents.sb3.run import Sb3Run

    return Sb3Run


def _train(words: Sequence[str]) -> int:
    config, resume = read_settings(words)

    kind = _kind_of_run(config)
    console = open_console()
    with Interrupts() as interrupts, warnings_on(console):
        if resume is None and isinstance(config, TrainConfig) and config.warm_start is not None:
            warmed = _warm_start(config, console, interrupts)
            if warmed is None:
                return INTERRUPTED
            config = warmed
        run = kind.resume(resume, config) if resume is not None else kind.start(config)
        with run:
            console.print(f"run folder: {run.folder.path}", soft_wrap=True)
            console.print(f"model: {run.config.model}", soft_wrap=True)
            if config.lr is None:
                console.print(f"learning rate: {run.config.lr:g}, by the model's size; --lr chooses another")
            try:
                return _whole(run, console, interrupts)
            except KeyboardInterrupt:
                return _interrupted(run, console)


def _warm_start(config: TrainConfig, console: Console, interrupts: Interrupts) -> TrainConfig | None:
    """Do the SFT run that comes first; return the settings of the next, None when it was interrupted."""
    from pixelis.agents.rl.run import TrainingRun
    from pixelis.agents.rl.warm_start import open_warm_start, started_from
    from pixelis.cli.sft import COMMAND

    config = TrainingRun.ready_for_warm_start(config)
    with open_warm_start(config) as run:
        console.print(f"warm start: {run.folder.path}\nmodel: {run.config.model}", soft_wrap=True)
        try:
            finished = COMMAND.complete(run, console, interrupts)
        except KeyboardInterrupt:
            finished = False
    if finished:
        return started_from(config, run)
    console.print("interrupted in the warm start; the same command goes on with it")
    return None


def _whole(run: Run[Any, Any], console: Console, interrupts: Interrupts) -> int:
    """Evaluate, train, evaluate; return the exit code."""
    from pixelis.cli.progress import TrainingProgress, describe, describe_small

    config, trainer = run.config, run.trainer
    tell = describe if isinstance(config, TrainConfig) else describe_small
    if config.eval_episodes and trainer.finished_steps == 0:
        _evaluate(run, console, "before")
    progress = TrainingProgress(
        console, config.steps, config.minutes, trainer.finished_steps, trainer.elapsed_seconds, tell
    )
    with interrupts.deferred(), progress:
        run.train(progress.update, lambda: interrupts.requested)
    if interrupts.requested:
        return _interrupted(run, console)
    if config.eval_episodes:
        _evaluate(run, console, "after")
    _summarise(run, console)
    return 0


def _evaluate(run: Run[Any, Any], console: Console, phase: str) -> None:
    show_evaluation(run, console, phase)


def _summarise(run: Run[Any, Any], console: Console) -> None:
    from pixelis.agents.runs.evaluate import evaluation_table, oracle_gaps

    if run.config.baselines and run.config.eval_episodes:
        run.evaluate_baselines()
    rows = [row for phase in ("before", "after", "baselines") for row in run.evaluations.get(phase, [])]
    if rows:
        title = f"{run.task_env.id}, {run.task_env.tasks_named('test')}"
        console.print(evaluation_table(oracle_gaps(rows), title=title))
    for table in run.tables():
        console.print(table)
    trainer = run.trainer
    console.print(f"{trainer.finished_steps} steps in {trainer.elapsed_seconds / 60:.1f} minutes of training")
    console.print(f"everything is in {run.folder.path}", soft_wrap=True)


def _interrupted(run: Run[Any, Any], console: Console) -> int:
    """Say what was kept and how to go on from the newest checkpoint; return the exit code."""
    show_partial(run, console)
    console.print(f"interrupted; resume with:\n  {resume_command(str(run.folder.path))}", soft_wrap=True)
    return INTERRUPTED


def resume_command(folder: str) -> str:
    """Return the command that goes on with a run."""
    return shlex.join([*called_as(PROGRAM), "--resume", folder])
