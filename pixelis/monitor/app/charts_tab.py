"""The tabs of charts: curves that are chosen freely, and those that stand together."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.app.group_charts import GroupCharts
from pixelis.monitor.app.parts import ui
from pixelis.monitor.panels import charts
from pixelis.monitor.panels.catalogue import FIRST_CURVES, TABS, Chart, chosen
from pixelis.monitor.reading.runs import FollowedRun
from pixelis.monitor.reading.series import Line

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

MOST_LINES = 24
"""Metrics that a chart draws of a run."""
_MAPS = ("success", "learnability", "zero_variance", "groups")
_WHOLE = (0.0, 100.0)
_PICTURE = """((id, told, name) => {
  const back = document.body.classList.contains('body--dark') ? '#121212' : '#fff', high = 40;
  const drawn = new Image();
  drawn.onload = () => {
    const sheet = document.createElement('canvas'), link = document.createElement('a');
    sheet.width = drawn.width; sheet.height = drawn.height + high;
    const pen = sheet.getContext('2d');
    pen.fillStyle = back; pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.drawImage(drawn, 0, high);
    pen.fillStyle = '#8a8f98'; pen.font = '22px sans-serif'; pen.fillText(told, 12, 27, sheet.width - 24);
    link.href = sheet.toDataURL(); link.download = name; link.click();
  };
  drawn.src = getElement(id).chart.getDataURL({pixelRatio: 2, backgroundColor: back});
})(%d, %s, %s)"""
"""Gives a chart away as a picture with a line of text above it."""
_NARROWEST = 1.0
"""Of the shares of the axis that are seen, in percent."""
ZOOMS = "+-0,."
"""Keys: nearer, farther, everything, earlier, later."""


class ChartsTab:
    """What the tab shows that is open, where it is one of charts.

    Args:
        page: whose tab it is.

    Attributes:
        groups: the charts of sample episodes.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self.groups = GroupCharts(page)
        self._map = "success"
        self._metrics: list[str] = []
        self._charts: list[tuple[Any, Callable[[], charts.Options | None]]] = []
        self._titles: list[str] = []
        self._seen = _WHOLE

    def build(self) -> None:
        """Make the elements of the open tab."""
        tab = self._page.tab
        self._charts, self._titles, self._seen = [], [], _WHOLE
        if tab == "Curves":
            self._build_metric_choice()
        if tab == "Levels":
            choice = ui.toggle(list(_MAPS), value=self._map, on_change=lambda e: self._set("_map", e.value))
            choice.props("dense no-caps")
        specs = self._specs()
        with ui.element("div").classes("grid"):
            if tab == "Levels":
                for run, _ in self._page.chosen_runs():
                    make = partial(self._level_map, run)
                    self._card(f"{self._map.replace('_', ' ')} by level: {run.key}", make, wide=True)
            if tab == "Groups":
                self.groups.build(self._card)
            for spec in specs:
                self._build_spec(spec)
        if not self._charts:
            ui.label("The chosen runs have no such metrics.")

    def refresh(self) -> None:
        """Redraw the charts."""
        for chart, make in self._charts:
            if (options := make()) is not None:
                # not through the element's properties: the browser would read every point through a proxy
                chart.run_chart_method("setOption", charts.changes(options), {"replaceMerge": ["series"]})

    def layout(self) -> Any:
        """Return what must change for there to be other charts."""
        names = [len(run.series.names) for run, _ in self._page.chosen_runs()]
        return names, self.groups.layout() if self._page.tab == "Groups" else ()

    def rows_shown(self) -> list[dict[str, Any]]:
        """Return what is drawn, as rows."""
        runs = self._page.chosen_runs()
        lines = [
            (run.key, name, line)
            for run, _ in runs
            for spec in self._specs()
            for name, line in self._lines(run, spec)
        ]
        rows = [dict(row) for row in charts.table(lines, self._page.axis)]
        if self._page.tab == "Groups":
            rows += self.groups.rows()
        if self._page.tab == "Levels":
            for run, _ in runs:
                rows += map(dict, charts.map_table(run.key, run.series, self._map, self._page.axis))
        return rows

    def give_pictures(self) -> None:
        """Give the browser each chart as a PNG, with its title and its runs above it."""
        runs = ", ".join(in_plain(run.key)[:60] for run, _ in self._page.chosen_runs())
        for number, (chart, _) in enumerate(self._charts, start=1):
            told = f"{self._titles[number - 1]} — {runs}"[:300]
            name = f"pixelis-{self._page.tab.lower()}-{number}.png"
            # what stands in a run is a string in it, and no program
            ui.run_javascript(_PICTURE % (int(chart.id), json.dumps(told), json.dumps(name)))

    def zoom(self, key: str) -> None:
        """Show another part of the axis in all charts that have one, by a key of `ZOOMS`."""
        low, high = self._seen
        middle, width = (low + high) / 2, high - low
        if key in "+-":
            width = min(max(width * (0.5 if key == "+" else 2.0), _NARROWEST), 100.0)
        elif key in ",.":
            middle += width * (0.5 if key == "." else -0.5)
        low = 0.0 if key == "0" else min(max(middle - width / 2, 0.0), 100.0 - width)
        self._seen = _WHOLE if key == "0" else (low, low + width)
        for chart, _ in self._charts:
            seen = dict(zip(("start", "end"), self._seen, strict=True))
            chart.run_chart_method("dispatchAction", {"type": "dataZoom", **seen})

    # ------------------------------------------------------------------ private

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        self._page.rebuild()

    def _build_metric_choice(self) -> None:
        names = sorted({name for run, _ in self._page.chosen_runs() for name in run.series.names} - {"step"})
        kept = [name for name in self._metrics if name in names]
        self._metrics = kept or [name for name in FIRST_CURVES if name in names] or names[:6]
        labels = {name: in_plain(name[:120]) for name in names}
        choice = ui.select(labels, multiple=True, value=self._metrics, label="metrics", with_input=True)
        choice.on_value_change(lambda event: self._set("_metrics", list(event.value or [])))
        choice.props("use-chips dense outlined options-dense").classes("whole")

    def _build_spec(self, spec: Chart) -> None:
        """Make the card of a chart; of parts of a sum one for each run."""
        counts = {run.key: len(self._names(run, spec)) for run, _ in self._page.chosen_runs()}
        if not spec.stacked:
            most = max(counts.values(), default=0)
            self._card(f"{spec.title}{_cut_text(most)}", lambda: self._curves(spec))
            return
        for run, _ in self._page.chosen_runs():
            if counts[run.key]:
                whose = f": {run.key}" if len(counts) > 1 else ""
                make = partial(self._stack, run, spec)
                self._card(f"{spec.title}{whose}{_cut_text(counts[run.key])}", make)

    def _card(self, title: str, make: Callable[[], charts.Options | None], wide: bool = False) -> None:
        options = make()
        if options is None:
            return
        with ui.element("section").classes("card wide" if wide else "card"):
            ui.label(in_plain(title)[:200]).props('role="heading" aria-level="3"').classes("title")
            chart = ui.echart(options)
        self._charts.append((chart, make))
        self._titles.append(in_plain(title)[:200])

    def _specs(self) -> tuple[Chart, ...]:
        if self._page.tab == "Curves":
            return tuple(Chart(name, (name,)) for name in self._metrics)
        every = {name for run, _ in self._page.chosen_runs() for name in run.series.names}
        return tuple(spec for spec in TABS.get(self._page.tab, ()) if chosen(spec, every))

    def _names(self, run: FollowedRun, spec: Chart) -> list[str]:
        # a metric that is chosen freely is no pattern
        return [spec.title] if self._page.tab == "Curves" else chosen(spec, run.series.names)

    def _lines(self, run: FollowedRun, spec: Chart) -> list[tuple[str, Line]]:
        """Return what a chart draws of a run: names of metrics and their lines."""
        names, page = self._names(run, spec)[:MOST_LINES], self._page
        return [(name, run.series.line(name, page.axis, page.window, spec.stacked)) for name in names]

    def _curves(self, spec: Chart) -> charts.Options:
        lines: list[charts.Drawn] = []
        marks: list[charts.Mark] = []
        page, runs = self._page, self._page.chosen_runs()
        for run, colour in runs:
            found = self._lines(run, spec)
            names = [name for name, _ in found]
            for place, ((_, line), short) in enumerate(zip(found, charts.short_labels(names), strict=True)):
                label = short if len(runs) == 1 else run.key if len(names) == 1 else f"{run.key} · {short}"
                # one run: a colour for each metric; several: a colour for each run, a dash for each metric
                shade = charts.COLOURS[place % len(charts.COLOURS)] if len(runs) == 1 else colour
                dash = "solid" if len(runs) == 1 else charts.DASHES[place % len(charts.DASHES)]
                lines.append(charts.Drawn(label, line, shade, dash))
            if not run.is_preview:
                whose = "" if len(runs) == 1 else f"{run.key}: "
                on = charts.alarm_marks(run.series, run.watch.found, page.axis, names)
                marks += [(x, f"{whose}{name}", charts.ALARM if not whose else colour) for x, name in on]
        return charts.curves([line for line in lines if len(line.line.x)], page.axis, page.bands, marks)

    def _level_map(self, run: FollowedRun) -> charts.Options | None:
        return charts.level_map(run.series, self._map, self._page.axis)

    def _stack(self, run: FollowedRun, spec: Chart) -> charts.Options:
        found = self._lines(run, spec)
        labels = charts.short_labels([name for name, _ in found])
        parts = [
            charts.Drawn(short, line, charts.COLOURS[place % len(charts.COLOURS)])
            for place, ((_, line), short) in enumerate(zip(found, labels, strict=True))
        ]
        return charts.stack(parts, self._page.axis)


def _cut_text(count: int) -> str:
    return f" (the first {MOST_LINES} of {count})" if count > MOST_LINES else ""
