"""The tab of episodes: choose a file, filter, read one, or several beside one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pixelis.agents.episode_files.choosing import EpisodeFilter, choices
from pixelis.agents.episode_files.reading import EpisodeFile
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.app.parts import ui
from pixelis.monitor.panels import charts
from pixelis.monitor.panels.episode_page import COLOURINGS, page_of
from pixelis.monitor.reading.runs import FollowedRun

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

MOST_LISTED = 500
MOST_FILES = 300
"""Files that are offered, the newest and those of evaluations; any other is one step away."""
MOST_COLUMNS = 8
_GROUP_FILES = 40
EVERY, MOST_READ = "every step", 200
"""In place of a file: those of training, the newest so many."""
_MOST_PROBLEMS = 20
_SUCCESS = {"any": None, "succeeded": True, "failed": False, "not said": "unknown"}
Where = tuple[FollowedRun, EpisodeFile, StoredEpisode]
Sample = tuple[float, float, float | None]
"""Step, reward and advantage of an episode."""


class EpisodesTab:
    """What the tab shows, and of which run.

    Args:
        page: whose tab it is.
        file: of episodes, which is shown first, or `EVERY`; the newest where there is none of that name.
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
        self._steps: list[float | None] = [None, None]
        self._colouring = "probability"
        self._columns: list[Where] = []
        self._found: list[tuple[EpisodeFile, StoredEpisode]] = []
        self._problems: list[str] = []
        self._files: list[EpisodeFile] = []
        self._samples: dict[str, dict[str, list[Sample]]] = {}

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
            if len(self._files) > MOST_FILES:
                step = ui.number("nearest step", format="%d")
                step.on("keydown.enter", lambda: self._choose_step(step))
                step.props("dense outlined").style("width: 9rem")
            if self._file == EVERY:
                for place, name in enumerate(("from step", "to step")):
                    bound = ui.number(
                        name, value=self._steps[place], format="%d", on_change=self._bound(place)
                    )
                    bound.props("dense outlined clearable").style("width: 8rem")
            self._select("success", list(_SUCCESS), self._filter["success"], self._filtering("success"))
            found = choices([each for _, each in self._found])
            for name in ("tool", "error_code", "level"):
                options = {"": "any", **{value: in_plain(value)[:80] for value in found[name]}}
                if self._filter[name] not in options:
                    self._filter[name] = ""
                self._select(name.replace("_", " "), options, self._filter[name], self._filtering(name))
            seed = ui.number(
                "seed", value=self._filter["seed"], format="%d", on_change=self._filtering("seed")
            )
            seed.props("dense outlined clearable").style("width: 9rem")
            self._select("tokens coloured by", list(COLOURINGS), self._colouring, self._choose_colouring)
        self._told = ui.label().classes("quiet")
        self._table = ui.table(rows=[], columns=_columns(), row_key="key", selection="single", pagination=0)
        self._table.classes("list").props("flat dense hide-pagination hide-selected-banner virtual-scroll")
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
        if run is not None and (files := run.episode_files()) != self._files:
            self._files = files
            self._file_choice.set_options(self._names())

    def rows_shown(self) -> list[dict[str, Any]]:
        """Return the listed episodes as rows, with their texts."""
        names = ("seed", "group", "member", "success", "reward", "truncated", "text")
        return [
            {"run": self._run, "played": file.name, "line": each.line, "level": each.level}
            | {name: getattr(each, name) for name in names}
            | {"turns": each.turn_count, "advantage": each.mean_advantage}
            for file, each in self._kept()
        ]

    def build_group_charts(self, card: Callable[[str, Callable[[], charts.Options | None]], None]) -> None:
        """Make the charts of what sample episodes say of their groups: spread of rewards, advantages."""
        runs = self._page.chosen_runs()
        card("Rewards of the members of the sample groups", lambda: self._rewards(runs))
        for run, colour in runs:
            make = lambda run=run, colour=colour: self._advantages(run, colour)  # noqa: E731
            card(f"Advantages of the sample episodes: {run.key}", make)

    # ------------------------------------------------------------------ groups

    def sample_rows(self) -> list[dict[str, Any]]:
        """Return the sample episodes that the charts of groups show, as rows."""
        return [
            {
                "run": run.key,
                "metric": "sample episode",
                "step": step,
                "reward": reward,
                "advantage": advantage,
            }
            for run, _ in self._page.chosen_runs()
            for step, reward, advantage in self._sampled(run)
        ]

    def _rewards(self, runs: list[tuple[FollowedRun, str]]) -> charts.Options | None:
        each = [(run.key, colour, [pair[:2] for pair in self._sampled(run)]) for run, colour in runs]
        return charts.scatter(each, "step") if any(points for *_, points in each) else None

    def _advantages(self, run: FollowedRun, colour: str) -> charts.Options | None:
        values = [advantage for *_, advantage in self._sampled(run) if advantage is not None]
        return charts.histogram(values, colour=colour) if values else None

    def _sampled(self, run: FollowedRun) -> list[Sample]:
        """Return step, reward and advantage of a run's newest training episodes; a file is read once."""
        files = [file for file in run.episode_files() if file.step is not None and not file.evaluation]
        known, now = self._samples.get(run.key, {}), {}
        for file in files[-_GROUP_FILES:]:
            now[file.name] = known[file.name] if file.name in known else _sample_of(run, file)
        self._samples[run.key] = now
        return [each for sample in now.values() for each in sample]

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

    def _bound(self, place: int) -> Callable[[Any], None]:
        def take(event: Any) -> None:
            self._steps[place] = event.value
            self._list()

        return take

    def _filtering(self, name: str) -> Callable[[Any], None]:
        def take(event: Any) -> None:
            self._filter[name] = event.value
            self._list()

        return take

    def move(self, by: int) -> None:
        """Show the episode that is ``by`` further down in the list; at its ends the one that is shown."""
        kept = self._kept()[:MOST_LISTED]
        shown = self._columns[0][1:] if self._columns else None
        place = next((place for place, each in enumerate(kept) if each == shown), -by)
        if kept:
            place = min(max(place + by, 0), len(kept) - 1)
            self._columns = self._here(kept[place : place + 1])
            self._table.selected = self._table.rows[place : place + 1]
            self._show()

    def _open_row(self, rows: list[dict[str, Any]]) -> None:
        chosen = [each for each in self._found if rows and _key(*each) == rows[0]["key"]]
        if chosen:
            self._columns = self._here(chosen)
            self._show()

    def _open_group(self) -> None:
        if not self._columns:
            ui.notify("choose an episode first")
            return
        _, file, first = self._columns[0]
        known = [each for played, each in self._found if played == file and each.line != first.line]
        same = [each for each in known if (each.seed, each.group) == (first.seed, first.group)]
        self._columns = self._here([(file, each) for each in (first, *same)])
        self._show()

    def _open_same(self) -> None:
        if not self._columns:
            ui.notify("choose an episode first")
            return
        own, played, first = self._columns[0]
        found: list[Where] = self._columns[:1]
        for run, _ in self._page.chosen_runs():
            for file in run.episode_files():
                if not (file.evaluation or file.step == played.step):
                    continue  # evaluations repeat their tasks, trainings those of equal steps
                is_own = run is own and file == played
                found += [
                    (run, file, each)
                    for each in run.read_episodes(file).episodes
                    if each.same_task == first.same_task and not (is_own and each.line == first.line)
                ]
        if len(found) == 1:
            ui.notify("the chosen runs have no other episode of this task")
        self._columns = found[:MOST_COLUMNS]
        self._show()

    # ------------------------------------------------------------------ showing

    def _read(self) -> None:
        run = self._followed()
        self._files = run.episode_files() if run is not None else []
        names = [file.name for file in self._files]
        if self._file not in (*names, EVERY):
            self._file = names[-1] if names else None
        reads = [] if run is None else [(file, run.read_episodes(file)) for file in self._played()]
        self._found = [(file, each) for file, read in reads for each in read.episodes]
        several = len(reads) > 1
        told = [f"{file.name}: {word}" if several else word for file, read in reads for word in read.problems]
        self._problems = told[:_MOST_PROBLEMS]

    def _played(self) -> list[EpisodeFile]:
        if self._file == EVERY:
            return [each for each in self._files if each.step is not None and not each.evaluation][
                -MOST_READ:
            ]
        return [each for each in self._files if each.name == self._file]

    def _here(self, episodes: Sequence[tuple[EpisodeFile, StoredEpisode]]) -> list[Where]:
        """Return episodes of the run that is shown as what stands side by side."""
        run = self._followed()
        return [] if run is None else [(run, file, each) for file, each in episodes[:MOST_COLUMNS]]

    def _kept(self) -> list[tuple[EpisodeFile, StoredEpisode]]:
        seed = self._filter["seed"]
        wanted = EpisodeFilter(
            _SUCCESS[self._filter["success"]],
            None if seed is None else int(seed),
            **{name: self._filter[name] for name in ("tool", "error_code", "level")},
        )
        low, high = self._steps
        return [
            (file, each)
            for file, each in self._found
            if wanted.keeps(each)
            and (low is None or (file.step or 0) >= low)
            and (high is None or (file.step or 0) <= high)
        ]

    def _list(self) -> None:
        kept = self._kept()
        self._table.rows = [_listed(*each) for each in kept[:MOST_LISTED]]
        self._table.update()
        told = [f"{len(kept)} of {len(self._found)} episodes", *map(in_plain, self._problems)]
        if not self._files:
            told = ["this run has no sample episodes: there is nothing in its trajectories/"]
        self._told.text = "; ".join(told)
        if kept and not self._columns:
            self._columns = self._here(kept[:1])
            self._table.selected = self._table.rows[:1]
            self._show()

    def _show(self) -> None:
        self._place.clear()
        with self._place:
            for run, file, episode in self._columns:
                self._show_one(run, file, episode)

    def _show_one(self, run: FollowedRun, file: EpisodeFile, episode: StoredEpisode) -> None:
        number = list(self._page.runs.runs).index(run.key)
        with ui.element("div"):
            ui.label(f"{in_plain(run.key)} · {file.name} · line {episode.line}").classes("quiet")
            line = f"/line/{number}/{quote(file.name)}/{episode.line}"

            def address(digest: str) -> str | None:
                return f"/picture/{number}/{digest}.png" if run.has_picture(digest) else None

            markup = page_of(episode, address, line, self._colouring)
            ui.html(markup, sanitize=False)  # every text in it is escaped, see episode_page

    def _followed(self) -> FollowedRun | None:
        return self._page.runs.runs.get(self._run or "")

    def _names(self) -> list[str]:
        """Return what is offered: the newest files and the evaluations, and what is shown."""
        oldest = max(len(self._files) - MOST_FILES, 0)
        return [EVERY] + [
            file.name
            for place, file in enumerate(self._files)
            if place >= oldest or file.name == self._file or (file.evaluation and place < MOST_FILES)
        ]

    def _choose_step(self, event: Any) -> None:
        """Show the training episodes of the step that is nearest to the one that was asked for."""
        known = [file for file in self._files if file.step is not None and not file.evaluation]
        if event.value is not None and known:
            wanted = float(event.value)
            nearest = min(known, key=lambda file: abs((file.step or 0) - wanted))
            self._file, self._columns = nearest.name, []
            self._page._build_tab()

    def _select(self, label: str, options: Any, value: Any, take: Callable[[Any], None]) -> Any:
        choice = ui.select(options, value=value, label=label, on_change=take)
        return choice.props("dense outlined options-dense").style(
            f"min-width: {max(len(label) * 0.6 + 3, 8):g}rem; max-width: 100%"
        )


def _columns() -> list[dict[str, Any]]:
    names = (
        "step",
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


def _key(file: EpisodeFile, episode: StoredEpisode) -> str:
    return f"{file.name} {episode.line}"


def _listed(file: EpisodeFile, episode: StoredEpisode) -> dict[str, Any]:
    return {
        "key": _key(file, episode),
        "step": "" if file.step is None else file.step,
        "line": episode.line,
        "success": {True: "✓", False: "✗", None: "?"}[episode.success],
        "reward": _short(episode.reward),
        "advantage": _short(episode.mean_advantage),
        "turns": episode.turn_count,
        "tools": in_plain(", ".join(sorted(episode.tools)))[:120],
        "errors": in_plain(", ".join(sorted(episode.error_codes)))[:120],
        "level": in_plain(episode.level)[:80],
        "seed": "" if episode.seed is None else str(episode.seed),
        "member": episode.member,
        "agent": in_plain(" ".join(part for part in (episode.agent, episode.mode) if part))[:60],
    }


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _sample_of(run: FollowedRun, file: EpisodeFile) -> list[Sample]:
    found = [(each.reward, each.mean_advantage) for each in run.read_episodes(file).episodes]
    return [(float(file.step or 0), reward, advantage) for reward, advantage in found if reward is not None]
