"""The tab of episodes: choose a file, filter, read one, or several beside one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pixelis.agents.episode_files.choosing import EpisodeFilter, choices
from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.app.parts import in_thread, ui
from pixelis.monitor.app.shelf import Shelf
from pixelis.monitor.app.side_by_side import SideBySide, row_of
from pixelis.monitor.panels.episode_page import COLOURINGS
from pixelis.monitor.panels.exports import exchanges_of
from pixelis.monitor.reading.episodes import Place, Where, key_of, left_out_text, read_newest
from pixelis.monitor.reading.runs import FollowedRun

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

MOST_LISTED = 500
MOST_FILES = 300
"""Files that are offered, the newest and those of evaluations; any other is one step away."""
EVERY = "every step"
"""In place of a file: those of training, the newest of them that can be read at once."""
_MOST_PROBLEMS = 20
_SUCCESS = {"any": None, "succeeded": True, "failed": False, "not said": "unknown"}


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
        self._beside = SideBySide(page)
        self._files: list[EpisodeFile] = []
        self._offered: list[str] = []
        self._shelf: Shelf[Read] = Shelf(lambda file, read: read)
        self._listed: Any = None
        self._found: list[tuple[EpisodeFile, StoredEpisode]] = []
        self._problems: list[str] = []

    # ------------------------------------------------------------------ building

    def build(self) -> None:
        """Make the tab's elements; what it shows has been read."""
        runs = {run.key: in_plain(run.key)[:120] for run, _ in self._page.chosen_runs()}
        if not runs:
            ui.label("No run is chosen: choose one above, or on the tab Runs.")
            return
        self._take_read()
        with ui.row().classes("whole filters"):
            self._build_filters(runs)
        self._told = ui.label().classes("quiet")
        self._table = ui.table(rows=[], columns=_columns(), row_key="key", selection="single", pagination=0)
        self._table.classes("list").props("flat dense hide-pagination hide-selected-banner virtual-scroll")
        self._table.on_select(lambda event: self._open_row(event.selection))
        with ui.row():
            ui.button("its group side by side", on_click=self._open_group).props("flat dense no-caps")
            ui.button("the same task before, after, and in the other runs", on_click=self._open_same).props(
                "flat dense no-caps"
            )
        self._beside.build()
        self._list()

    def _build_filters(self, runs: dict[str, str]) -> None:
        self._offered = self._names()
        self._select("run", runs, self._run, self._choose_run)
        self._file_choice = self._select("played", self._offered, self._file, self._choose_file)
        if len(self._files) > MOST_FILES:
            step = ui.number("nearest step", format="%d")
            step.on("keydown.enter", lambda: self._choose_step(step))
            step.props("dense outlined").style("width: 9rem")
        if self._file == EVERY:
            for place, name in enumerate(("from step", "to step")):
                bound = ui.number(name, value=self._steps[place], format="%d", on_change=self._bound(place))
                bound.props("dense outlined clearable").style("width: 8rem")
        self._select("success", list(_SUCCESS), self._filter["success"], self._filtering("success"))
        self._choices = {
            name: self._select(name.replace("_", " "), options, self._filter[name], self._filtering(name))
            for name, options in self._options().items()
        }
        seed = ui.number("seed", value=self._filter["seed"], format="%d", on_change=self._filtering("seed"))
        seed.props("dense outlined clearable").style("width: 9rem")
        self._select("tokens coloured by", list(COLOURINGS), self._beside.colouring, self._choose_colouring)

    @property
    def is_read(self) -> bool:
        """Whether what is chosen has been read."""
        self._settle()
        return self._shelf.is_about((self._run, self._file))

    async def read(self) -> bool:
        """Read what is chosen, as far as it is new; return whether anything was."""
        self._settle()
        run = self._followed()
        asked: list[Place] = [] if run is None else [(run, file) for file in self._played()]
        return await self._shelf.read((self._run, self._file), asked)

    def refresh(self) -> None:
        """Show what has been read meanwhile; the episodes that are open stay."""
        if not self._page.chosen_runs():
            return
        if (names := self._names()) != self._offered:
            self._offered = names
            self._file_choice.set_options(names)
        if self._shelf.kept is not self._listed:
            self._take_read()
            for name, options in self._options().items():
                if self._choices[name].options != options:
                    self._choices[name].set_options(options, value=self._filter[name])
            self._list()

    def rows_shown(self, turns: bool = False) -> list[dict[str, Any]]:
        """Return the listed episodes as rows, with their texts.

        Args:
            turns: whether those that are open are rows too, with their turns as ``exchanges``.
        """
        rows = {_place_of(where): row_of(where) for where in self._here(self._kept())}
        for where in self._beside.opened if turns else ():
            rows[_place_of(where)] = row_of(where) | {"exchanges": exchanges_of(where[2])}
        return list(rows.values())

    # ------------------------------------------------------------------ what is chosen

    def _settle(self) -> None:
        """Choose a run, and a file of it, where those that were chosen are not there (any more)."""
        runs = [run.key for run, _ in self._page.chosen_runs()]
        if self._run not in runs:
            self._run, self._file = next(iter(runs), None), None
            self._beside.take([])
        run = self._followed()
        self._files = run.episode_files() if run is not None else []
        if self._file != EVERY and not any(file.name == self._file for file in self._files):
            self._file = self._files[-1].name if self._files else None

    def _choose_run(self, event: Any) -> None:
        self._run = event.value
        self._choose_played(None)

    def _choose_file(self, event: Any) -> None:
        self._choose_played(event.value)

    def _choose_played(self, name: str | None) -> None:
        self._file = name
        self._beside.take([])
        self._page.rebuild()

    def _choose_colouring(self, event: Any) -> None:
        self._beside.colouring = event.value
        self._beside.show()

    def _bound(self, place: int) -> Callable[[Any], Any]:
        async def take(event: Any) -> None:
            self._steps[place] = event.value
            await self._page.read()

        return take

    def _filtering(self, name: str) -> Callable[[Any], None]:
        def take(event: Any) -> None:
            self._filter[name] = event.value
            self._list()

        return take

    def move(self, by: int) -> None:
        """Show the episode that is ``by`` further down in the list; at its ends the one that is shown."""
        kept = self._kept()[:MOST_LISTED]
        shown = self._beside.opened[0][1:] if self._beside.opened else None
        place = next((place for place, each in enumerate(kept) if each == shown), -by)
        if kept:
            place = min(max(place + by, 0), len(kept) - 1)
            self._table.selected = self._table.rows[place : place + 1]
            self._open(self._here(kept[place : place + 1]))

    def _open(self, episodes: Sequence[Where]) -> None:
        self._beside.take(episodes)
        self._beside.show()

    def _open_row(self, rows: list[dict[str, Any]]) -> None:
        chosen = [each for each in self._found if rows and _key(*each) == rows[0]["key"]]
        if chosen:
            self._open(self._here(chosen))

    def _open_group(self) -> None:
        if not self._beside.opened:
            ui.notify("choose an episode first")
            return
        _, file, first = self._beside.opened[0]
        known = [each for played, each in self._found if played == file and each.line != first.line]
        same = [each for each in known if (each.seed, each.group) == (first.seed, first.group)]
        self._open(self._here([(file, each) for each in (first, *same)]))

    async def _open_same(self) -> None:
        if not self._beside.opened:
            ui.notify("choose an episode first")
            return
        chosen = self._beside.opened[0]
        own, played, first = chosen
        # evaluations repeat their tasks, trainings those of equal steps
        asked = [
            (run, file)
            for run, _ in self._page.chosen_runs()
            for file in run.episode_files()
            if file.evaluation or file.step == played.step
        ]
        # before and after training count most, then the run that is looked at
        by_worth = sorted(asked, key=lambda place: (place[1].step is None, place[0] is own))
        task = first.same_task
        read = await in_thread(read_newest, by_worth, {}, lambda _, read: _of_task(read, task))
        if read is None or self._beside.opened[:1] != [chosen]:
            return  # the server ends, or another one was opened meanwhile
        asked.sort(key=lambda place: place[0] is not own)  # beside the one that is looked at
        same = [(*place, each) for place in asked for each in read.get(key_of(*place), (0, ()))[1]]
        others = [each for each in same if each[:2] != (own, played) or each[2].line != first.line]
        if not others:
            ui.notify("the chosen runs have no other episode of this task")
        if left_out := left_out_text(len(asked) - len(read)):
            ui.notify(left_out)
        self._open([chosen, *others])

    # ------------------------------------------------------------------ showing

    def _take_read(self) -> None:
        """Take over what has been read."""
        kept = self._listed = self._shelf.kept
        known = {file.name: file for file in self._files}
        reads = [(known[name], read) for (_, name), (_, read) in kept.items() if name in known]
        self._found = [(file, each) for file, read in reads for each in read.episodes]
        several = len(reads) > 1
        told = [f"{file.name}: {word}" if several else word for file, read in reads for word in read.problems]
        self._problems = told[:_MOST_PROBLEMS]

    def _played(self) -> list[EpisodeFile]:
        """Return the files that are chosen; the bounds are those of their names."""
        if self._file != EVERY:
            return [each for each in self._files if each.name == self._file]
        low, high = self._steps
        return [
            each
            for each in self._files
            if each.step is not None
            and not each.evaluation
            and (low is None or each.step >= low)
            and (high is None or each.step <= high)
        ]

    def _options(self) -> dict[str, dict[str, str]]:
        """Return what there is to filter by; what is chosen and is not there is not chosen any more."""
        found = choices([each for _, each in self._found])
        for name, values in found.items():
            self._filter[name] = self._filter[name] if self._filter[name] in values else ""
        return {
            name: {"": "any", **{value: in_plain(value)[:80] for value in values}}
            for name, values in found.items()
        }

    def _here(self, episodes: Sequence[tuple[EpisodeFile, StoredEpisode]]) -> list[Where]:
        """Return episodes of the run that is shown as what stands side by side."""
        run = self._followed()
        return [] if run is None else [(run, file, each) for file, each in episodes]

    def _kept(self) -> list[tuple[EpisodeFile, StoredEpisode]]:
        seed = self._filter["seed"]
        wanted = EpisodeFilter(
            _SUCCESS[self._filter["success"]],
            None if seed is None else int(seed),
            **{name: self._filter[name] for name in ("tool", "error_code", "level")},
        )
        return [(file, each) for file, each in self._found if wanted.keeps(each)]

    def _list(self) -> None:
        kept = self._kept()
        self._table.rows = [_listed(*each) for each in kept[:MOST_LISTED]]
        self._table.update()
        told = [f"{len(kept)} of {len(self._found)} episodes", left_out_text(self._shelf.left_out)]
        told += map(in_plain, self._problems)
        run = self._followed()
        if run is not None and run.is_gone:
            told = ["the folder of this run is gone"]
        elif not self._files:
            told = [
                "no sample episodes: its trajectories/ is missing, empty or a link, which is not followed"
            ]
        self._told.text = "; ".join(text for text in told if text)
        if kept and not self._beside.opened:
            self._table.selected = self._table.rows[:1]
            self._open(self._here(kept[:1]))

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
            self._choose_played(min(known, key=lambda file: abs((file.step or 0) - wanted)).name)

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


def _place_of(where: Where) -> tuple[str, str, int]:
    run, file, episode = where
    return run.key, file.name, episode.line


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


def _of_task(read: Read, task: str) -> list[StoredEpisode]:
    return [each for each in read.episodes if each.same_task == task]
