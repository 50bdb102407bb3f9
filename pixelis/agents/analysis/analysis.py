"""A whole analysis: every subject, every comparison, and what is missing for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pixelis.agents.analysis.behaviour import behaviour_of
from pixelis.agents.analysis.comparing import Comparison, compare, pairs_of
from pixelis.agents.analysis.mistakes import Lost, Mistakes, find_mistakes
from pixelis.agents.analysis.outcomes import outcomes_of
from pixelis.agents.analysis.subjects import AnalysisSubject, Material
from pixelis.errors import MissingDependencyError

VERSION = 1


@dataclass(frozen=True)
class SubjectReport:
    """What is known of a subject.

    Attributes:
        subject: whose episodes.
        outcomes: see `outcomes_of`; None without episodes that count.
        behaviour: see `behaviour_of`; likewise.
        mistakes: see `find_mistakes`.
        missing: what its episodes do not say, and what would make them say it.
    """

    subject: AnalysisSubject
    outcomes: dict[str, Any] | None
    behaviour: dict[str, Any] | None
    mistakes: Mistakes
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {
            "run": self.subject.run,
            "phase": self.subject.phase,
            "player": self.subject.player,
            "infrastructure_failed": self.subject.failed,
            "outcomes": self.outcomes,
            "behaviour": self.behaviour,
            "mistakes": self.mistakes.to_json(),
            "missing": list(self.missing),
        }


@dataclass(frozen=True)
class Analysis:
    """What `analyse` found.

    Attributes:
        reports: one a subject.
        comparisons: see `compare`.
        problems: what could not be read, or not be done.
    """

    reports: tuple[SubjectReport, ...]
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {
            "version": VERSION,
            "subjects": {each.subject.name: each.to_json() for each in self.reports},
            "comparisons": [each.to_json() for each in self.comparisons],
            "problems": list(self.problems),
        }

    def examples(self, most: int) -> list[tuple[str, Lost]]:
        """Return the most frequent mistakes of all subjects: the subject's name, and where it was lost."""
        found = [(report.subject.name, lost) for report in self.reports for lost in report.mistakes.lost]
        return sorted(found, key=lambda each: -each[1].episodes)[:most]


def analyse(material: Material) -> Analysis:
    """Analyse subjects; what they do not say is listed, and the rest is done."""
    problems = list(material.problems)
    reports = tuple(_report(subject, material) for subject in material.subjects)
    comparisons: list[Comparison] = []
    try:
        comparisons = compare(pairs_of(material.subjects))
    except MissingDependencyError as error:
        problems.append(str(error))
    return Analysis(reports, tuple(comparisons), tuple(problems))


# ---------------------------------------------------------------------- private


def _report(subject: AnalysisSubject, material: Material) -> SubjectReport:
    others = [
        episode
        for each in material.subjects
        if each.run == subject.run and each is not subject
        for episode in each.episodes
    ]
    traits = material.traits.get(subject.run)
    known = bool(subject.episodes)
    outcomes = outcomes_of(subject.episodes) if known else None
    behaviour = behaviour_of(subject.episodes, traits) if known else None
    mistakes = find_mistakes(subject.episodes, others)
    return SubjectReport(
        subject, outcomes, behaviour, mistakes, tuple(_missing(subject, outcomes, behaviour, mistakes))
    )


def _missing(
    subject: AnalysisSubject,
    outcomes: dict[str, Any] | None,
    behaviour: dict[str, Any] | None,
    mistakes: Mistakes,
) -> Sequence[str]:
    if outcomes is None or behaviour is None:
        return [f"all {subject.failed} episodes were lost to the infrastructure: the run's log.txt says why"]
    found = []
    if outcomes["success"] is None:
        found.append("success, its kinds and calibration: the environment does not say who succeeded")
    elif outcomes["calibration"] is None:
        found.append(
            "calibration: the probabilities of the turns were not kept (a player that is no language model, "
            "or a file of an older version)"
        )
    if not behaviour["tools"]:
        found.append("tools, bigrams, coherence, exploration, RaPR: there was no tool call")
    else:
        if behaviour["coherence"] is None:
            found.append("coherence: no episode has two calls, or the tools of the environment are not known")
        if behaviour["rapr"] is None:
            found.append(
                "RaPR: which tools look at pixels was not kept (a file of an older version), or the "
                "environment declares no tools"
            )
    if behaviour["tokens"] is None:
        found.append("tokens: not kept (a player that is no language model, or a file of an older version)")
    if mistakes.unknown:
        found.append(
            f"first mistakes of {mistakes.unknown} failures: their turns were not kept (a file of an older "
            "version, or an agent without language)"
        )
    if mistakes.alone:
        found.append(
            f"first mistakes of {mistakes.alone} failures: nobody succeeded at their tasks; larger groups, "
            "--trajectories-every 1 or more evaluation episodes give something to hold them against"
        )
    return found
