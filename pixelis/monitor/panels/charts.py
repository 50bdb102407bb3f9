"""Charts as options of Apache ECharts: plain data, in which names and numbers of runs are values only.

No key of the options comes from a file: NiceGUI takes a key that begins with ``:`` for a program.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.agents.runs.alarm_watch import Alarm, is_told
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.panels.catalogue import alarms, level_kinds
from pixelis.monitor.reading.series import Axis, Line, RunSeries

Options = dict[str, Any]
MOST_LETTERS = 44
"""Of what stands at a mark: what fits beside a chart's height."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6fdf", "#7a8a2a")
"""Told apart also by the colour-blind (Okabe and Ito's, but the last two); on white and on black."""
GREY = "#8a8f98"
ALARM = "#d32f2f"
DASHES: tuple[Any, ...] = ("solid", [6, 4], [2, 3], [10, 4, 2, 4])
WATCHED = "watch/alarm"
"""On while the reward rises and a score that is not paid falls; it is drawn nowhere itself."""
_HEAT_COLUMNS = 60
_UNKNOWN = "?"
# Static programs of ours, in which nothing of a run stands.
_TOOLTIP = """(rows) => [String(+Number(rows[0].value[0]).toPrecision(7))].concat(
  rows.filter((row) => row.seriesName && !row.seriesName.endsWith('\\u200b'))
  .map((row) => row.seriesName + ': ' + Number(row.value[1]).toPrecision(4))).join('\\n')"""
_CELL = """(cell) => cell.name + '\\n' + cell.value[2]"""
_TICK = """(value) => Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3)
  ? value.toExponential(1).replace('.0e', 'e') : +value.toPrecision(6)"""


Mark = tuple[float, str, str]
"""Where an alarm went on, its name, and the colour of its line."""


@dataclass(frozen=True)
class Drawn:
    """A line of a chart.

    Attributes:
        label: in the legend.
        line: what is drawn.
        colour: of a run.
        dash: of a metric, where a chart has several.
    """

    label: str
    line: Line
    colour: str
    dash: Any = "solid"


def curves(lines: Sequence[Drawn], axis: Axis, bands: bool = True, marks: Sequence[Mark] = ()) -> Options:
    """Return a chart of moving means over the raw values, with the 95 % bands of the means.

    Args:
        lines: what is drawn.
        axis: what it is drawn against, for its title.
        bands: whether the bands are drawn.
        marks: the alarms.
    """
    series: list[Options] = []
    for drawn in lines:
        series += _series(drawn, bands)
    if series and marks:
        series[-1]["markLine"] = _marks(marks)
    return _around(axis, [in_plain(drawn.label) for drawn in lines], series)


def stack(parts: Sequence[Drawn], axis: Axis) -> Options:
    """Return a chart of parts that lie on one another; those below 0 hang from it."""
    series = [
        {
            "name": in_plain(drawn.label),
            "type": "line",
            "stack": "sum",
            "stackStrategy": "samesign",
            "data": points(drawn.line.x, drawn.line.mean),
            "showSymbol": len(drawn.line.x) < 2,
            "symbolSize": 5,
            "color": drawn.colour,
            "lineStyle": {"width": 1},
            "areaStyle": {"opacity": 0.55},
        }
        for drawn in parts
    ]
    options = _around(axis, [in_plain(drawn.label) for drawn in parts], series)
    options["yAxis"]["scale"] = False
    return options


def level_map(series: RunSeries, what: str = "success", axis: Axis = "step") -> Options | None:
    """Return a map of levels over the steps; None where a run has none.

    Args:
        series: of the run.
        what: ``success``; ``learnability``, p (1 - p), which is largest where half succeed;
            ``zero_variance``; ``groups``.
        axis: what its columns, which have equal numbers of steps, are named by.
    """
    kinds = level_kinds(series.names)
    if not kinds:
        return None
    ends = series.ends(axis)
    width = max(1, -(-len(ends) // _HEAT_COLUMNS))
    starts = range(0, len(ends), width)
    cells: list[Options] = []
    for row, kind in enumerate(kinds):
        metric = "success" if what == "learnability" else what
        means = series.means(f"levels/{kind}/{metric}")
        for column, start in enumerate(starts):
            part = means[start : start + width]
            known = part[~np.isnan(part)]
            if len(known):
                value = float(known.mean())
                shown = round(value * (1 - value) if what == "learnability" else value, 4)
                cells.append({"value": [column, row, shown], "name": in_plain(kind)[:60]})
    largest = {"learnability": 0.25, "groups": max((cell["value"][2] for cell in cells), default=1) or 1}
    labels = [_plain(ends[min(start + width, len(ends)) - 1]) for start in starts]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 8, "bottom": 64, "containLabel": True},
        "tooltip": {"renderMode": "richText", "confine": True, ":formatter": _CELL},
        "xAxis": {"type": "category", "data": labels, "name": axis, "nameLocation": "middle", "nameGap": 26}
        | _axis_look(numbers=False),
        "yAxis": {"type": "category", "data": [in_plain(kind)[:60] for kind in kinds]}
        | _axis_look(numbers=False),
        "visualMap": {
            "min": 0,
            "max": largest.get(what, 1),
            "calculable": False,
            "orient": "horizontal",
            "left": "center",
            "bottom": 0,
            "itemHeight": 90,
            "itemWidth": 12,
            "text": [_plain(largest.get(what, 1)), "0"],
            "textStyle": {"color": GREY},
            "inRange": {"color": ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"]},
        },
        "series": [{"type": "heatmap", "name": what, "data": cells, "emphasis": {"disabled": True}}],
    }


def histogram(values: Sequence[float], bins: int = 21, colour: str = COLOURS[0]) -> Options:
    """Return a histogram of numbers, 0 in the middle of a bin."""
    array = np.asarray(values, np.float64)
    largest = float(np.abs(array).max()) if len(array) else 1.0
    edges = np.linspace(-1, 1, bins + 1) * (largest or 1.0)
    counts, _ = np.histogram(array, edges)
    middles = [f"{value:.2g}" for value in (edges[1:] + edges[:-1]) / 2]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 12, "top": 16, "bottom": 8, "containLabel": True},
        "tooltip": {"renderMode": "richText", "confine": True},
        "xAxis": {"type": "category", "data": middles} | _axis_look(numbers=False),
        "yAxis": {"type": "value", "minInterval": 1} | _axis_look(),
        "series": [
            {
                "type": "bar",
                "name": "episodes",
                "data": counts.tolist(),
                "color": colour,
                "barCategoryGap": "8%",
            }
        ],
    }


def scatter(groups: Sequence[tuple[str, str, Sequence[tuple[float, float]]]], axis: Axis) -> Options:
    """Return points: of each group its label, colour and (x, y); where several lie, the point is larger."""
    series = []
    for label, colour, pairs in groups:
        counts = Counter(pairs)
        most = max(counts.values(), default=1)
        data = [
            {"value": [x, y, count], "symbolSize": round(5 + 13 * math.sqrt(count / most), 1)}
            for (x, y), count in counts.items()
        ]
        series.append(
            {"type": "scatter", "name": in_plain(label), "data": data, "color": colour}
            | {"itemStyle": {"opacity": 0.6}, "clip": False}
        )
    return _around(axis, [in_plain(label) for label, _, _ in groups], series)


def short_labels(names: Sequence[str]) -> list[str]:
    """Return names without the parts that all of them begin and end with: ``actions/ZOOM`` is ``ZOOM``."""
    parts = [name.split("/") for name in names]
    shortest = min(map(len, parts), default=0)
    first = next((i for i in range(shortest) if len({each[i] for each in parts}) > 1), 0)
    last = next((i for i in range(shortest - first) if len({each[-1 - i] for each in parts}) > 1), 0)
    return ["/".join(each[first : len(each) - last]) for each in parts]


def alarm_marks(
    series: RunSeries, found: Sequence[Alarm], axis: Axis, shown: Collection[str] | None = None
) -> list[tuple[float, str]]:
    """Return where alarms of a run went on, and their names; a few of each, those of one place together.

    Args:
        series: every row of the run; those of its metrics that are alarms by themselves are marked too,
            where no alarm tells them.
        found: by the rules.
        axis: what is drawn against.
        shown: metrics that are drawn, whose alarms are marked; None: all. With success all alarms are, and
            where reward and watched scores part, with both of them.
    """
    where = series.ends(axis)
    marks = [
        (float(where[alarm.row // series.stride]), alarm.name)
        for alarm in found
        if shown is None or any(_concerns(alarm.metric, name) for name in shown)
        if alarm.row // series.stride < len(where)
    ]
    for name in (each for each in alarms(series.names) if not is_told(each, found)):
        on = np.nan_to_num(series.means(name)) != 0
        starts = np.flatnonzero(on & ~np.concatenate([[False], on[:-1]]))
        marks += [(float(where[place]), name) for place in starts[:8]]
    places: dict[float, list[str]] = {}
    for x, name in marks:
        if math.isfinite(x):
            places.setdefault(x, []).append(name)
    return [(x, ", ".join(names)) for x, names in places.items()]


def changes(options: Options) -> Options:
    """Return what of a chart's options depends on the data: what a refresh sends."""
    axes = {name: {"data": options[name]["data"]} for name in ("xAxis", "yAxis") if "data" in options[name]}
    return {name: options[name] for name in ("series", "legend", "visualMap") if name in options} | axes


def points(x: np.ndarray, y: np.ndarray) -> list[list[float | None]]:
    """Return pairs for a chart, at five significant digits; a gap where y is not known."""
    return [[a, None if b != b else b] for a, b in zip(_short(x), _short(y), strict=True)]


def table(lines: Sequence[tuple[str, str, Line]], axis: Axis = "step") -> list[Mapping[str, Any]]:
    """Return what is drawn as rows: run, metric, where on the axis, raw, mean and the bounds of its band."""
    return [
        {
            "run": run,
            "metric": metric,
            axis: x,
            "raw": raw,
            "mean": mean,
            "low": mean - band,
            "high": mean + band,
        }
        for run, metric, line in lines
        for x, raw, mean, band in zip(
            line.x.tolist(),
            line.raw.tolist(),
            line.mean.tolist(),
            np.nan_to_num(line.band).tolist(),
            strict=True,
        )
    ]


def map_table(run: str, series: RunSeries, what: str, axis: Axis = "step") -> list[Mapping[str, Any]]:
    """Return what `level_map` shows as rows: run, metric, level, where a column ends on the axis, value."""
    options = level_map(series, what, axis)
    if options is None:
        return []
    ends, levels = options["xAxis"]["data"], options["yAxis"]["data"]
    ends = [None if end == _UNKNOWN else float(end) for end in ends]
    return [
        {"run": run, "metric": what, "level": levels[row], axis: ends[column], "value": value}
        for column, row, value in (cell["value"] for cell in options["series"][0]["data"])
    ]


# ---------------------------------------------------------------------- private


def _series(drawn: Drawn, bands: bool) -> list[Options]:
    line, name = drawn.line, in_plain(drawn.label)
    hidden = f"{name}\u200b"  # not in the tooltip
    base = {"type": "line", "showSymbol": False, "silent": True, "color": drawn.colour, "z": 1}
    few = len(line.x) < 2
    found: list[Options] = []
    if bands and drawn.dash == "solid" and len(line.x):
        low, high = line.mean - np.nan_to_num(line.band), line.mean + np.nan_to_num(line.band)
        if line.low.min() >= 0:  # what is never negative has no negative mean either
            low = np.maximum(low, 0.0)
        stacked = base | {"stack": hidden, "stackStrategy": "all", "lineStyle": {"width": 0}, "name": hidden}
        found.append(stacked | {"data": points(line.x, low)})
        found.append(stacked | {"data": points(line.x, high - low), "areaStyle": {"opacity": 0.16}})
    if drawn.dash == "solid" and len(line.x) > 1:
        thin = {"width": 1, "opacity": 0.3}
        found.append(base | {"name": hidden, "data": points(line.x, line.raw), "lineStyle": thin})
    thick = {"width": 2, "type": drawn.dash}
    main = {"name": name, "data": points(line.x, line.mean), "lineStyle": thick, "showSymbol": few, "z": 3}
    return [*found, base | main | {"silent": False, "symbolSize": 7}]


def _marks(marks: Sequence[Mark]) -> Options:
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"type": "dashed", "width": 1},
        "label": {"fontSize": 10, "rotate": 90, "position": "insideEndTop"},
        "data": [
            {
                "xAxis": x,
                "lineStyle": {"color": colour},
                "label": {
                    "formatter": f"⚠ {in_plain(name)[-MOST_LETTERS:]}".replace("{", "("),
                    "color": colour,
                },
            }
            for x, name, colour in marks
        ],
    }


def _around(axis: Axis, labels: Sequence[str], series: list[Options]) -> Options:
    many = len(labels) > 1
    return {
        "animation": False,
        "grid": {"left": 8, "right": 18, "top": 30 if many else 10, "bottom": 24, "containLabel": True},
        "legend": {
            "show": many,
            "type": "scroll",
            "top": 0,
            "data": list(labels),
            "textStyle": {"color": GREY, "fontSize": 11},
            "pageTextStyle": {"color": GREY},
            "itemHeight": 8,
        },
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True, ":formatter": _TOOLTIP},
        "xAxis": {"type": "value", "name": axis, "nameLocation": "middle", "nameGap": 22, "min": "dataMin"}
        | {"max": "dataMax"}
        | _axis_look(),
        "yAxis": {"type": "value", "scale": True} | _axis_look(),
        "dataZoom": [{"type": "inside", "filterMode": "none"}],
        "toolbox": {"show": False},
        "series": series,
    }


def _axis_look(numbers: bool = True) -> Options:
    label = {"color": GREY, "fontSize": 11, "hideOverlap": True}
    return {
        "axisLabel": label | ({":formatter": _TICK} if numbers else {}),
        "axisLine": {"lineStyle": {"color": GREY}},
        "splitLine": {"lineStyle": {"color": GREY, "opacity": 0.18}},
        "nameTextStyle": {"color": GREY},
    }


def _short(values: np.ndarray) -> list[float]:
    """Return numbers at five significant digits: half as many bytes to send."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(values)))
    digits = np.clip(4 - np.where(np.isfinite(size), size, 0), -12, 12)
    scale = 10.0**digits
    return np.where(np.isfinite(values), np.round(values * scale) / scale, values).tolist()


def _plain(value: float) -> str:
    return f"{value:g}" if value == value else _UNKNOWN


def _concerns(alarm: str, shown: str) -> bool:
    """Return whether an alarm that was seen in one metric is marked where another is drawn."""
    parted = alarm == WATCHED and (shown == "reward/mean" or shown.startswith("watch/"))
    return parted or shown in (alarm, "success/rate")
