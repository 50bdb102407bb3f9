"""An episode of a `RecordTrajectory` recording as a `StoredEpisode`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelis.agents.episode_files.stored import (
    StoredEpisode,
    StoredTurn,
    episode_of_row,
    finite,
    picture_of,
)
from pixelis.errors import RecordingError
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.wrappers.recording.trajectory import Trajectory, parse_line
from pixelis.wrappers.recording.values import decode


def episode_of_line(line: bytes, path: Path, number: int) -> StoredEpisode:
    """Return the episode of a recording's line.

    Raises:
        RecordingError: the line is damaged, or of another version.
    """
    trajectory = parse_line(line, path, number)
    try:
        return _episode(trajectory, path, number)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{path}, line {number} is damaged: {error}") from error


def _episode(trajectory: Trajectory, path: Path, number: int) -> StoredEpisode:
    rows = [trajectory.start.row, *(step.row for step in trajectory.steps)]
    calls = [_calls(row) for row in rows]
    turns = tuple(
        StoredTurn(_as_text(step.action), _heard(row), calls[place], finite(step.row["reward"]))
        for place, (step, row) in enumerate(zip(trajectory.steps, rows[1:], strict=True), start=1)
    )
    last = rows[-1]["info"]
    summary = {
        "success": trajectory.success,
        "reward": trajectory.total_reward,
        "truncated": bool(rows[-1].get("truncated")),
        "task": trajectory.start.row["info"].get("task"),
        "failure_reason": None if last.get("valid_for_training", True) else last.get("failure_reason"),
        "seed": trajectory.start.seed,
        "env_id": trajectory.env.get("id"),
        "tool_calls": [dict(call) for each in calls for call in each],
        "reward_terms": _summed(rows),
        "visual_tools": _visual_tools(trajectory.env.get("traits")),
    }
    known = episode_of_row(summary, path, number)
    kwargs, options = decode(trajectory.env.get("kwargs", {})), decode(trajectory.start.options)
    return StoredEpisode(
        **{
            **vars(known),
            "turns": turns,
            "turn_count": len(turns),
            "asked": _heard(rows[0]),
            "options": options or {},
            "env_kwargs": {name: value for name, value in kwargs.items() if name != "render_mode"},
            "pictures": tuple(_picture(row) for row in rows),
        }
    )


def _as_text(action: Any) -> str:
    return action if isinstance(action, str) else str(decode(action))


def _heard(row: Mapping[str, Any]) -> str | None:
    seen = row.get("observation")
    text = seen.get("text") if isinstance(seen, dict) else None
    return text if isinstance(text, str) else None


def _picture(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    seen = row.get("observation")
    return picture_of(seen.get("image")) if isinstance(seen, dict) else None


def _calls(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    calls = row["info"].get("tool_calls")
    return tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()


def _summed(rows: list[Mapping[str, Any]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        terms = row["info"].get("reward_terms")
        for name, value in (terms if isinstance(terms, dict) else {}).items():
            total[name] = total.get(name, 0.0) + (finite(value) or 0.0)
    return total


def _visual_tools(recorded: Any) -> list[str] | None:
    """Return the tools that look at pixels, as the env declared them; None where it declared none."""
    traits = RewardTraits.from_json(recorded)
    return None if traits.tools is None else sorted(traits.visual)
