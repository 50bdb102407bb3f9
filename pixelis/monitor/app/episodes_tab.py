"""The tab of episodes: choose a file, filter, read one, or several beside one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.app.parts import ui
from pixelis.monitor.panels import charts
from pixelis.monitor.panels.episode_page import page_of
from pixelis.monitor.reading.episodes import (
    Episode,
    EpisodeFile,
    Filter,
    choices,
    episode_files,
    read_episodes,
)
from pixelis.monitor.reading.runs import FollowedRun

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

MOST_LISTED = 500
MOST_COLUMNS = 8
_GROUP_FILES = 40
_SUCCESS = {"any": None, "succeeded": True, "failed": False, "not said": "unknown"}
_COLOURINGS = ("probability", "advantage", "nothing")
Where = tuple[FollowedRun, Episode]


class EpisodesTab:
    """What the tab shows, and of which run.

    Args:
        page: whose tab it is.
        file: of episodes, which is shown first; the newest where there is none of that name.
    """

    def __init__(self, page: Page, file: str | None = None) -> None:
        self._page = page
        self._run: str | None = page.selected[0] if page.selected else None
        self._file = file
        self._filter: dict[str, Any] = {
            "success": "any",
            "tool": "",
            "error_code": "",
            "level": "",
            "seed": None,
        }
        self._colouring = "probability"
        self._columns: list[Where] = []
        self._episodes: list[Episode] = []
        self._files: list[EpisodeFile] = []

    # ------------------------------------------------------------------ building

    def build(self) -> None:
        """Make the tab's elements."""
        runs = {run.key: in_plain(run.key)[:120] for run, _ in self._page.chosen_runs()}
        if not runs:
            ui.label("No run is chosen: choose one above, or on the tab Runs.")
            return
        if self._run not in runs:
            self._run, self._file, self._columns = next(iter(runs)), None, []
        self._read()
        with ui.row().classes("whole filters"):
            self._select("run", runs, self._run, self._choose_run)
            self._file_choice = self._select("played", self._names(), self._file, self._choose_file)
            self._select("success", list(_SUCCESS), self._filter["success"], self._filtering("success"))
            found = choices(self._episodes)
            for name in ("tool", "error_code", "level"):
                options = {"": "any", **{value: in_plain(value)[:80] for value in found[name]}}
                if self._filter[name] not in options:
                    self._filter[name] = ""
                self._select(name.replace("_", " "), options, self._filter[name], self._filtering(name))
            seed = ui.number(
                "seed", value=self._filter["seed"], format="%d", on_change=self._filtering("seed")
            )
            seed.props("dense outlined clearable").style("width: 9rem")
            self._select("tokens coloured by", list(_COLOURINGS), self._colouring, self._choose_colouring)
        self._told = ui.label().classes("quiet")
        self._table = ui.table(rows=[], columns=_columns(), row_key="key", selection="single", pagination=0)
        self._table.classes("list").props("flat dense hide-pagination virtual-scroll")
        self._table.on_select(lambda event: self._open_row(event.selection))
        with ui.row():
            ui.button("its group side by side", on_click=self._open_group).props("flat dense no-caps")
            ui.button("the same task before, after, and in the other runs", on_click=self._open_same).props(
                "flat dense no-caps"
            )
        self._place = ui.element("div").classes("columns")
        self._list()
        self._show()

    def refresh(self) -> None:
        """Offer what has been written meanwhile; what is read stays."""
        run = self._followed()
        if run is not None and episode_files(run.root, run.parts) != self._files:
            self._files = episode_files(run.root, run.parts)
            self._file_choice.set_options(self._names())

    def rows_shown(self) -> list[dict[str, Any]]:
        """Return the listed episodes as rows, with their texts."""
        names = ("seed", "group", "member", "success", "reward", "turns", "truncated", "text")
        return [
            {"run": self._run, "played": self._file, "line": each.line, "level": each.level}
            | {name: each.row.get(name) for name in names}
            | {"advantage": each.advantage}
            for each in self._kept()
        ]

    def build_group_charts(self, card: Callable[[str, Callable[[], charts.Options | None]], None]) -> None:
        """Make the charts of what sample episodes say of their groups: spread of rewards, advantages."""
        read = [
            (
                run,
                colour,
                [each for file in _latest(run) for each in read_episodes(run.root, run.parts, file).episodes],
            )
            for run, colour in self._page.chosen_runs()
        ]
        pairs = [
            (
                run.key,
                colour,
                [
                    (float(e.file.step), e.reward)
                    for e in found
                    if e.file.step is not None and e.reward is not None
                ],
            )
            for run, colour, found in read
        ]
        if any(points for _, _, points in pairs):
            card("Rewards of the members of the sample groups", lambda: charts.scatter(pairs, "step"))
        for run, _, found in read:
            values = [each.advantage for each in found if each.advantage is not None]
            if values:
                made = charts.histogram(values)
                card(f"Advantages of {len(values)} sample episodes: {run.key}", lambda made=made: made)

    # ------------------------------------------------------------------ what is chosen

    def _choose_run(self, event: Any) -> None:
        self._run, self._file, self._columns = event.value, None, []
        self._page._build_tab()

    def _choose_file(self, event: Any) -> None:
        self._file, self._columns = event.value, []
        self._page._build_tab()

    def _choose_colouring(self, event: Any) -> None:
        self._colouring = event.value
        self._show()

    def _filtering(self, name: str) -> Callable[[Any], None]:
        def take(event: Any) -> None:
            self._filter[name] = event.value
            self._list()

        return take

    def _open_row(self, rows: list[dict[str, Any]]) -> None:
        run = self._followed()
        if rows and run is not None:
            self._columns = [(run, each) for each in self._episodes if each.line == rows[0]["key"]]
            self._show()

    def _open_group(self) -> None:
        if not self._columns:
            ui.notify("choose an episode first")
            return
        run, first = self._columns[0]
        seed, group = first.row.get("seed"), first.row.get("group")
        same = [e for e in self._episodes if e.row.get("seed") == seed and e.row.get("group") == group]
        self._columns = [(run, first), *((run, each) for each in same if each is not first)][:MOST_COLUMNS]
        self._show()

    def _open_same(self) -> None:
        if not self._columns:
            ui.notify("choose an episode first")
            return
        first = self._columns[0]
        found: list[Where] = [first]
        for run, _ in self._page.chosen_runs():
            for file in episode_files(run.root, run.parts):
                if not _may_hold(file, first[1]):
                    continue
                for each in read_episodes(run.root, run.parts, file).episodes:
                    if _same_task(each, first[1]) and (run, each.file, each.line) != (
                        first[0],
                        first[1].file,
                        first[1].line,
                    ):
                        found.append((run, each))
        if len(found) == 1:
            ui.notify("the chosen runs have no other episode of this task")
        self._columns = found[:MOST_COLUMNS]
        self._show()

    # ------------------------------------------------------------------ showing

    def _read(self) -> None:
        run = self._followed()
        self._files = episode_files(run.root, run.parts) if run is not None else []
        names = [file.name for file in self._files]
        if self._file not in names:
            self._file = names[-1] if names else None
        file = next((each for each in self._files if each.name == self._file), None)
        if run is None or file is None:
            self._episodes, self._problems = [], []
            return
        read = read_episodes(run.root, run.parts, file)
        self._episodes, self._problems = list(read.episodes), list(read.problems)

    def _kept(self) -> list[Episode]:
        seed = self._filter["seed"]
        wanted = Filter(
            _SUCCESS[self._filter["success"]],
            self._filter["tool"],
            self._filter["error_code"],
            self._filter["level"],
            None if seed is None else int(seed),
        )
        return [each for each in self._episodes if wanted.keeps(each)]

    def _list(self) -> None:
        kept = self._kept()
        self._table.rows = [_listed(each) for each in kept[:MOST_LISTED]]
        self._table.update()
        told = [f"{len(kept)} of {len(self._episodes)} episodes", *map(in_plain, self._problems)]
        if not self._files:
            told = ["this run has no sample episodes: there is nothing in its trajectories/"]
        self._told.text = "; ".join(told)
        shown = {each.line for _, each in self._columns}
        run = self._followed()
        if kept and run is not None and not shown:
            self._columns = [(run, kept[0])]
            self._table.selected = self._table.rows[:1]
            self._show()

    def _show(self) -> None:
        self._place.clear()
        with self._place:
            for run, episode in self._columns:
                self._show_one(run, episode)

    def _show_one(self, run: FollowedRun, episode: Episode) -> None:
        number = list(self._page.runs.runs).index(run.key)
        with ui.element("div"):
            ui.label(f"{in_plain(run.key)} · {episode.file.name} · line {episode.line}").classes("quiet")
            line = f"/line/{number}/{quote(episode.file.name)}/{episode.line}"
            markup = page_of(episode, lambda digest: f"/picture/{number}/{digest}.png", line, self._colouring)
            ui.html(markup, sanitize=False)  # every text in it is escaped, see episode_page

    def _followed(self) -> FollowedRun | None:
        return self._page.runs.runs.get(self._run or "")

    def _names(self) -> list[str]:
        return [file.name for file in self._files]

    def _select(self, label: str, options: Any, value: Any, take: Callable[[Any], None]) -> Any:
        choice = ui.select(options, value=value, label=label, on_change=take)
        return choice.props("dense outlined options-dense").style("min-width: 8rem; max-width: 100%")


def _columns() -> list[dict[str, Any]]:
    names = (
        "line",
        "success",
        "reward",
        "advantage",
        "turns",
        "tools",
        "errors",
        "level",
        "seed",
        "member",
        "agent",
    )
    return [{"name": name, "label": name, "field": name, "align": "left", "sortable": True} for name in names]


def _listed(episode: Episode) -> dict[str, Any]:
    row = episode.row
    return {
        "key": episode.line,
        "line": episode.line,
        "success": {True: "✓", False: "✗", None: "?"}[episode.success],
        "reward": _short(episode.reward),
        "advantage": _short(episode.advantage),
        "turns": str(row.get("turns", "")),
        "tools": in_plain(", ".join(sorted(episode.tools)))[:120],
        "errors": in_plain(", ".join(sorted(episode.error_codes)))[:120],
        "level": in_plain(episode.level)[:80],
        "seed": str(row.get("seed", "")),
        "member": str(row.get("member", "")),
        "agent": in_plain(" ".join(str(row[name]) for name in ("agent", "mode") if row.get(name)))[:60],
    }


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _latest(run: FollowedRun) -> list[EpisodeFile]:
    """Return the newest files of training episodes."""
    return [file for file in episode_files(run.root, run.parts) if not file.evaluation][-_GROUP_FILES:]


def _may_hold(file: EpisodeFile, episode: Episode) -> bool:
    """Whether a file may hold the task: those of evaluation repeat, those of training do in equal steps."""
    return file.evaluation or file.step == episode.file.step


def _same_task(one: Episode, other: Episode) -> bool:
    hashes = [
        each.row["task"].get("hash") if isinstance(each.row.get("task"), dict) else None
        for each in (one, other)
    ]
    if None not in hashes:
        return hashes[0] == hashes[1]
    return one.row.get("seed") is not None and one.row.get("seed") == other.row.get("seed")
