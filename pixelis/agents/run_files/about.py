"""``about.json`` of a run folder: the version of its metrics, and what was counted when it began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelis.errors import CheckpointError
from pixelis.files import write_atomically, writing

ABOUT = "about.json"
METRICS_VERSION = 1
"""Of the rows of ``metrics.jsonl``; goes up when what older code reads in them would be wrong.

A metric that is new, or is no longer logged, changes nothing: readers take the names that there are.
"""
TRAITS = "traits"
"""Key of what the run's environment said of its task and tools, a `RewardTraits` as JSON."""


def read_about(run: Path) -> dict[str, Any]:
    """Return what the file says; empty where there is none (an older run) or it is damaged."""
    try:
        found = json.loads((run / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_about(run: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write facts over those that are there, with this version of metrics; return all of them.

    Raises:
        CheckpointError: a newer Pixelis wrote the run's metrics.
        OutputError: the file cannot be written.
    """
    check_metrics_version(run)
    about = {**read_about(run), "metrics_version": METRICS_VERSION, **facts}
    with writing(run / ABOUT):
        write_atomically(run / ABOUT, json.dumps(about, indent=1) + "\n")
    return about


def check_metrics_version(run: Path) -> None:
    """Check that this code can read the metrics of a run; one that does not say is of an older version.

    Raises:
        CheckpointError: a newer Pixelis wrote them.
    """
    version = read_about(run).get("metrics_version", METRICS_VERSION)
    if not isinstance(version, int) or version > METRICS_VERSION:
        raise CheckpointError(
            f"the metrics of {str(run)!r} are of version {version!r}, and this Pixelis reads version "
            f"{METRICS_VERSION} and older; update Pixelis"
        )
