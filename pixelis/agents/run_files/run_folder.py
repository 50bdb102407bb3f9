"""The folder of a training run: settings, metrics, sample episodes, checkpoints and a log.

``config.yaml``, ``metrics.jsonl``, ``tensorboard/``, ``trajectories/step-NNNNNNNN.jsonl``,
``checkpoints/step-NNNNNNNN/``, ``evaluation.json`` and ``log.txt``.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pixelis.errors import CheckpointError, ConfigError, UserCodeError
from pixelis.files import json_line, one_line, write_atomically, writing
from pixelis.wrappers.recording.images import FOLDER as IMAGES
from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.values import encode, is_picture

_CONFIG, _LOG = "config.yaml", "log.txt"
_TRAJECTORIES = re.compile(r"(?:evaluation-)?step-(\d{8})\.jsonl")


@dataclass(frozen=True)
class RunFolder:
    """Where a run writes; make one with `create` or `open`.

    Attributes:
        path: the folder.
    """

    path: Path

    @classmethod
    def create(cls, path: str | Path, config: Mapping[str, Any]) -> RunFolder:
        """Start a new run's folder with its ``config.yaml``.

        Raises:
            ConfigError: the folder already holds a run with a checkpoint or metrics. One that was killed
                before its first checkpoint has nothing to lose, and begins again.
            OutputError: it cannot be written.
        """
        run = cls(Path(path))
        run.check_free()
        with writing(run.path):
            for folder in (run.path, run.trajectories, run.checkpoints):
                folder.mkdir(parents=True, exist_ok=True)
            write_atomically(run.config, yaml.safe_dump(dict(config), sort_keys=False))
        return run

    @classmethod
    def open(cls, path: str | Path) -> tuple[RunFolder, dict[str, Any]]:
        """Return the folder of a run that exists, and its settings.

        Raises:
            CheckpointError: there is no run, or its ``config.yaml`` is damaged.
        """
        run = cls(Path(path))
        try:
            config = yaml.safe_load(run.config.read_text(encoding="utf-8"))
        except OSError:
            raise CheckpointError(
                f"no run at {str(path)!r} ({_CONFIG} is missing); give the folder that a training run wrote"
            ) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{str(run.config)!r} is damaged: {one_line(error)}") from error
        if not isinstance(config, dict):
            raise CheckpointError(f"{str(run.config)!r} is damaged: expected a mapping of settings")
        return run, config

    def check_free(self) -> None:
        """Check that a new run would lose nothing here.

        Raises:
            ConfigError: there is a checkpoint, or metrics.
        """
        if self.config.exists() and (self.metrics.exists() or any(self.checkpoints.glob("step-*"))):
            raise ConfigError(
                f"{str(self.path)!r} already holds a run; resume it with --resume "
                f"{shlex.quote(str(self.path))} or choose another --output"
            )

    @property
    def config(self) -> Path:
        """The settings, as YAML."""
        return self.path / _CONFIG

    @property
    def metrics(self) -> Path:
        """One JSON object a line, one line a step."""
        return self.path / "metrics.jsonl"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard's event files."""
        return self.path / "tensorboard"

    @property
    def trajectories(self) -> Path:
        """Folder of sample episodes."""
        return self.path / "trajectories"

    @property
    def checkpoints(self) -> Path:
        """Folder of checkpoints, see `pixelis.agents.run_files.checkpoint`."""
        return self.path / "checkpoints"

    @property
    def evaluation(self) -> Path:
        """The table of evaluations, as JSON."""
        return self.path / "evaluation.json"

    def write_trajectories(self, step: int, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a step's sample episodes, one JSON object a line.

        Raises:
            OutputError: the file cannot be written.
        """
        self.write_rows(f"step-{step:08d}", rows)

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write episodes as ``trajectories/NAME.jsonl``, one JSON object a line.

        A picture becomes a file of ``trajectories/images``, named by what it shows, as in a recording.

        Raises:
            OutputError: a file cannot be written.
        """
        images = ImageFolder(self.trajectories / IMAGES)

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray) and is_picture(value):
                return encode(value, limit=0, keep=images.save)
            return str(value)

        text = "".join(json_line(row, default=plain) for row in rows)
        path = self.trajectories / f"{name}.jsonl"
        with writing(path):
            write_atomically(path, text)

    def discard_after(self, step: int) -> None:
        """Delete the sample episodes of later steps, which a resumed run will write again."""
        if not self.trajectories.is_dir():
            return
        for path in self.trajectories.iterdir():
            match = _TRAJECTORIES.fullmatch(path.name)
            if match is not None and int(match[1]) > step:
                path.unlink()

    @property
    def log(self) -> Path:
        """What Pixelis logged while the run went on, and why it stopped."""
        return self.path / _LOG

    def logging(self) -> contextlib.AbstractContextManager[logging.Logger]:
        """Inside the block, everything Pixelis logs is also appended to ``log.txt``; see `logging_to`."""
        return logging_to(self.log)


@contextlib.contextmanager
def logging_to(path: Path) -> Iterator[logging.Logger]:
    """Inside the block, everything Pixelis logs is also appended to a file.

    Raises:
        OutputError: the file cannot be written.
    """
    logger = logging.getLogger("pixelis")
    with writing(path):
        handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield logger
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        handler.close()


def log_failure(path: Path, error: BaseException) -> None:
    """Append why something stopped to a log, with the traceback; `UserCodeError` is told where that is.

    A log that cannot be written hides no error.
    """
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, UserCodeError):
        if error.log is not None:
            return
        trace = error.trace or trace
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            file.write(f"{stamp} ERROR stopped: {error}\n{trace.rstrip()}\n")
        if isinstance(error, UserCodeError):
            error.log = str(path)


def free_run_path(env_id: str, model: str, seed: int, parent: str | Path = "runs") -> Path:
    """Return a folder name that is not taken, such as ``runs/zoomread-pixelis-tiny-seed0``."""
    env = re.sub(r"-v\d+$", "", env_id.rpartition("/")[2].rpartition(":")[2]).lower()
    name = f"{env}-{Path(model).name}-seed{seed}"
    path, number = Path(parent) / name, 1
    while path.exists() and {each.name for each in path.iterdir()} != {_LOG}:  # of a start that failed
        number += 1
        path = Path(parent) / f"{name}-{number}"
    return path
