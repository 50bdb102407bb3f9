"""The file of a pipeline: which commands follow one another, and what each is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator

from pixelis.agents.settings.base import Section, Settings, setting
from pixelis.agents.settings.files import EXTENDS, read_settings_file, read_yaml, settings_file
from pixelis.agents.settings.plain import merged
from pixelis.cli.evaluate import EvaluateSettings
from pixelis.cli.expert import COMMAND as EXPERT
from pixelis.cli.export import ExportSettings
from pixelis.cli.sft import COMMAND as SFT
from pixelis.cli.train import COMMAND as TRAIN
from pixelis.errors import ConfigError, suggest

_NAME = re.compile(r"\w[\w-]*")
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
RESERVED = ("pipeline", "replaced")
"""Names in the folder that are not a step's."""


@dataclass(frozen=True)
class Kind:
    """A command that can be a step.

    Attributes:
        settings: the class of its settings, or what returns it for settings as they were written.
        suffix: of what it writes: none of a folder.
        trains: whether it leaves checkpoints, from which ``--resume`` goes on.
        needs: a setting without which it does nothing.
    """

    settings: type[Any] | Callable[[Mapping[str, Any]], type[Any]]
    suffix: str = ""
    trains: bool = False
    needs: str | None = None

    def check(self, values: Mapping[str, Any]) -> None:
        """Check settings.

        Raises:
            ConfigError: one is unknown, wrong or missing.
        """
        if self.needs is not None and values.get(self.needs) is None:
            raise ConfigError(
                f"{self.needs} must be given, such as {self.needs}: ${{grpo}} for the step grpo"
            )
        kind = self.settings if isinstance(self.settings, type) else self.settings(values)
        kind.from_mapping(values)


KINDS: Mapping[str, Kind] = {
    "sft": Kind(SFT.settings, trains=True),
    "train": Kind(TRAIN.settings, trains=True),
    "expert": Kind(EXPERT.settings, trains=True),
    "evaluate": Kind(EvaluateSettings, suffix=".json", needs="agent"),
    "export": Kind(ExportSettings, needs="run"),
}
"""Word of ``pixelis`` → how it is a step."""


class StepSettings(Section):
    """A step as it is written."""

    command: Literal["sft", "train", "expert", "evaluate", "export"] = setting(..., "which command")
    settings: dict[str, Any] = setting({}, "its settings, as in a file for --config; extends too")


class PipelineSettings(Settings):
    """What the file of a pipeline holds."""

    folder: str | None = setting(None, "where all of it is written; null: runs/ and the file's name")
    steps: dict[str, StepSettings] = setting(..., "the steps by name, in their order")

    @field_validator("steps")
    @classmethod
    def _names(cls, value: dict[str, StepSettings]) -> dict[str, StepSettings]:
        if not value:
            raise ConfigError("steps must hold at least one step, such as sft: {command: sft, settings: {…}}")
        for name in value:
            if not _NAME.fullmatch(name) or name in RESERVED:
                raise ConfigError(
                    f"a step's name must be letters, digits, '_' and '-', and none of {', '.join(RESERVED)}; "
                    f"got {name!r}"
                )
        return value


@dataclass(frozen=True)
class Step:
    """A step, its settings complete.

    Attributes:
        name: in the file.
        command: word of ``pixelis``.
        settings: all that was written for it, references replaced, ``output`` included.
        output: what it writes: a folder, or a file.
        sources: the files that it extends.
    """

    name: str
    command: str
    settings: Mapping[str, Any]
    output: Path
    sources: tuple[Path, ...] = ()

    @property
    def kind(self) -> Kind:
        """What its command is like."""
        return KINDS[self.command]

    @property
    def settings_file(self) -> Path:
        """Where its settings are written, for ``--config``."""
        return self.output.parent / f"{self.name}.yaml"

    @property
    def log(self) -> Path:
        """Where what it prints is written."""
        return self.output.parent / f"{self.name}.log"


@dataclass(frozen=True)
class Pipeline:
    """Steps that follow one another.

    Attributes:
        file: where they are written.
        folder: where they write.
        steps: in their order.
    """

    file: Path
    folder: Path
    steps: tuple[Step, ...]

    @classmethod
    def read(cls, name: str) -> Pipeline:
        """Return the pipeline of a file; every setting of every step is checked, nothing is started.

        Args:
            name: path of the file, or name of a pipeline that comes with the package.

        Raises:
            ConfigError: there is no such file, something in it is wrong, or a step would write over what was
                read; the step is named.
        """
        file = settings_file(name, "FILE")
        try:
            written = PipelineSettings.from_mapping(read_settings_file(str(file), "FILE"))
        except ConfigError as error:
            raise ConfigError(f"pipeline {str(file)!r}: {error}") from error
        folder = Path(written.folder or Path("runs", file.stem))
        steps: list[Step] = []
        for step_name, step in written.steps.items():
            try:
                steps.append(_complete(step_name, step, folder, file, steps))
            except ConfigError as error:
                raise ConfigError(f"step {step_name!r} of {str(file)!r}: {error}") from error
        _check_apart(steps, [*_sources(file), *(source for step in steps for source in step.sources)])
        return cls(file, folder, tuple(steps))

    def position(self, name: str) -> int:
        """Return which step has a name.

        Raises:
            ConfigError: none has.
        """
        names = [step.name for step in self.steps]
        if name not in names:
            raise ConfigError(f"{str(self.file)!r} has no step {name!r}.{suggest(name, names)}")
        return names.index(name)


def _complete(name: str, step: StepSettings, folder: Path, file: Path, before: Sequence[Step]) -> Step:
    """Return a step with what it extends, refers to and writes.

    Raises:
        ConfigError: a setting is wrong.
    """
    if "output" in step.settings:
        raise ConfigError("leave output out: a step writes into the folder of the pipeline")
    outputs = {each.name: str(each.output) for each in before}
    values = dict(_replaced(step.settings, outputs))
    base = values.pop(EXTENDS, None)
    sources: list[Path] = []
    if base is not None:
        beside = file.parent / str(base)
        extended = str(beside if beside.is_file() else base)
        values = merged(read_settings_file(extended, EXTENDS), values)
        sources = _sources(settings_file(extended, EXTENDS))
    kind = KINDS[step.command]
    output = folder / f"{name}{kind.suffix}"
    values["output"] = str(output)
    kind.check(values)
    return Step(name, step.command, values, output, tuple(sources))


def _sources(path: Path) -> list[Path]:
    """Return a file of settings, which has been read already, and those that it extends."""
    base = read_yaml(path, EXTENDS).get(EXTENDS)
    if base is None:
        return [path]
    beside = path.parent / base
    return [path, *_sources(beside if beside.is_file() else settings_file(base, EXTENDS))]


def _check_apart(steps: Sequence[Step], sources: Sequence[Path]) -> None:
    """Refuse steps that would write over what was read.

    Raises:
        ConfigError: one would.
    """
    for step in steps:
        for path in (step.settings_file, step.output, step.log):
            if path.exists() and any(path.samefile(source) for source in sources):
                raise ConfigError(
                    f"step {step.name!r} would write over {str(path)!r}, which its pipeline is read from; "
                    "give the step another name, or the pipeline another folder"
                )


def _replaced(value: Any, outputs: Mapping[str, str]) -> Any:
    """Return settings in which ``${step}`` is what that step writes.

    Raises:
        ConfigError: it names no earlier step.
    """
    if isinstance(value, Mapping):
        return {key: _replaced(each, outputs) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, outputs) for each in value]
    if not isinstance(value, str):
        return value

    def output(found: re.Match[str]) -> str:
        """Return the output of the step that is named."""
        if found[1] not in outputs:
            known = suggest(found[1], outputs) if outputs else " It is the first."
            raise ConfigError(f"{found[0]} must name a step before this one.{known}")
        return outputs[found[1]]

    return _REFERENCE.sub(output, value)
