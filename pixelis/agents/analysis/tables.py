"""An analysis as flat rows: for CSV, and for the tables of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from pixelis.agents.analysis.analysis import Analysis, SubjectReport
from pixelis.agents.analysis.comparing import MEASURES

Row = dict[str, Any]


def subject_rows(analysis: Analysis) -> list[Row]:
    """Return one row a subject."""
    return [_subject_row(report) for report in analysis.reports]


def episode_rows(analysis: Analysis) -> list[Row]:
    """Return one row an episode, with every measure that is compared."""
    return [
        {
            "run": report.subject.run,
            "phase": report.subject.phase,
            "player": report.subject.player,
            "file": episode.path.name,
            "line": episode.line,
            "seed": episode.seed,
            "member": episode.member,
            **{name: episode.task.get(name) for name in ("id", "family", "difficulty", "split")},
            **{name: measure(episode) for name, measure in MEASURES.items()},
            "truncated": episode.truncated,
        }
        for report in analysis.reports
        for episode in report.subject.episodes
    ]


def comparison_rows(analysis: Analysis) -> list[Row]:
    """Return one row for each measure of each comparison."""
    return [
        {"A": comparison.a, "B": comparison.b} | _named(asdict(difference))
        for comparison in analysis.comparisons
        for difference in comparison.differences
    ]


# ---------------------------------------------------------------------- private


def _subject_row(report: SubjectReport) -> Row:
    outcomes, behaviour = report.outcomes or {}, report.behaviour or {}
    success, rapr = outcomes.get("success") or {}, behaviour.get("rapr") or {}
    paid, loops = outcomes.get("paid") or {}, behaviour.get("loops") or {}
    calibration = outcomes.get("calibration") or {}
    return {
        "subject": report.subject.name,
        "episodes": outcomes.get("episodes", 0),
        "tasks": outcomes.get("tasks", 0),
        "infrastructure failed": report.subject.failed,
        "success": success.get("rate"),
        "success low": success.get("low"),
        "success high": success.get("high"),
        "reward": outcomes.get("reward"),
        "reward of successes": paid.get("succeeded"),
        "reward of failures": paid.get("failed"),
        **{name: (behaviour.get(name) or {}).get("mean") for name in ("turns", "tokens", "calls")},
        "coherence": (behaviour.get("coherence") or {}).get("mean"),
        "RaPR episodes": rapr.get("episodes"),
        "RaPR calls": rapr.get("calls"),
        "exploration efficiency": behaviour.get("exploration_efficiency"),
        "looped": loops.get("episodes"),
        "truncated": behaviour.get("truncated"),
        "calibration error": calibration.get("ece"),
        "Brier score": calibration.get("brier"),
    }


def _named(row: Mapping[str, Any]) -> Row:
    return {name.replace("_", " "): value for name, value in row.items()}


def joined(counts: Mapping[str, Any] | Iterable[tuple[str, Any]], most: int = 8) -> str:
    """Return counts in words, the first of them: ``ZOOM 12, READ_TEXT 9``."""
    pairs = list(counts.items() if isinstance(counts, Mapping) else counts)
    more = f", {len(pairs) - most} more" if len(pairs) > most else ""
    return ", ".join(f"{name} {value}" for name, value in pairs[:most]) + more or "–"
