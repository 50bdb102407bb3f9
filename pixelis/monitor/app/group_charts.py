"""The charts of what sample episodes say of their groups: rewards of the members, advantages."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.monitor.app.shelf import Shelf
from pixelis.monitor.panels import charts
from pixelis.monitor.reading.episodes import key_of, left_out_text
from pixelis.monitor.reading.runs import FollowedRun

if TYPE_CHECKING:
    from pixelis.monitor.app.page import Page

_MOST_FILES = 40
"""Of a run, the newest."""
Card = Callable[[str, Callable[[], charts.Options | None]], None]


class GroupSample(NamedTuple):
    """What of a training episode is drawn."""

    step: float
    reward: float
    advantage: float | None


class GroupCharts:
    """The newest training episodes of the runs that are looked at.

    Args:
        page: whose charts they are.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shelf: Shelf[list[GroupSample]] = Shelf(_samples_of)

    @property
    def is_read(self) -> bool:
        """Whether the files of these runs have been read."""
        return self._shelf.is_about(self._topic())

    async def read(self) -> bool:
        """Read what is new; return whether there was anything."""
        files = [(run, file) for run, _ in self._page.chosen_runs() for file in _files(run)]
        return await self._shelf.read(self._topic(), sorted(files, key=lambda place: place[1].step or 0))

    def build(self, card: Card) -> None:
        """Make the charts."""
        runs = self._page.chosen_runs()
        card("Rewards of the members of the sample groups", lambda: self._rewards(runs))
        for run, colour in runs:
            card(f"Advantages of the sample episodes: {run.key}", partial(self._advantages, run, colour))

    def layout(self) -> Any:
        """Return what must change for there to be other charts."""
        known = [self._sampled(run) for run, _ in self._page.chosen_runs()]
        return [(len(each) > 0, any(one.advantage is not None for one in each)) for each in known]

    def rows(self) -> list[dict[str, Any]]:
        """Return the sample episodes that are drawn, as rows."""
        axis = self._page.axis
        return [
            {"run": run.key, "metric": "sample episode", "step": one.step}
            | {axis: None if math.isnan(x) else x, "reward": one.reward, "advantage": one.advantage}
            for run, _ in self._page.chosen_runs()
            for x, one in self._placed(run)
        ]

    def note(self) -> str:
        """Return what of the files is not shown, in words."""
        return left_out_text(self._shelf.left_out)

    # ------------------------------------------------------------------ private

    def _topic(self) -> Any:
        return [run.key for run, _ in self._page.chosen_runs()]

    def _rewards(self, runs: list[tuple[FollowedRun, str]]) -> charts.Options | None:
        if not any(self._sampled(run) for run, _ in runs):
            return None
        each = [
            (run.key, colour, [(x, one.reward) for x, one in self._placed(run) if not math.isnan(x)])
            for run, colour in runs
        ]
        return charts.scatter(each, self._page.axis)

    def _advantages(self, run: FollowedRun, colour: str) -> charts.Options | None:
        values = [one.advantage for one in self._sampled(run) if one.advantage is not None]
        return charts.histogram(values, colour=colour) if values else None

    def _placed(self, run: FollowedRun) -> list[tuple[float, GroupSample]]:
        """Return the episodes with where they lie on the axis of the page."""
        samples = self._sampled(run)
        steps = dict.fromkeys(one.step for one in samples)
        where = {step: run.series.place_of(step, self._page.axis) for step in steps}
        return [(where[one.step], one) for one in samples]

    def _sampled(self, run: FollowedRun) -> list[GroupSample]:
        keys = (key_of(run, file) for file in _files(run))
        return [one for key in keys if key in self._shelf.kept for one in self._shelf.kept[key][1]]


def _files(run: FollowedRun) -> list[EpisodeFile]:
    files = [file for file in run.episode_files() if file.step is not None and not file.evaluation]
    return files[-_MOST_FILES:]


def _samples_of(file: EpisodeFile, read: Read) -> list[GroupSample]:
    found = [(each.reward, each.mean_advantage) for each in read.episodes]
    return [
        GroupSample(float(file.step or 0), reward, advantage)
        for reward, advantage in found
        if reward is not None
    ]
