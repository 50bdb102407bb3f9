"""What a run says of its levels: groups without variance, success by kind of level, and an alert."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.ued.sampler import LevelOutcome

_LOG = logging.getLogger(__name__)
MOST_LABELS = 256
"""Kinds of level of which a run keeps count; what comes later is counted in the total alone."""
_RECENT = 20


@dataclass
class LevelTally:
    """The groups of one kind of level, since the run began.

    Attributes:
        groups: how many.
        zero_variance_groups: how many of them had no variance in their rewards.
        episodes: their valid members.
        successes: how many of these succeeded.
        recent: success rates of the last twenty groups.
    """

    groups: int = 0
    zero_variance_groups: int = 0
    episodes: int = 0
    successes: int = 0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def add(self, outcome: LevelOutcome) -> None:
        """Count a group with at least one valid member."""
        self.groups += 1
        self.zero_variance_groups += outcome.zero_variance
        if outcome.successes is not None:
            self.episodes += outcome.members
            self.successes += outcome.successes
            self.recent.append(outcome.successes / outcome.members)

    @property
    def zero_variance(self) -> float:
        """Share of the groups without variance; there must be one."""
        return self.zero_variance_groups / self.groups

    @property
    def success(self) -> float | None:
        """Share of the episodes that succeeded, None where no environment said."""
        return self.successes / self.episodes if self.episodes else None

    @property
    def recent_success(self) -> float | None:
        """Mean success rate of the last twenty groups."""
        return sum(self.recent) / len(self.recent) if self.recent else None

    def state_dict(self) -> list[Any]:
        """Return it as JSON-able values."""
        return [self.groups, self.zero_variance_groups, self.episodes, self.successes, list(self.recent)]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> LevelTally:
        """Return what `state_dict` was called on."""
        groups, zero_variance_groups, episodes, successes, recent = state
        return cls(groups, zero_variance_groups, episodes, successes, deque(recent, maxlen=_RECENT))


class LevelReport:
    """Counts groups by kind of level, and warns when everything is solved.

    Args:
        window: steps in a row in which every episode had the best reward, before that is told.
    """

    def __init__(self, window: int) -> None:
        self._window, self._solved_steps = window, 0
        self._tallies: dict[str, LevelTally] = {}

    def note(self, outcomes: Sequence[LevelOutcome], labels: Sequence[Sequence[str]]) -> Row:
        """Take notice of a step.

        ``zero_variance`` is the share of the groups to be trained on whose members were all paid the same,
        which is the part of the rollout that teaches nothing.

        Args:
            outcomes: all groups.
            labels: the kinds of level that each of them is.

        Returns:
            metrics without the prefix ``levels/``.
        """
        played = [(each, names) for each, names in zip(outcomes, labels, strict=True) if each.members]
        trained = [outcome for outcome, _ in played if outcome.draw.trained]
        row: Row = {
            "zero_variance": sum(each.zero_variance for each in trained) / len(trained) if trained else None,
            "scored_only": sum(not each.draw.trained for each in outcomes),
            "replayed": sum(each.draw.origin == "replay" for each in outcomes),
        }
        now: dict[str, LevelTally] = {}
        for outcome, names in played:
            for name in dict.fromkeys(names):
                now.setdefault(name, LevelTally()).add(outcome)
                if name in self._tallies or len(self._tallies) < MOST_LABELS:
                    self._tallies.setdefault(name, LevelTally()).add(outcome)
        for name, tally in sorted(now.items()):
            row |= {f"{name}/groups": tally.groups, f"{name}/zero_variance": tally.zero_variance}
            row[f"{name}/success"] = tally.success
        return row | {"alert": self._alert([outcome for outcome, _ in played])}

    def table(self) -> Table | None:
        """Return the run so far as a table for `rich.print`; None if nothing with a kind was played."""
        if not self._tallies:
            return None
        table = Table(title="levels that were trained on or scored")
        columns = ("level", "groups", "success", f"last {_RECENT} groups", "zero variance")
        for column in columns:
            table.add_column(column, justify="left" if column == "level" else "right", overflow="fold")
        for name, tally in sorted(self._tallies.items(), key=lambda item: _sorted_by(item[0])):
            rates = (tally.success, tally.recent_success, tally.zero_variance)
            table.add_row(
                name, str(tally.groups), *("–" if rate is None else f"{rate:.2f}" for rate in rates)
            )
        return table

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        tallies = {name: tally.state_dict() for name, tally in self._tallies.items()}
        return {"solved_steps": self._solved_steps, "tallies": tallies}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._solved_steps = int(state["solved_steps"])
        self._tallies = {name: LevelTally.from_state(values) for name, values in state["tallies"].items()}

    def _alert(self, outcomes: Sequence[LevelOutcome]) -> int:
        solved = bool(outcomes) and all(is_solved(outcome) for outcome in outcomes)
        self._solved_steps = self._solved_steps + 1 if solved else 0
        if self._solved_steps == self._window:
            _LOG.warning(
                "ALERT: for %d steps every reward was the best there is: these tasks are solved and teach "
                "nothing; raise --difficulty, or let --levels learnability choose harder ones",
                self._window,
            )
        return int(self._solved_steps >= self._window)


def is_solved(outcome: LevelOutcome) -> bool:
    """Whether a group has no variance at the maximum: all were paid the same, and succeeded.

    Where the environment does not say whether they succeeded, their reward must be 1 or more.
    """
    if not outcome.members or max(outcome.rewards) - min(outcome.rewards) > 1e-8:
        return False
    if outcome.successes is None:
        return min(outcome.returns) >= 1.0
    return outcome.successes == outcome.members


def _sorted_by(name: str) -> tuple[str, float, str]:
    """Order ``difficulty=10`` behind ``difficulty=9``."""
    head, _, value = name.rpartition("=")
    return head, float(value) if value.replace(".", "", 1).isdigit() else 0.0, name
