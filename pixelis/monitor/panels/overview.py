"""The runs as a table: how each stands, and how well it does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pixelis.agents.episode_files.stored import finite
from pixelis.agents.runs.alarm_watch import is_told
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.panels.catalogue import alarms
from pixelis.monitor.reading.runs import FollowedRun

COLUMNS = {
    "run": "run",
    "state": "state",
    "step": "step",
    "success": "success (mean of 10)",
    "best": "its best",
    "evaluated": "evaluated",
    "env": "environment",
    "model": "model",
    "settings": "settings",
    "minutes": "minutes",
    "changed": "last step",
    "detail": "what happened",
}
"""Column → its title."""
SETTINGS = ("difficulty", "lr", "beta", "max_new_tokens")
"""Settings that the table tells: what most failures come from."""
_MOST_PROBLEMS = 4
SIGNS = {"training": "▶", "done": "✓", "stopped": "■", "failed": "✗", "killed": "☠", "unknown": "?"}


def overview_row(run: FollowedRun) -> dict[str, Any]:
    """Return a run as a row of the table."""
    last, settings = run.series.last, run.settings
    agent = settings.get("model") or settings.get("agent") or ""
    state = "gone" if run.is_gone else run.state.name
    details = [run.state.detail, *run.problems]
    if run.watch.found:
        details.append(f"alarms: {', '.join(dict.fromkeys(alarm.name for alarm in run.watch.found))}")
    if run.is_preview:
        details.append(f"a thousand of its rows are shown; {run.share_read:.0%} are read")
    steps = settings.get("steps")
    return {
        "key": run.key,
        "run": in_plain(run.key)[:200],
        "state": f"{SIGNS.get(state, '?')} {state}",
        "step": f"{step_text(last)}{f' / {steps}' if finite(steps) is not None else ''}",
        "success": _share(_first(last, "success/ma10", "evaluation/success")) + _tokens(last),
        "best": _share(best_success(run)),
        "evaluated": evaluated(run.evaluations),
        "env": _short(settings.get("env") or settings.get("env_id")),
        "model": _short(agent),
        "settings": settings_text(settings),
        "minutes": _minutes(finite(last.get("time/elapsed"))),
        "changed": _ago(run.changed),
        "detail": in_plain("; ".join(text for text in details if text))[:600],
    }


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the settings of `SETTINGS` that a run has, in words."""
    known = [name for name in SETTINGS if isinstance(settings.get(name), str | int | float)]
    return ", ".join(f"{name} {in_plain(str(settings[name]))[:40]}" for name in known)


def notes(run: FollowedRun) -> list[str]:
    """Return what of a run could not be read, and what is otherwise while some of its rows are shown."""
    told = [f"{in_plain(run.key)[:40]}: {problem}" for problem in run.problems[:_MOST_PROBLEMS]]
    return [*told, preview_text(run)] if run.is_preview else told


def preview_text(run: FollowedRun) -> str:
    """Return what is otherwise while a run is shown from some of its rows."""
    return (
        f"{in_plain(run.key)[:40]} is shown from {run.series.rows} of its rows until all are read "
        f"({run.share_read:.0%}): means are of so many of these rows, not of steps, and what is summed over "
        "steps (the axes episodes and tokens) is not known yet"
    )


def step_text(row: Mapping[str, Any]) -> str:
    """Return the step of a row of metrics in words, a dash where it has none."""
    step = finite(row.get("step"))
    return "–" if step is None else f"{step:.15g}"


def alarm_texts(run: FollowedRun) -> list[str]:
    """Return a line for each alarm of a run: since when, what was seen, what to do; the first one first."""
    name = in_plain(run.key)[:80]
    latest = {alarm.name: alarm for alarm in run.watch.found}
    own = [each for each in alarms(run.series.names) if not is_told(each, run.watch.found)]
    on = [each for each in own if run.series.last.get(each)]
    told = [f"⚠ {name}: {', '.join(map(in_plain, on))} is on in the last step"] if on else []
    for alarm in sorted(latest.values(), key=lambda alarm: alarm.row):
        when = f"row {alarm.row + 1}" if alarm.step is None else f"step {alarm.step}"
        is_on = alarm.name in run.watch.on and not run.is_preview  # as of the rows that have been judged
        still = ", still on" if is_on else ""
        told.append(f"⚠ {name}: {alarm.name} ({when}{still}): {alarm.seen}; {alarm.advice}")
    return told


def best_success(run: FollowedRun) -> float | None:
    """Return the best evaluation in training, else the best mean of ten steps."""
    for name in ("evaluation/success", "success/ma10"):
        if (found := run.series.best(name)) is not None:
            return found
    return None


def evaluated(evaluations: Mapping[str, Any]) -> str:
    """Return the success before and after training, as far as it was measured, by mode."""
    found: dict[str, list[str]] = {}
    for phase in ("before", "after"):
        rows = evaluations.get(phase)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and finite(row.get("success_rate")) is not None:
                found.setdefault(_short(row.get("mode"), 20), []).append(f"{row['success_rate']:.3f}")
    return ", ".join(f"{mode} {' → '.join(values)}" for mode, values in found.items())


def _short(value: Any, most: int = 80) -> str:
    """Return a text or a number of at most so many signs; nothing for what is neither."""
    return in_plain(f"{value}"[:most])[:most] if isinstance(value, str | int | float) else ""


def _first(row: Mapping[str, Any], *names: str) -> float | None:
    return next((found for name in names if (found := finite(row.get(name))) is not None), None)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _tokens(row: Mapping[str, Any]) -> str:
    """Return the share of held-out tokens that are said right, which is no success, in words."""
    found = finite(row.get("held_out/accuracy"))
    return "" if found is None else f", held-out tokens {found:.3f}"


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.1f}"


def _ago(when: float | None) -> str:
    if when is None:
        return "–"
    seconds = max(time.time() - when, 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
