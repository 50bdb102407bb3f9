"""The page: which runs are looked at, the tabs, and refreshing what is seen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pixelis.agents.viewing.visible import csv_of, in_plain
from pixelis.monitor.app.charts_tab import ZOOMS, ChartsTab
from pixelis.monitor.app.episodes_tab import EpisodesTab
from pixelis.monitor.app.group_charts import GroupCharts
from pixelis.monitor.app.parts import background_tasks, ui
from pixelis.monitor.panels import charts
from pixelis.monitor.panels.catalogue import TABS
from pixelis.monitor.panels.exports import json_of
from pixelis.monitor.panels.overview import COLUMNS, alarm_texts, notes, overview_row, step_text
from pixelis.monitor.reading.runs import FollowedRun, Runs
from pixelis.monitor.reading.series import AXES, Axis

TAB_NAMES = ("Runs", "Curves", *TABS, "Episodes")
WINDOWS = (1, 5, 10, 25, 50, 100, 500, 1000)
MOST_RUNS = len(charts.COLOURS)
"""Runs that are laid over one another at once."""


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
        self.window, self.bands = 10, True
        self.live = True
        self._seen: Any = None
        self._shown: Any = None
        self.episodes = EpisodesTab(self, asked.get("played"))
        self.charts = ChartsTab(self)

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
            ui.button("refresh", on_click=self.refresh_and_read).props("flat dense no-caps")
            ui.button("light / dark", on_click=self._turn_dark).props("flat dense no-caps")
        with ui.row().classes("bar"):
            self._build_choices()
        self._tabs = ui.tabs().classes("whole").props("dense no-caps align=left mobile-arrows outside-arrows")
        with self._tabs:
            for name in TAB_NAMES:
                ui.tab(name)
        self._tabs.set_value(self.tab)
        self._tabs.on_value_change(lambda event: self.open(str(event.value)))
        ui.keyboard(on_key=self._press, repeating=False)
        self._alarms = ui.element("div").classes("whole")
        self._alarms_told: list[str] = []
        self._noted = ui.label().classes("quiet noted")
        self._body = ui.column().classes("panel")
        self.rebuild()
        ui.timer(1.0, self.tick)

    def _build_choices(self) -> None:
        self._choice = ui.select(
            self._labels(), multiple=True, value=list(self.selected), label="runs", on_change=self._choose
        )
        self._choice.props("use-chips dense outlined options-dense").style("min-width: min(100%, 22rem)")
        axis = ui.select(
            list(AXES), value=self.axis, label="against", on_change=lambda e: self._set("axis", e.value)
        )
        axis.props("dense outlined").style("min-width: 7rem")
        window = ui.select(
            list(WINDOWS),
            value=self.window,
            label="mean of steps",
            on_change=lambda e: self._set("window", e.value),
        )
        window.props("dense outlined").style("min-width: 8rem")
        ui.checkbox("95 % bands", value=True, on_change=lambda e: self._set("bands", bool(e.value)))
        with ui.button("export").props("flat dense no-caps"), ui.menu():
            ui.menu_item("what is shown, as CSV", on_click=lambda: self.export("csv"))
            ui.menu_item("what is shown, as JSON", on_click=lambda: self.export("json"))
            ui.menu_item("charts, as PNG", on_click=self._pictures)

    def open(self, tab: str) -> None:
        """Show a tab."""
        self.tab = tab
        self.rebuild()
        self._note_address()

    def _press(self, event: Any) -> None:
        """Do what a key asks for: open a tab, show the next or the last episode, zoom the charts."""
        key, held = str(event.key.name), event.modifiers
        if not event.action.keydown or held.ctrl or held.alt or held.meta or len(key) != 1:
            return
        if key in "12345678":
            self._tabs.set_value(TAB_NAMES[int(key) - 1])
        elif self._is_waiting():
            return
        elif key in "jk" and self.tab == "Episodes":
            self.episodes.move(1 if key == "j" else -1)
        elif key in ZOOMS and self.tab not in ("Runs", "Episodes"):
            self.charts.zoom(key)

    async def tick(self) -> None:
        """Show what is new, where the page is live."""
        if self.live and self._seen != self._state():
            await self.refresh_and_read()
        elif self.live and any(run.is_preview for run, _ in self.chosen_runs()):
            self._tell()  # how much has been read

    async def refresh_and_read(self) -> None:
        """Show what has been read by now, and then what there is in files of episodes."""
        self.refresh_now()
        await self.read()

    def refresh_now(self) -> None:
        """Show what has been read by now."""
        self._seen = self._state()
        if self._choice.options != (labels := self._labels()):
            self._choice.set_options(labels)
        if self._shown != self._layout():
            self.rebuild()
            return
        if self._is_waiting():
            pass  # its elements are made when all is read
        elif self.tab == "Runs":
            self._table.rows = self._rows()
            self._table.update()
        elif self.tab == "Episodes":
            self.episodes.refresh()
        else:
            self.charts.refresh()
        self._tell()

    async def read(self) -> None:
        """Read the files of episodes that the open tab shows, in a thread, and show what is new."""
        tab, reader = self.tab, self._reader()
        if reader is not None and await reader.read() and self.tab == tab and not self._body.is_deleted:
            self.refresh_now()

    def chosen_runs(self) -> list[tuple[FollowedRun, str]]:
        """Return the runs that are looked at, and their colours."""
        found = [self.runs.runs[key] for key in self.selected if key in self.runs.runs]
        return list(zip(found, charts.COLOURS, strict=False))

    def export(self, kind: str) -> None:
        """Give the browser what is shown as a file."""
        if self._is_waiting():
            ui.notify("files of episodes are still being read")
            return
        if self.tab == "Runs":
            rows = self._rows()
        elif self.tab == "Episodes":
            rows = self.episodes.rows_shown(turns=kind == "json")
        else:
            rows = self.charts.rows_shown()
        text = csv_of(rows) if kind == "csv" else json_of(rows)
        ui.download.content(text, f"pixelis-{self.tab.lower()}.{kind}")

    # ------------------------------------------------------------------ tabs

    def rebuild(self) -> None:
        """Make the elements of the open tab anew, once the files that it shows have been read."""
        self._shown = self._layout()
        self._body.clear()
        with self._body:
            if self._is_waiting():
                ui.label("Reading files of episodes …").classes("quiet")
                background_tasks.create(self.read(), name="read episodes")
            elif self.tab == "Runs":
                self._build_runs()
            elif self.tab == "Episodes":
                self.episodes.build()
            elif not self.chosen_runs():
                ui.label("No run is chosen: choose one above, or on the tab Runs.")
            else:
                self.charts.build()
        self._tell()

    def _reader(self) -> EpisodesTab | GroupCharts | None:
        """Return what of the open tab is read from files of episodes."""
        return {"Episodes": self.episodes, "Groups": self.charts.groups}.get(self.tab)

    def _is_waiting(self) -> bool:
        """Return whether the open tab has to wait for files of episodes."""
        reader = self._reader()
        return reader is not None and not reader.is_read

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

    def _pictures(self) -> None:
        if self.tab in ("Runs", "Episodes"):
            ui.notify(f"the tab {self.tab} has no charts; CSV and JSON hold what it shows")
        else:
            self.charts.give_pictures()

    # ------------------------------------------------------------------ state

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        self.rebuild()

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
            return self.tab, self._is_waiting()
        return self.tab, self._is_waiting(), tuple(self.selected), self.charts.layout()

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
        noted = [text for run in runs for text in notes(run)] if self.tab != "Runs" else []
        noted += [self.charts.groups.note()] if self.tab == "Groups" else []
        self._noted.text = "; ".join(text for text in noted if text)
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
