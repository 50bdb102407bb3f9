"""Moving means and slopes of the metrics that a configuration names."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.runs.metrics import MovingMeans
from pixelis.errors import suggest

_LOG = logging.getLogger(__name__)
_SLOPE = 100


class Smoothing:
    """Adds ``<metric>/ma10``, ``/ma100``, ``/ma500`` and ``/slope100`` to each row.

    They are those that ``success/rate`` always has: means and the least-squares slope a value of the last
    values that are known. A step that does not know the metric repeats what was known.

    Args:
        names: metrics; one that the first row lacks may come later, and is told.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._series = {name: MovingMeans() for name in names}
        self._told = False

    def note(self, row: Row) -> Row:
        """Take notice of a step's metrics; return what they add."""
        added: Row = {}
        for name, series in self._series.items():
            value = row.get(name)
            series.add(value if value is None or math.isfinite(value) else None)
            added |= {f"{name}/ma{window}": mean for window, mean in series.means().items()}
            added[f"{name}/slope{_SLOPE}"] = series.slope(_SLOPE)
        if not self._told:
            self._told = True
            for name in self._series.keys() - row.keys():
                _LOG.warning(
                    "smoothed names %r, which this step did not log; its means are null until one does.%s",
                    name,
                    suggest(name, row),
                )
        return added

    def state_dict(self) -> dict[str, list[float]]:
        """Return the values of each metric, oldest first, as JSON-able values."""
        return {name: series.state_dict() for name, series in self._series.items()}

    def load_state_dict(self, state: Mapping[str, Sequence[float]]) -> None:
        """Take over what `state_dict` returned; a metric that was not named then begins without a past."""
        for name in self._series.keys() & state.keys():
            self._series[name].load_state_dict(state[name])
