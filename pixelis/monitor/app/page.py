"""The page: which runs are looked at, the tabs, and refreshing what is seen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from pixelis.agents.viewing.visible import csv_of, in_plain
from pixelis.monitor.app.episodes_tab import EpisodesTab
from pixelis.monitor.app.parts import ui
from pixelis.monitor.panels import charts
from pixelis.monitor.panels.catalogue import FIRST_CURVES, TABS, Chart, chosen
from pixelis.monitor.panels.overview import COLUMNS, alarm_texts, overview_row, step_text
from pixelis.monitor.reading.runs import FollowedRun, Runs
from pixelis.monitor.reading.series import AXES, Axis, Line

TAB_NAMES = ("Runs", "Curves", *TABS, "Episodes")
WINDOWS = (1, 5, 10, 25, 50, 100, 500, 1000)
MOST_RUNS = len(charts.COLOURS)
"""Runs that are laid over one another at once."""
_MAPS = ("success", "learnability", "zero_variance", "groups")


class Page:
    """One browser's view of the runs.

    Args:
        runs: what is followed.
        asked: the words of the address: ``tab``; ``runs``, keys with a line break between; ``played``, a
            file of episodes of the first of them.
    """

    def __init__(self, runs: Runs, asked: Mapping[str, str]) -> None:
        self.runs = runs
        self.tab = asked.get("tab", "Runs") if asked.get("tab") in TAB_NAMES else "Runs"
        self.selected = [key for key in asked.get("runs", "").split("\n") if key in runs.runs][:MOST_RUNS]
        self.selected = self.selected or self._newest()
        self.axis: Axis = "step"
        self.window, self.bands, self.map = 10, True, "success"
        self.metrics: list[str] = []
        self.live = True
        self._seen: Any = None
        self._charts: list[tuple[Any, Callable[[], charts.Options | None]]] = []
        self._shown: Any = None
        self.episodes = EpisodesTab(self, asked.get("played"))

    # ------------------------------------------------------------------ building

    def build(self) -> None:
        """Make the page's elements."""
        ui.colors(primary="#0072b2")
        self._dark = ui.dark_mode(None)
        with ui.row().classes("bar"):
            ui.html("Pixelis monitor", tag="h1", sanitize=False)
            self._told = ui.label().classes("quiet").props('role="status"')
            ui.space()
            ui.switch("live", value=True, on_change=lambda event: setattr(self, "live", bool(event.value)))
            ui.button("refresh", on_click=self.refresh_now).props("flat dense no-caps")
            ui.button("light / dark", on_click=self._turn_dark).props("flat dense no-caps")
        with ui.row().classes("bar"):
            self._choice = ui.select(
                self._labels(), multiple=True, value=list(self.selected), label="runs", on_change=self._choose
            )
            self._choice.props("use-chips dense outlined options-dense").style("min-width: min(100%, 22rem)")
            ui.select(
                list(AXES), value=self.axis, label="against", on_change=lambda e: self._set("axis", e.value)
            ).props("dense outlined").style("min-width: 7rem")
            ui.select(
                list(WINDOWS),
                value=self.window,
                label="mean of steps",
                on_change=lambda e: self._set("window", e.value),
            ).props("dense outlined").style("min-width: 8rem")
            ui.checkbox("95 % bands", value=True, on_change=lambda e: self._set("bands", bool(e.value)))
            with ui.button("export").props("flat dense no-caps"), ui.menu():
                ui.menu_item("what is shown, as CSV", on_click=lambda: self.export("csv"))
                ui.menu_item("what is shown, as JSON", on_click=lambda: self.export("json"))
                ui.menu_item("charts, as PNG", on_click=self._pictures)
        self._tabs = ui.tabs().classes("whole").props("dense no-caps align=left mobile-arrows outside-arrows")
        with self._tabs:
            for name in TAB_NAMES:
                ui.tab(name)
        self._tabs.set_value(self.tab)
        self._tabs.on_value_change(lambda event: self.open(str(event.value)))
        ui.keyboard(on_key=self._press, repeating=False)
        self._alarms = ui.element("div").classes("whole")
        self._alarms_told: list[str] = []
        self._body = ui.column().classes("panel")
        self._build_tab()
        ui.timer(1.0, self.tick)

    def open(self, tab: str) -> None:
        """Show a tab."""
        self.tab = tab
        self._build_tab()
        self._note_address()

    def _press(self, event: Any) -> None:
        """Do what a key asks for: a digit opens a tab, ``j`` and ``k`` the next and the last episode."""
        key, held = str(event.key.name), event.modifiers
        if not event.action.keydown or held.ctrl or held.alt or held.meta:
            return
        if key in "12345678" and len(key) == 1:
            self._tabs.set_value(TAB_NAMES[int(key) - 1])
        elif key in ("j", "k") and self.tab == "Episodes":
            self.episodes.move(1 if key == "j" else -1)

    def tick(self) -> None:
        """Show what is new, where the page is live."""
        if self.live and self._seen != self._state():
            self.refresh_now()

    def refresh_now(self) -> None:
        """Show what has been read by now."""
        self._seen = self._state()
        if self._choice.options != (labels := self._labels()):
            self._choice.set_options(labels)
        if self._shown != self._layout():
            self._build_tab()
            return
        if self.tab == "Runs":
            self._table.rows = self._rows()
            self._table.update()
        for chart, make in self._charts:
            if (options := make()) is not None:
                # not through the element's properties: the browser would read every point through a proxy
                chart.run_chart_method("setOption", charts.changes(options), {"replaceMerge": ["series"]})
        if self.tab == "Episodes":
            self.episodes.refresh()
        self._tell()

    def chosen_runs(self) -> list[tuple[FollowedRun, str]]:
        """Return the runs that are looked at, and their colours."""
        found = [self.runs.runs[key] for key in self.selected if key in self.runs.runs]
        return list(zip(found, charts.COLOURS, strict=False))

    def export(self, kind: str) -> None:
        """Give the browser what is shown as a file."""
        rows = self.rows_shown()
        text = csv_of(rows) if kind == "csv" else json.dumps(rows, indent=1, default=str)
        ui.download.content(text, f"pixelis-{self.tab.lower()}.{kind}")

    def rows_shown(self) -> list[dict[str, Any]]:
        """Return what the open tab shows, as rows."""
        if self.tab == "Runs":
            return self._rows()
        if self.tab == "Episodes":
            return self.episodes.rows_shown()
        specs = self._specs()
        lines = [
            (run.key, name, self._line(run, name))
            for run, _ in self.chosen_runs()
            for spec in specs
            for name in chosen(spec, run.series.names)
        ]
        rows = [dict(row) for row in charts.table(lines)]
        if self.tab == "Groups":
            rows += self.episodes.sample_rows()
        if self.tab == "Levels":
            rows += [
                dict(row)
                for run, _ in self.chosen_runs()
                for row in charts.map_table(run.key, run.series, self.map)
            ]
        return rows

    # ------------------------------------------------------------------ tabs

    def _build_tab(self) -> None:
        self._shown, self._charts = self._layout(), []
        self._body.clear()
        with self._body:
            if self.tab == "Runs":
                self._build_runs()
            elif self.tab == "Episodes":
                self.episodes.build()
            elif not self.chosen_runs():
                ui.label("No run is chosen: choose one above, or on the tab Runs.")
            else:
                self._build_charts()
        self._tell()

    def _build_runs(self) -> None:
        columns = [
            {"name": name, "label": title, "field": name, "align": "left", "sortable": True}
            for name, title in COLUMNS.items()
        ]
        rows = self._rows()
        self._table = ui.table(rows=rows, columns=columns, row_key="key", selection="multiple")
        self._table.classes("run-table").props(
            'flat dense hide-selected-banner :grid="window.innerWidth < 600" :rows-per-page-options="[0]"'
        )
        self._table.selected = [row for row in rows if row["key"] in self.selected]
        self._table.on_select(lambda event: self._choose_rows([row["key"] for row in event.selection]))
        if not rows:
            ui.label("There is no run here yet; this page shows one as soon as it begins.")
        if self.runs.left_out:
            ui.label(f"{self.runs.left_out} more runs are listed without their metrics; name fewer folders.")

    def _build_charts(self) -> None:
        if self.tab == "Curves":
            self._build_metric_choice()
        if self.tab == "Levels":
            ui.toggle(list(_MAPS), value=self.map, on_change=lambda e: self._set("map", e.value)).props(
                "dense no-caps"
            )
        specs = self._specs()
        with ui.element("div").classes("grid"):
            if self.tab == "Levels":
                for run, _ in self.chosen_runs():
                    make = lambda run=run: charts.level_map(run.series, self.map)  # noqa: E731
                    self._card(f"{self.map.replace('_', ' ')} by level: {run.key}", make, wide=True)
            if self.tab == "Groups":
                self.episodes.build_group_charts(self._card)
            for spec in specs:
                if spec.stacked:
                    for run, _ in self.chosen_runs():
                        names = chosen(spec, run.series.names)
                        if names:
                            make = lambda run=run, spec=spec: self._stack(run, spec)  # noqa: E731
                            many = len(self.selected) > 1
                            self._card(f"{spec.title}{f': {run.key}' if many else ''}", make)
                else:
                    self._card(spec.title, lambda spec=spec: self._curves(spec))
        if not self._charts:
            ui.label("The chosen runs have no such metrics.")

    def _build_metric_choice(self) -> None:
        names = sorted({name for run, _ in self.chosen_runs() for name in run.series.names} - {"step"})
        kept = [name for name in self.metrics if name in names]
        self.metrics = kept or [name for name in FIRST_CURVES if name in names] or names[:6]
        labels = {name: in_plain(name[:120]) for name in names}
        choice = ui.select(labels, multiple=True, value=self.metrics, label="metrics", with_input=True)
        choice.on_value_change(lambda event: self._set("metrics", list(event.value or [])))
        choice.props("use-chips dense outlined options-dense").classes("whole")

    def _card(self, title: str, make: Callable[[], charts.Options | None], wide: bool = False) -> None:
        options = make()
        if options is None:
            return
        with ui.element("section").classes("card wide" if wide else "card"):
            ui.label(in_plain(title)[:200]).props('role="heading" aria-level="3"').classes("title")
            chart = ui.echart(options)
        self._charts.append((chart, make))

    # ------------------------------------------------------------------ charts

    def _specs(self) -> tuple[Chart, ...]:
        if self.tab == "Curves":
            return tuple(Chart(name, (name,)) for name in self.metrics)
        every = {name for run, _ in self.chosen_runs() for name in run.series.names}
        return tuple(spec for spec in TABS.get(self.tab, ()) if chosen(spec, every))

    def _line(self, run: FollowedRun, name: str, absent_is_zero: bool = False) -> Line:
        return run.series.line(name, self.axis, self.window, absent_is_zero)

    def _curves(self, spec: Chart) -> charts.Options:
        lines: list[charts.Drawn] = []
        marks: list[charts.Mark] = []
        runs = self.chosen_runs()
        for run, colour in runs:
            names = [spec.title] if self.tab == "Curves" else chosen(spec, run.series.names)
            for place, (name, short) in enumerate(zip(names[:24], charts.short_labels(names), strict=False)):
                label = short if len(runs) == 1 else run.key if len(names) == 1 else f"{run.key} · {short}"
                # one run: a colour for each metric; several: a colour for each run, a dash for each metric
                shade = charts.COLOURS[place % len(charts.COLOURS)] if len(runs) == 1 else colour
                dash = "solid" if len(runs) == 1 else charts.DASHES[place % len(charts.DASHES)]
                lines.append(charts.Drawn(label, self._line(run, name), shade, dash))
            if not run.is_preview:
                whose = "" if len(runs) == 1 else f"{run.key}: "
                found = charts.alarm_marks(run.series, run.watch.found, self.axis, names)
                marks += [(x, f"{whose}{name}", charts.ALARM if not whose else colour) for x, name in found]
        return charts.curves([line for line in lines if len(line.line.x)], self.axis, self.bands, marks)

    def _stack(self, run: FollowedRun, spec: Chart) -> charts.Options:
        names = chosen(spec, run.series.names)[:24]
        parts = [
            charts.Drawn(short, self._line(run, name, True), charts.COLOURS[place % len(charts.COLOURS)])
            for place, (name, short) in enumerate(zip(names, charts.short_labels(names), strict=True))
        ]
        return charts.stack(parts, self.axis)

    def _pictures(self) -> None:
        if not self._charts:
            ui.notify(f"the tab {self.tab} has no charts; CSV and JSON hold what it shows")
        for number, (chart, _) in enumerate(self._charts, start=1):
            # nothing of a run is part of this program
            ui.run_javascript(
                f"const one = getElement({int(chart.id)}).chart; const link = document.createElement('a');"
                "link.href = one.getDataURL({pixelRatio: 2, backgroundColor:"
                " document.body.classList.contains('body--dark') ? '#121212' : '#fff'});"
                f"link.download = 'pixelis-{self.tab.lower()}-{number}.png'; link.click();"
            )

    # ------------------------------------------------------------------ state

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        self._shown = None
        self.refresh_now()

    def _choose(self, event: Any) -> None:
        self.selected = [key for key in event.value or [] if key in self.runs.runs][:MOST_RUNS]
        if len(event.value or []) > MOST_RUNS:
            ui.notify(f"{MOST_RUNS} runs are shown at once, the first that were chosen")
        self._note_address()
        self._set("selected", self.selected)

    def _choose_rows(self, keys: list[str]) -> None:
        if set(keys) != set(self.selected):
            self._choice.value = keys[:MOST_RUNS]

    def _newest(self) -> list[str]:
        known = sorted(self.runs.runs.values(), key=lambda run: run.changed or 0.0)
        return [known[-1].key] if known else []

    def _labels(self) -> dict[str, str]:
        return {key: in_plain(key)[:120] for key in self.runs.runs}

    def _rows(self) -> list[dict[str, Any]]:
        return [overview_row(run) for run in list(self.runs.runs.values())]

    def _state(self) -> Any:
        """What must change for anything that is seen to change."""
        if self.tab == "Runs":
            return [(run.key, run.revision) for run in list(self.runs.runs.values())]
        return [(run.key, run.revision) for run, _ in self.chosen_runs()], len(self.runs.runs)

    def _layout(self) -> Any:
        """What must change for the elements of the tab to be other ones."""
        if self.tab in ("Runs", "Episodes"):
            return self.tab
        return self.tab, tuple(self.selected), [len(run.series.names) for run, _ in self.chosen_runs()]

    def _tell_alarms(self) -> None:
        """Say which alarms are on; the charts below stay as they are."""
        told = [text for run, _ in self.chosen_runs() for text in alarm_texts(run)]
        if told == self._alarms_told:
            return
        self._alarms_told = told
        self._alarms.clear()
        with self._alarms:
            for text in told:
                ui.label(text).classes("alarm").props('role="alert"')

    def _tell(self) -> None:
        self._tell_alarms()
        runs = [run for run, _ in self.chosen_runs()]
        reading = [f"{run.share_read:.0%} of {in_plain(run.key)[:40]} read" for run in runs if run.is_preview]
        steps = [f"{in_plain(run.key)[:40]}: step {step_text(run.series.last)}" for run in runs[:3]]
        self._told.text = " · ".join(
            [f"{len(self.runs.runs)} runs", time.strftime("%H:%M:%S"), *steps, *reading]
        )

    def _note_address(self) -> None:
        from urllib.parse import urlencode

        ui.navigate.history.replace(f"/?{urlencode({'tab': self.tab, 'runs': chr(10).join(self.selected)})}")

    def _turn_dark(self) -> None:
        self._dark.value = not self._dark.value if self._dark.value is not None else True
