"""Evaluations as JSON, where what is not a number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelis.agents.runs.evaluate import Evaluation
from pixelis.errors import CheckpointError
from pixelis.files import write_atomically, writing

_MEANS = ("success_rate", "mean_reward", "mean_turns")  # NaN where there is nothing to take the mean of


def evaluation_to_row(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON-able values."""
    row = evaluation.to_json()
    row["interval"] = row["interval"] if not any(map(math.isnan, row["interval"])) else None
    return {name: _known(value) for name, value in row.items()}


def _known(value: Any) -> Any:
    """Return a value with null for each number that is none, such as the mean of a tool's odd scores."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _known(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(each) for each in value]
    return value


def row_to_evaluation(row: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation that `evaluation_to_row` described."""
    low, high = row["interval"] if row["interval"] is not None else (math.nan, math.nan)
    means = {name: math.nan if row[name] is None else row[name] for name in _MEANS}
    return Evaluation(**{**row, **means, "interval": (low, high)})


def write_evaluations(path: Path, phases: Mapping[str, Sequence[Evaluation]], **more: Any) -> None:
    """Write evaluations, name → rows, and more JSON-able values beside them.

    Raises:
        OutputError: the file cannot be written.
    """
    values = {**more, **{name: [evaluation_to_row(row) for row in rows] for name, rows in phases.items()}}
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def read_evaluations(path: Path) -> dict[str, list[Evaluation]]:
    """Return the evaluations of a file that holds nothing else, name → rows; empty when there is no file.

    Raises:
        CheckpointError: the file is damaged.
    """
    if not path.exists():
        return {}
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        return {name: [row_to_evaluation(row) for row in rows] for name, rows in saved.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise CheckpointError(
            f"{str(path)!r} is damaged ({reason}); delete it, it will be made again"
        ) from error
