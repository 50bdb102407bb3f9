"""``pixelis pipeline FILE``: commands that follow one another, each begun where the last attempt left it."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.claim import LOCK, claim
from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import INTERRUPTED, called_as, run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.launching.children import Children, Relay, how_it_ended
from pixelis.cli.launching.pipeline_file import Pipeline, Step
from pixelis.cli.launching.pipeline_state import DONE, HEADER, PipelineState
from pixelis.errors import ConfigError, TrainingError
from pixelis.files import write_atomically, writing

PROGRAM = "pixelis pipeline FILE"
DESCRIPTION = """\
Run the commands of a YAML file one after another, such as SFT, GRPO, evaluate, export. A step that is done is
not done again: after a failure, a kill or Ctrl-C the same command goes on, a training from its newest
checkpoint. FILE is a path, or the name of a pipeline that ships (pipelines/zoom_read); docs/guide/launch.md
tells what is in it. `pixelis monitor FOLDER` shows its trainings."""
EXAMPLES = """\
examples:
  pixelis pipeline pipelines/zoom_read
  pixelis pipeline my.yaml --dry-run
  pixelis pipeline my.yaml --redo-from grpo"""


class PipelineFlags(Settings):
    """The flags of ``pixelis pipeline``."""

    dry_run: bool = setting(False, "check the file, say what would be done, start and write nothing")
    redo_from: str | None = setting(
        None, "do this step and those after it anew; what they had written is kept aside"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_pipeline, words)


def _pipeline(words: Sequence[str]) -> int:
    file = words[0] if words and not words[0].startswith("-") else None
    flags = Arguments(PROGRAM, DESCRIPTION, PipelineFlags, EXAMPLES, takes_file=False).read(
        words[file is not None :]
    )
    if file is None:
        raise ConfigError("FILE comes first: the YAML file of a pipeline, or pipelines/zoom_read; see --help")
    pipeline = Pipeline.read(file)
    first = None if flags.redo_from is None else pipeline.position(flags.redo_from)
    if flags.dry_run:
        _tell_plan(pipeline, PipelineState(pipeline.folder), first)
        return 0
    with writing(pipeline.folder, "folder"):
        pipeline.folder.mkdir(parents=True, exist_ok=True)
    with Relay() as relay, Children() as children, _claimed(pipeline.folder):
        state = PipelineState(pipeline.folder)
        _check_steps(pipeline, state, first)
        if first is not None and (aside := state.put_aside(pipeline.steps[first:])) is not None:
            print(f"what was there of {flags.redo_from} and later steps is in {aside}")
        for number, step in enumerate(pipeline.steps, 1):
            told = f"step {number}/{len(pipeline.steps)}, {step.name}"
            if state.of(step) == DONE:
                print(f"{told}: done", flush=True)
                continue
            code = _do(step, told, state, children, relay)
            if code == INTERRUPTED or (relay.count and (code or step is not pipeline.steps[-1])):
                print(f"interrupted in step {step.name!r}; go on with:\n  {_again(file)}", flush=True)
                return INTERRUPTED
            if code:
                raise TrainingError(
                    f"step {step.name!r} failed ({how_it_ended(code)}): {_reason(step.log)}; its log is "
                    f"{step.log}; go on with: {_again(file)}"
                )
    print(f"all {len(pipeline.steps)} steps are done; everything is in {pipeline.folder}")
    return 0


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Hold the folder of a pipeline until the block ends.

    Raises:
        ConfigError: another process holds it.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(claim(folder))
        except ConfigError as error:
            with writing(folder, "folder"):
                holder = (folder / LOCK).read_text(encoding="utf-8").strip()
            raise ConfigError(
                f"the pipeline in {str(folder)!r} is going on: another process works in it ({holder}); let "
                "it end, or end it, and start this one again then"
            ) from error
        yield


def _check_steps(pipeline: Pipeline, state: PipelineState, first: int | None) -> None:
    """Check the steps that are done and stay so, and that those to come write over nothing of others.

    Raises:
        ConfigError: the file says otherwise now, what one wrote is gone, or a place is taken.
    """
    for step in pipeline.steps:
        state.check_free(step)
    for step in pipeline.steps[:first]:
        if state.of(step) == DONE:
            state.check(step)


def _command(step: Step) -> list[str]:
    """Return the words of ``pixelis`` that do a step, or go on with it."""
    words = [step.command, "--config", str(step.settings_file)]
    if step.kind.trains and list_checkpoints(step.output / "checkpoints"):
        words += ["--resume", str(step.output)]
    return words


def _tell_plan(pipeline: Pipeline, state: PipelineState, first: int | None) -> None:
    """Print what would be done."""
    _check_steps(pipeline, state, first)
    for number, step in enumerate(pipeline.steps):
        anew = first is not None and number >= first
        if state.of(step) == DONE and not anew:
            print(f"{step.name}: done")
            continue
        words = [step.command, "--config", str(step.settings_file)] if anew else _command(step)
        goes_on = "goes on with" if "--resume" in words else "does"
        print(f"{step.name}: {goes_on} {shlex.join(['pixelis', *words])}, into {step.output}")
        text = yaml.safe_dump(dict(step.settings), sort_keys=False, allow_unicode=True)
        print("".join(f"    {line}\n" for line in text.splitlines()), end="")


def _do(step: Step, told: str, state: PipelineState, children: Children, relay: Relay) -> int:
    """Do a step, or go on with it; return the exit code.

    Raises:
        ConfigError: a file of somebody else is in its place.
        OutputError: its settings, its log or the state cannot be written.
    """
    state.check_free(step)
    if not step.kind.trains and step.output.is_dir():
        state.put_aside([step])  # an export that was whole before its end was written down
    words = _command(step)
    with writing(step.settings_file, "folder"):
        text = yaml.safe_dump(dict(step.settings), sort_keys=False, allow_unicode=True)
        write_atomically(step.settings_file, f"{HEADER}\n{text}")
    state.begin(step)
    print(f"{told}: {shlex.join(['pixelis', *words])}", flush=True)
    began = time.monotonic()
    screen = _Screen(step.log)
    process = children.start([sys.executable, "-m", "pixelis", *words], step.log, signal.SIGINT)
    with relay.to(process):
        code = children.wait(process, screen.update)
    screen.update()
    if code == 0:
        state.finish(step, time.monotonic() - began)
    return code


class _Screen:
    """Shows on the screen what is added to a log."""

    def __init__(self, log: Path) -> None:
        self._log, self._shown = log, log.stat().st_size if log.exists() else 0

    def update(self) -> None:
        """Show what is new."""
        with self._log.open("rb") as file:
            file.seek(self._shown)
            said = file.read()
        self._shown += len(said)
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()


def _reason(log: Path) -> str:
    """Return the last error that a log tells, else its last line."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    said = [line for line in lines if line]
    errors = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
    return [*said, *errors][-1] if said else "it said nothing"


def _again(file: str) -> str:
    """Return the command that goes on."""
    return shlex.join([*called_as("pipeline"), file])
