"""An analysis as one picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from pixelis.agents.analysis.analysis import Analysis, SubjectReport
from pixelis.errors import MissingDependencyError

_MOST_TOOLS = 8
_LONGEST_NAME = 40
_BELOW: dict[str, Any] = {"fontsize": 7, "loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncol": 3}


def draw(analysis: Analysis) -> bytes:
    """Return success, lengths, tools, pay, calibration and comparisons of all subjects as PNG.

    Raises:
        MissingDependencyError: there is no matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            "the picture needs matplotlib: pip install 'pixelis[analysis]'; everything else is in the report"
        ) from error
    reports = [each for each in analysis.reports if each.outcomes is not None]
    height = 1.6 + 0.28 * len(reports)
    figure = Figure(figsize=(12.0, height + 4.2), dpi=110, layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(height, 4.2), squeeze=False).ravel()
    rows = above.subplots(1, 4, sharey=True)
    names = [_short(each.subject.name) for each in reports]
    for axes, draw_panel in zip(rows, (_success, _turns, _tools, _paid), strict=True):
        draw_panel(axes, reports)
    _name_rows(rows[0], names)
    left, right = below.subplots(1, 2)
    _calibration(left, reports, names)
    _differences(right, analysis)
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


# ---------------------------------------------------------------------- private


def _success(axes: Any, reports: Sequence[SubjectReport]) -> None:
    axes.set_title("success, 95 % interval", fontsize=10)
    for place, report in enumerate(reports):
        if (found := _of(report)["success"]) is not None:
            rate = found["rate"]
            spread = [[max(rate - found["low"], 0)], [max(found["high"] - rate, 0)]]
            axes.errorbar(rate, place, xerr=spread, fmt="o", color="C0", capsize=3)
    axes.set_xlim(-0.03, 1.03)


def _turns(axes: Any, reports: Sequence[SubjectReport]) -> None:
    axes.set_title("turns: mean, 10th to 90th percentile", fontsize=10)
    for place, report in enumerate(reports):
        turns = report.behaviour["turns"] if report.behaviour else None
        if turns is not None:
            axes.plot([turns["p10"], turns["p90"]], [place, place], color="C0", lw=3, alpha=0.4)
            axes.plot(turns["mean"], place, "o", color="C0")
    axes.set_xlim(left=0)


def _tools(axes: Any, reports: Sequence[SubjectReport]) -> None:
    axes.set_title("calls an episode, by tool", fontsize=10)
    counts = [report.behaviour["tools"] if report.behaviour else {} for report in reports]
    tools = list(dict.fromkeys(tool for each in counts for tool in each))
    for number, tool in enumerate(tools[:_MOST_TOOLS]):
        shares = [
            each.get(tool, {}).get("calls", 0) / _of(report)["episodes"]
            for each, report in zip(counts, reports, strict=True)
        ]
        left = [
            sum(each.get(other, {}).get("calls", 0) for other in tools[:number]) / _of(report)["episodes"]
            for each, report in zip(counts, reports, strict=True)
        ]
        axes.barh(range(len(reports)), shares, left=left, label=_short(tool), color=f"C{number}")
    if tools:
        axes.legend(**_BELOW)


def _paid(axes: Any, reports: Sequence[SubjectReport]) -> None:
    axes.set_title("reward of failures and successes", fontsize=10)
    for place, report in enumerate(reports):
        paid = _of(report)["paid"] or {}
        for kind, colour in (("failed", "C3"), ("succeeded", "C2")):
            if paid.get(kind) is not None:
                axes.plot(paid[kind], place, "o", color=colour, label=kind if not place else None)
    axes.grid(alpha=0.25)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(**_BELOW)


def _calibration(axes: Any, reports: Sequence[SubjectReport], names: Sequence[str]) -> None:
    axes.set_title("probability of the answer, success", fontsize=10)
    axes.plot([0, 1], [0, 1], color="grey", lw=1, ls=":")
    for report, name in zip(reports, names, strict=True):
        if (found := _of(report)["calibration"]) is not None:
            points = found["bins"]
            x, y = [each["confidence"] for each in points], [each["success"] for each in points]
            axes.plot(x, y, "o-", ms=4, lw=1, label=name)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=6, loc="upper left")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)


def _differences(axes: Any, analysis: Analysis) -> None:
    axes.set_title("success: difference, paired, 95 % interval", fontsize=10)
    names = []
    for comparison in analysis.comparisons:
        for each in comparison.differences:
            if each.measure == "success":
                spread = [[max(each.difference - each.low, 0)], [max(each.high - each.difference, 0)]]
                axes.errorbar(each.difference, len(names), xerr=spread, fmt="o", color="C0", capsize=3)
                names.append(f"{_short(comparison.b)}\n− {_short(comparison.a)}")
    if not names:
        axes.set_visible(False)
        return
    axes.axvline(0, color="grey", lw=1, ls=":")
    _name_rows(axes, names)


def _of(report: SubjectReport) -> dict[str, Any]:
    assert report.outcomes is not None  # those without are left out above
    return report.outcomes


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=7, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _short(name: str) -> str:
    plain = "".join(sign if sign.isprintable() else "?" for sign in name)
    return plain if len(plain) <= _LONGEST_NAME else f"…{plain[-_LONGEST_NAME:]}"
