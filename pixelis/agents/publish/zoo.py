"""The zoo: an agent for each lesson, which its command makes again on this machine."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelis.agents.publish.export import export_model
from pixelis.agents.publish.language_stepper import CARD
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.evaluation_file import read_evaluations
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.files import SHIPPED, read_settings_file
from pixelis.errors import ConfigError, suggest
from pixelis.files import write_atomically, writing
from pixelis.rewards.text.smollm2 import cache_folder

_LESSONS = "lessons"
CURVE = "curve.png"


@dataclass(frozen=True)
class Exhibit:
    """An agent of the zoo, made or not.

    Attributes:
        name: of its lesson, such as ``ZoomRead``.
    """

    name: str

    @property
    def lesson(self) -> str:
        """The configuration that trains it, as ``--config`` takes it."""
        return f"{_LESSONS}/{self.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The lesson's settings."""
        return read_settings_file(self.lesson, "config")

    @property
    def run(self) -> Path:
        """The folder of the run that makes it."""
        return cache_folder() / "zoo" / self.name

    @property
    def published(self) -> Path:
        """The folder with its adapter, card and curve."""
        return self.run.with_name(f"{self.name}-adapter")

    @property
    def is_made(self) -> bool:
        """Whether it is here, trained to its end."""
        return self.published.is_dir()

    @property
    def success(self) -> dict[str, float]:
        """Success of greedy play on held-out tasks, phase → rate; empty where it is not made."""
        if not self.is_made:
            return {}
        found = read_evaluations(RunFolder(self.run).evaluation)
        return {
            phase: row.success_rate
            for phase in ("before", "after")
            for row in found.get(phase, ())
            if row.mode == "greedy"
        }


def exhibits() -> dict[str, Exhibit]:
    """Return every agent that can be made, by name."""
    return {path.stem: Exhibit(path.stem) for path in sorted((SHIPPED / _LESSONS).glob("*.yaml"))}


def exhibit(name: str) -> Exhibit:
    """Return the agent of a name.

    Raises:
        ConfigError: there is none.
    """
    known = exhibits()
    if name not in known:
        raise ConfigError(f"the zoo has no {name!r}.{suggest(name, known)} All: {', '.join(known)}")
    return known[name]


def publish(made: Exhibit) -> Path:
    """Write the adapter of a finished run, its card, and its curve where matplotlib is installed.

    Raises:
        PixelisError: see `export_model`.
    """
    export_model(made.run, made.published, adapter_only=True)
    if _draw_curve(made):
        card = made.published / CARD
        with writing(card):
            write_atomically(card, f"{card.read_text('utf-8')}\n![success by step]({CURVE})\n")
    return made.published


def _draw_curve(made: Exhibit) -> bool:
    """Draw the success of training by step, and of held-out tasks before and after."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    rows = [row for row in read_metrics(RunFolder(made.run).metrics) if row.get("success/rate") is not None]
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    panel = figure.add_subplot()
    steps, rates = ([row[name] for row in rows] for name in ("step", "success/rate"))
    panel.plot(steps, rates, label="training, sampled")
    ends = {"before": 0, "after": steps[-1] if steps else 0}
    points = [(ends[phase], rate) for phase, rate in made.success.items()]
    panel.plot(*zip(*points, strict=True), "o", label="held out, greedy") if points else None
    panel.set(xlabel="step", ylabel="success", ylim=(-0.02, 1.02), title=made.name)
    panel.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    with writing(made.published):
        write_atomically(made.published / CURVE, picture.getvalue())
    return True
