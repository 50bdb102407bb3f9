"""Weights & Biases and trackio, for who wants them: the extras ``wandb`` and ``trackio``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.runs.sinks.sink import RunFacts, Sink, StepSample
from pixelis.errors import MissingDependencyError

PROJECT = "pixelis"
"""What runs are collected under; with Weights & Biases unless ``WANDB_PROJECT`` says otherwise."""


class Wandb(Sink):
    """A run of Weights & Biases; its own variables (``WANDB_MODE``, ``WANDB_PROJECT``, …) decide the rest.

    The step is a metric of the rows, by which its curves are drawn: a resumed run may tell a step again.

    Args:
        facts: of the run.
    """

    name = "Weights & Biases"

    def __init__(self, facts: RunFacts) -> None:
        self._facts, self._wandb = facts, imported("wandb")
        self._run: Any = None

    def open(self) -> None:
        """Start a run, or go on with that of an earlier session; nobody is asked for a key."""
        wandb = self._wandb
        mode = os.environ.get("WANDB_MODE", "online")
        if mode in ("online", "shared", "run") and not wandb.login(prompt=False):
            raise RuntimeError("no key is known; type wandb login, or set WANDB_MODE=offline")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=self._facts.folder.name,
            id=self._facts.id or None,
            resume=None if mode == "offline" else "allow",
            dir=str(self._facts.folder),
            config=dict(self._facts.settings),
            settings=wandb.Settings(silent=True, console="off"),
        )
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def write(self, row: Row, sample: StepSample | None) -> None:
        """Log what is known of a row, and the sample as histograms, pictures and a table of texts."""
        wandb = self._wandb
        told: dict[str, Any] = {key: value for key, value in row.items() if value is not None}
        if sample is not None:
            told |= {name: wandb.Histogram(values.tolist()) for name, values in sample.histograms.items()}
            told |= {name: wandb.Image(picture) for name, picture in sample.pictures.items()}
            told |= {name: wandb.Table(["text"], [[text]]) for name, text in sample.texts.items()}
        self._run.log(told)

    def flush(self) -> None:
        """Do nothing: its process writes what it was given, and outlives a kill of this one."""

    def close(self) -> None:
        """End the run."""
        self._run.finish()


class Trackio(Sink):
    """A run of trackio: a local database, or where its own variables say; it gets numbers only.

    Args:
        facts: of the run.
    """

    name = "trackio"

    def __init__(self, facts: RunFacts) -> None:
        self._facts, self._trackio = facts, imported("trackio")
        self._run: Any = None

    def open(self) -> None:
        """Start a run, or go on with that of an earlier session."""
        self._run = self._trackio.init(
            project=PROJECT,
            name="-".join(filter(None, (self._facts.folder.name, self._facts.id))),
            config=self._facts.flat_settings(),
            resume="allow",
            embed=False,
            auto_log_gpu=False,  # rows hold what the machine does
            auto_log_cpu=False,
        )

    def write(self, row: Row, sample: StepSample | None) -> None:
        """Log what is known of a row; what it cannot keep, it warns of itself and goes on."""
        told = {key: value for key, value in row.items() if key != "step" and value is not None}
        self._run.log(told, step=int(row["step"] or 0))

    def flush(self) -> None:
        """Do nothing: it writes every half second by itself."""

    def close(self) -> None:
        """End the run."""
        self._run.finish()


TRACKIO_BESIDE = "pip install --no-deps trackio==0.43.0 gradio-client==2.7.2 brotli==1.2.1"
"""How trackio is installed beside pillow 13, which its own requirements do not allow yet."""

SINKS: dict[str, Callable[[RunFacts], Sink]] = {"wandb": Wandb, "trackio": Trackio}
"""Name in ``log_to`` (and of the package, and of the extra) → sink."""


def imported(name: str) -> Any:
    """Return the package of a sink, imported in the calling thread: that may take seconds.

    Raises:
        MissingDependencyError: naming the extra to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        how = TRACKIO_BESIDE if name == "trackio" else f"pip install 'pixelis[{name}]'"
        raise MissingDependencyError(
            f"log_to {name} needs {name} ({error}); install it with: {how}"
        ) from error
