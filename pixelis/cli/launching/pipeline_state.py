"""How far a pipeline has come: which steps are done, and with which settings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelis.agents.settings.plain import leaves
from pixelis.cli.launching.pipeline_file import Step
from pixelis.cli.results import files_of
from pixelis.errors import CheckpointError, ConfigError, shown
from pixelis.files import write_atomically, writing

FILE = "pipeline.json"
REPLACED = "replaced"
"""Folder for what steps had written that were done anew."""
FORMAT = 1
DONE, BEGUN = "done", "begun"
HEADER = "# Written by `pixelis pipeline`; change the pipeline's file."
"""First line of the settings of a step."""


class PipelineState:
    """The steps that were begun or done in a folder, kept in `FILE` there.

    Args:
        folder: of the pipeline; it need not exist.

    Raises:
        CheckpointError: the file is damaged, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / FILE
        self._steps: dict[str, dict[str, Any]] = {}
        if not self._path.exists():
            return
        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
            version = saved["format"]
            for name, each in saved["steps"].items():
                saved_step = {**each, "settings": dict(each["settings"]), "command": str(each["command"])}
                self._steps[name] = {**saved_step, "state": str(each["state"])}
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise CheckpointError(
                f"{str(self._path)!r} is damaged ({type(error).__name__}); take another folder, or delete "
                "it: then trainings go on and the rest is done anew"
            ) from error
        if version != FORMAT:
            raise CheckpointError(
                f"{str(self._path)!r} has format {shown(version)}, this version reads {FORMAT}; take the "
                "version that wrote it, or another folder"
            )

    def of(self, step: Step) -> str:
        """Return how a step stands: `DONE`, `BEGUN`, or nothing."""
        return self._steps.get(step.name, {}).get("state", "")

    def check(self, step: Step) -> None:
        """Check that what a step has done is what it would do now.

        Raises:
            ConfigError: its settings are others, or what it wrote is gone.
        """
        saved = self._steps[step.name]
        redo = f"--redo-from {step.name} does it and what follows anew"
        changes = _changes({"command": saved["command"], **saved["settings"]}, _plain(step))
        if changes:
            raise ConfigError(
                f"step {step.name!r} was done with other settings: {changes}. {redo} (what is there is kept "
                f"in {str(self.folder / REPLACED)!r}); or put the settings back"
            )
        if not step.output.exists():
            raise ConfigError(
                f"step {step.name!r} is done, and what it wrote ({step.output}) is gone; {redo}"
            )

    def check_free(self, step: Step) -> None:
        """Check that a step that has not begun would write over nothing of somebody else.

        Raises:
            ConfigError: a file is in its place, and no pipeline has written the settings there.
        """
        if self.of(step) or _is_ours(step.settings_file):
            return
        for path in (step.settings_file, step.output):
            if path.is_file():
                raise ConfigError(
                    f"step {step.name!r} would write over {str(path)!r}, which no pipeline has written; move "
                    "it, or give the step another name, or the pipeline another folder"
                )

    def begin(self, step: Step) -> None:
        """Write down that a step is begun.

        Raises:
            OutputError: that cannot be written.
        """
        self._set(step, BEGUN)

    def finish(self, step: Step, seconds: float) -> None:
        """Write down that a step is done.

        Args:
            step: which.
            seconds: that it took this time.

        Raises:
            OutputError: that cannot be written.
        """
        self._set(step, DONE, seconds=round(seconds, 1))

    def put_aside(self, steps: Sequence[Step]) -> Path | None:
        """Forget steps, and keep what they wrote in a new folder in `REPLACED`; return it, None for nothing.

        Raises:
            OutputError: that cannot be written.
        """
        there = [path for step in steps for path in _written_by(step) if path.exists()]
        aside = None
        if there:
            number = 1
            while (aside := self.folder / REPLACED / str(number)).exists():
                number += 1
            with writing(aside, "folder"):
                aside.mkdir(parents=True)
                for path in there:
                    os.rename(path, aside / path.name)
        for step in steps:  # only now: a step that is done and has nothing to show is told
            self._steps.pop(step.name, None)
        self._save()
        return aside

    # ------------------------------------------------------------------ private

    def _set(self, step: Step, state: str, **more: Any) -> None:
        saved = _plain(step)
        command = saved.pop("command")
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        self._steps[step.name] = {"state": state, "at": stamp, "command": command, "settings": saved, **more}
        self._save()

    def _save(self) -> None:
        with writing(self._path, "folder"):
            text = json.dumps({"format": FORMAT, "steps": self._steps}, indent=1, ensure_ascii=False)
            write_atomically(self._path, text + "\n")


def _plain(step: Step) -> dict[str, Any]:
    """Return what a step is, as JSON gives it back."""
    plain: dict[str, Any] = json.loads(json.dumps({"command": step.command, **step.settings}, default=str))
    return plain


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how settings differ, in words; empty where they do not."""
    old, new = dict(leaves(then)), dict(leaves(now))
    paths = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    told = [
        f"{'.'.join(path)} was {shown(old.get(path), 60)} and is {shown(new.get(path), 60)}" for path in paths
    ]
    more = f" and {len(told) - 5} more" if len(told) > 5 else ""
    return ", ".join(told[:5]) + more


def _written_by(step: Step) -> list[Path]:
    """Return what a step may have written, its log and settings included."""
    output = files_of(step.output) if step.command == "evaluate" else [step.output]
    warm_start = step.output.with_name(f"{step.output.name}-warm-start")
    return [*output, step.settings_file, step.log, *([warm_start] if step.kind.trains else [])]


def _is_ours(settings_file: Path) -> bool:
    """Whether a pipeline has written the settings there."""
    try:
        with settings_file.open("rb") as file:
            return file.readline().rstrip() == HEADER.encode()
    except OSError:  # it is not there, or is no file
        return False
