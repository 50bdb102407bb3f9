"""``scripts/analyze_trajectories.py``: what the episodes of runs say, as JSON, CSV, PNG and one HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.errors import ConfigError, MissingDependencyError, RecordingError, suggest

if TYPE_CHECKING:
    from rich.table import Table

    from pixelis.agents.analysis.analysis import Analysis

PROGRAM = "analyze_trajectories.py"
DESCRIPTION = """\
Analyse the episodes that runs have kept: analyze_trajectories.py RUN [RUN ...] (folders of runs,
their files of episodes, or recordings of RecordTrajectory). Lengths, tools, coherence, loops,
exploration, success by kind of task, where episodes are lost, what is paid for failures,
calibration, and the differences between runs, paired by task. No model is needed. What a run did
not keep is named as missing."""
EXAMPLES = """\
examples:
  analyze_trajectories.py runs/zoom
  analyze_trajectories.py runs/a runs/b --num-samples 50 --output compared
  analyze_trajectories.py runs/a --phases after,baselines --no-pictures"""
_DEFAULT_PHASES = ("before", "training", "after", "recording")
_TOLD = 5


class AnalyzeSettings(Settings):
    """The flags of ``analyze_trajectories.py``."""

    num_samples: int = setting(0, "most episodes of each run, phase and player; 0: all", ge=0)
    phases: str = setting(
        ",".join(_DEFAULT_PHASES), "which, of before,training,during,after,baselines,recording"
    )
    examples: int = setting(3, "pairs of a failure and a success on the same task in the report", ge=0)
    pictures: bool = setting(True, "play the examples again for their pictures")
    plot: bool = setting(True, "draw analysis.png, which needs matplotlib")
    output: str = setting("analysis", "folder for analysis.json, .csv, .png and report.html")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_analyze, words)


def _analyze(words: Sequence[str]) -> int:
    places = _leading(words)
    settings = Arguments(PROGRAM, DESCRIPTION, AnalyzeSettings, EXAMPLES).read(words[len(places) :])
    if not places:
        raise ConfigError("give at least one run before the flags; see --help")
    phases = _phases(settings.phases)

    from pixelis.agents.analysis.analysis import analyse
    from pixelis.agents.analysis.subjects import read_subjects

    material = read_subjects(places, phases, settings.num_samples)
    if not material.subjects:
        told = f" ({material.problems[0]})" if material.problems else ""
        raise RecordingError(f"no episode of {', '.join(phases)} in {', '.join(places)}{told}")
    analysis = analyse(material)
    console = open_console()
    try:
        analysis = _write(analysis, material.stages if settings.pictures else {}, settings, places)
    finally:
        for stage in material.stages.values():
            stage.close()
    console.print(table_of(analysis))
    told = [
        *analysis.problems,
        *(f"{r.subject.name}: missing: {m}" for r in analysis.reports for m in r.missing),
    ]
    for problem in told[:_TOLD]:
        console.print(problem, style="yellow", markup=False, soft_wrap=True)
    if len(told) > _TOLD:
        console.print(f"{len(told) - _TOLD} more remarks are in the report")
    console.print(f"the report is {Path(settings.output) / 'report.html'}", soft_wrap=True)
    return 0


def table_of(analysis: Analysis) -> Table:
    """Return the subjects for `rich.print`."""
    from rich.table import Table
    from rich.text import Text

    from pixelis.agents.analysis.tables import subject_rows
    from pixelis.agents.viewing.visible import in_plain

    shown = ("episodes", "success", "reward", "turns", "calls", "coherence", "looped", "calibration error")
    table = Table()
    table.add_column("episodes of", overflow="fold")
    for name in shown:
        table.add_column(name, justify="right")
    for row in subject_rows(analysis):
        table.add_row(Text(in_plain(row["subject"])), *(_cell(row[name]) for name in shown))
    return table


# ---------------------------------------------------------------------- private


def _cell(value: float | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3g}"


def _leading(words: Sequence[str]) -> list[str]:
    """Return the words before the first flag."""
    count = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[:count])


def _phases(text: str) -> list[str]:
    from pixelis.agents.analysis.subjects import PHASES

    asked = [name.strip() for name in text.split(",") if name.strip()]
    for name in asked:
        if name not in PHASES:
            raise ConfigError(f"--phases has no {name!r}.{suggest(name, PHASES)}")
    if not asked:
        raise ConfigError(f"--phases needs at least one of {', '.join(PHASES)}")
    return asked


def _write(analysis: Analysis, stages: dict, settings: AnalyzeSettings, places: Sequence[str]) -> Analysis:
    """Write every file; return the analysis with what could not be drawn among its problems.

    Raises:
        OutputError: a file cannot be written.
    """
    from dataclasses import replace

    from pixelis.agents.analysis.plot import draw
    from pixelis.agents.analysis.report import report_page
    from pixelis.agents.analysis.tables import comparison_rows, episode_rows, subject_rows
    from pixelis.agents.viewing.visible import csv_of
    from pixelis.files import write_atomically, writing

    picture = None
    if settings.plot:
        try:
            picture = draw(analysis)
        except MissingDependencyError as error:
            analysis = replace(analysis, problems=(*analysis.problems, str(error)))
    title = f"Analysis of {', '.join(places)}"
    page = report_page(analysis, title, picture=picture, stages=stages, examples=settings.examples)
    folder = Path(settings.output)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(analysis.to_json(), indent=1, allow_nan=False) + "\n"
        write_atomically(folder / "analysis.json", text)
        for name, rows in (
            ("subjects", subject_rows(analysis)),
            ("episodes", episode_rows(analysis)),
            ("comparisons", comparison_rows(analysis)),
        ):
            write_atomically(folder / f"{name}.csv", csv_of(rows))
        if picture is not None:
            write_atomically(folder / "analysis.png", picture)
        write_atomically(folder / "report.html", page)
    return analysis
