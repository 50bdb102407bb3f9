"""Watching a run: a few of a step's episodes are scored, written down, and compared with the reward."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.watch.divergence import Change, change_between, parts_ways
from pixelis.agents.runs.watch.scorers import make_scorers, mean_score
from pixelis.agents.settings.rl import WatchSettings

_REWARD = "reward/mean"


class Watch:
    """Scores episodes that have been played, and sees when the scores part from the reward.

    It draws no random numbers and changes no episode, so a run is the same with and without it.

    Args:
        settings: what is watched, at least one score.
        known: the environment's own scorers, see `scorers.make_scorers`.

    Attributes:
        words: which scores part from the reward now, with numbers, and what to do; None where none does.

    Raises:
        ConfigError: there is no such scorer.
    """

    def __init__(self, settings: WatchSettings, known: Mapping[str, str] = MappingProxyType({})) -> None:
        self.settings = settings
        self._scorers = make_scorers(settings.scores, known)
        self._rows: deque[dict[str, float | None]] = deque(maxlen=2 * settings.window)
        self.words: str | None = None

    def note(self, episodes: Sequence[Episode], row: Row) -> Row:
        """Score a step's episodes; return the means, and how many scores part from the reward.

        ``watch/alarm`` is None until there are two whole windows.

        Args:
            episodes: all of the step.
            row: its metrics, ``reward/mean`` among them.

        Raises:
            RewardError: a scorer gave something else than finite numbers.
        """
        seen = spread(episodes, self.settings.episodes)
        means = {name: mean_score(name, scorer, seen) for name, scorer in self._scorers.items()}
        self._rows.append({**means, _REWARD: row[_REWARD]})
        alarms = self._alarms()
        told = [_told(name, *pair, self.settings.window) for name, pair in (alarms or {}).items()]
        self.words = "; ".join(told) or None
        found: Row = {f"watch/{name}": value for name, value in means.items()}
        return found | {"watch/alarm": None if alarms is None else len(alarms)}

    def means(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Return the mean score of all valid episodes by name, for an evaluation."""
        valid = spread(episodes, len(episodes))
        means = {name: mean_score(name, scorer, valid) for name, scorer in self._scorers.items()}
        return {name: value for name, value in means.items() if value is not None}

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        return {"rows": list(self._rows)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned; scorers that are new since then begin without a past."""
        self._rows.clear()
        self._rows.extend(dict(row) for row in state["rows"])

    def _alarms(self) -> dict[str, tuple[Change, Change]] | None:
        window, found, compared = self.settings.window, {}, False
        for name in self._scorers:
            both = [(row[_REWARD], row.get(name)) for row in self._rows]
            known = [(paid, score) for paid, score in both if paid is not None and score is not None]
            if len(known) < 2 * window:
                continue
            compared = True
            reward, watched = (change_between(series, window) for series in zip(*known, strict=True))
            if parts_ways(reward, watched, self.settings.z):
                found[name] = (reward, watched)
        return found if compared else None


def _told(name: str, reward: Change, watched: Change, window: int) -> str:
    return (
        f"over the last 2 x {window} steps the reward rose from {reward.before:.4g} to {reward.after:.4g} "
        f"while {name}, which nothing is paid by, fell from {watched.before:.4g} to {watched.after:.4g}: the "
        "policy seems to learn what pleases the reward, not what it stands for; read trajectories/, then go "
        "back to an earlier checkpoint and mend the reward, raise --beta or lower --lr"
    )


def spread(episodes: Sequence[Episode], most: int) -> list[Episode]:
    """Return at most ``most`` of the episodes that are valid for training, evenly spread over their order."""
    valid = [episode for episode in episodes if episode.valid_for_training]
    if len(valid) <= most:
        return valid
    return [valid[place] for place in np.linspace(0, len(valid) - 1, most).round().astype(int).tolist()]
