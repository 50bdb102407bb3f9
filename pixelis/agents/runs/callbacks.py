"""What is called while a run trains, and may end it: functions of metrics, early stopping among them."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from pixelis.agents.runs.metrics import Row
from pixelis.errors import ConfigError, shown, suggest

Callback = Callable[[Row], "bool | None"]
"""Is given metrics; True ends training after this step."""
EVALUATED = "evaluation/reward"
"""What every row has that was evaluated while it trained."""


def check_callback(name: str, call: Callback | None) -> None:
    """Refuse what cannot be called with the metrics of a step, before anything is trained.

    Raises:
        ConfigError: it is no function of one argument.
    """
    if call is None:
        return
    got = shown(call, 60)
    if inspect.isclass(call):
        got = f"the class {call.__name__}: give {call.__name__}(...)"
    elif callable(call):
        try:
            signature = inspect.signature(call)
        except ValueError:  # a builtin that does not tell
            return
        try:
            signature.bind({})
            return
        except TypeError:
            got = f"one that takes {signature}"
    what = "a function that takes one argument, the metrics of a step by name"
    raise ConfigError(f"{name} must be {what}, got {got}")


class EarlyStopping:
    """Ends training once a metric is high enough, or has not risen for a while.

    Give it as ``on_evaluation`` (with ``eval_every``) or, for a metric of every step, as ``on_step``::

        train(env=..., eval_every=10, on_evaluation=EarlyStopping(patience=3))
        train(env=..., on_step=EarlyStopping("success/rate", at_least=0.9))

    Rows without the metric, or where it is not finite, do not count; the first one, of those that should have
    it, is warned of. A run that is resumed begins to count anew.

    Args:
        metric: its name; larger is better.
        at_least: the value that is enough; None: none is.
        patience: so many values in a row that are not above the best one end it; None: none do.
        min_delta: by how much a value must be above the best one to be a new best.

    Raises:
        ConfigError: neither ``at_least`` nor ``patience``, or a number that is none.
    """

    def __init__(
        self,
        metric: str = "evaluation/success",
        *,
        at_least: float | None = None,
        patience: int | None = None,
        min_delta: float = 0.0,
    ) -> None:
        if at_least is None and patience is None:
            raise ConfigError("early stopping needs at_least, patience or both")
        if patience is not None and (
            isinstance(patience, bool) or not isinstance(patience, int) or patience < 1
        ):
            raise ConfigError(f"patience must be an integer of at least 1, got {patience!r}")
        for name, value in {"at_least": at_least, "min_delta": min_delta}.items():
            if value is not None and not math.isfinite(value):
                raise ConfigError(f"{name} must be a finite number, got {value!r}")
        if min_delta < 0:
            raise ConfigError(f"min_delta must be at least 0, got {min_delta!r}")
        self.metric, self._enough, self._patience, self._delta = metric, at_least, patience, min_delta
        self._best, self._since, self._warned = -math.inf, 0, False

    def __call__(self, row: Mapping[str, Any]) -> bool:
        """Return whether training is to end."""
        value = row.get(self.metric)
        if self.metric not in row and (EVALUATED in row or not self.metric.startswith("evaluation/")):
            self._warn(row)
        if value is None or not math.isfinite(value):
            return False
        if value > self._best + self._delta or self._best == -math.inf:
            self._best, self._since = value, 0
        else:
            self._since += 1
        enough = self._enough is not None and value >= self._enough
        return enough or (self._patience is not None and self._since >= self._patience)

    def _warn(self, row: Mapping[str, Any]) -> None:
        if not self._warned:
            hint = suggest(self.metric, row)
            warnings.warn(f"early stopping finds no {shown(self.metric)} in a row.{hint}", stacklevel=2)
        self._warned = True


class Callbacks:
    """Calls functions with the metrics of a step, and remembers whether one of them ends training.

    Args:
        on_step: is called after each step.
        on_evaluation: is called after a step with an evaluation (``eval_every``).
    """

    def __init__(self, on_step: Callback | None, on_evaluation: Callback | None) -> None:
        self._on_step, self._on_evaluation, self._ended = on_step, on_evaluation, False

    def step(self, row: Row) -> None:
        """Call them."""
        for call, due in ((self._on_step, True), (self._on_evaluation, EVALUATED in row)):
            if call is not None and due:
                self._ended |= call(row) is True

    def ended(self) -> bool:
        """Return whether training is to end."""
        return self._ended
