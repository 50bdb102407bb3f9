"""What a chart is made of: numbers and names of runs are values, never keys."""

from __future__ import annotations

from typing import Any

import pytest

from pixelis.agents.runs.alarm_watch import Alarm
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.panels.catalogue import TABS, alarms, chosen, level_kinds
from pixelis.monitor.panels.charts import (
    Drawn,
    alarm_marks,
    changes,
    curves,
    histogram,
    level_map,
    map_table,
    scatter,
    short_labels,
    stack,
    table,
)
from pixelis.monitor.reading.series import RunSeries

BAD = ":alert(1)"


@pytest.fixture
def series() -> RunSeries:
    found = RunSeries()
    rows = [
        {"step": step, "a": step / 10, BAD: -1.0, "levels/b=10/success": 0.5, "levels/b=9/success": 1.0}
        | {f"levels/{BAD}/success": 0.0, "policy/entropy_alarm": int(step in (3, 4, 8))}
        for step in range(1, 11)
    ]
    found.add(rows)
    return found


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in keys(each)}
    return {key for each in value for key in keys(each)} if isinstance(value, list) else set()


def test_no_name_of_a_run_is_a_key(series: RunSeries):
    """NiceGUI runs what stands behind a key that begins with a colon."""
    drawn = [Drawn(BAD, series.line(BAD), "#000"), Drawn("b", series.line("a"), "#111")]
    every = [
        curves(drawn, "step", True, [(3.0, BAD, "#123")]),
        stack(drawn, "step"),
        level_map(series),
        scatter([(BAD, "#000", [(1.0, 2.0)])], "minutes"),
        histogram([1.0]),
    ]
    assert {key for options in every for key in keys(options) if key.startswith(":")} == {":formatter"}
    assert not {key for options in every for key in keys(changes(options or {})) if key.startswith(":")}


def test_the_band_lies_around_the_mean_and_not_below_what_can_be(series: RunSeries):
    low, width, _, mean = curves([Drawn("a", series.line("a", window=2), "#000")], "step")["series"]
    assert [point[1] for point in mean["data"]][:2] == [0.1, 0.15]
    assert low["data"][1][1] == pytest.approx(0.052, abs=1e-3)
    assert width["data"][1][1] == pytest.approx(2 * 0.098, abs=1e-3)
    assert min(point[1] for point in low["data"]) >= 0


def test_a_refresh_sends_data_alone(series: RunSeries):
    options = curves([Drawn("a", series.line("a"), "#000")], "step")
    assert set(changes(options)) == {"series", "legend"}
    assert set(changes(level_map(series) or {})) == {"series", "visualMap", "xAxis", "yAxis"}


def test_alarms_are_marked_where_they_come_on(series: RunSeries):
    own = [(3.0, "policy/entropy_alarm"), (8.0, "policy/entropy_alarm")]
    assert alarm_marks(series, [], "step") == own
    found = [Alarm("success fell", "success/rate", row, None, "") for row in (4, 10_000)]
    assert alarm_marks(series, found, "step") == [(5.0, "success fell"), *own]
    told = [Alarm("entropy falls", "policy/entropy", row, None, "") for row in (2, 7)]  # nothing twice
    assert alarm_marks(series, told, "step") == [(3.0, "entropy falls"), (8.0, "entropy falls")]
    both = [*told, Alarm("KL is large", "policy/kl_reference", 2, None, "")]  # at one place: one line
    assert alarm_marks(series, both, "step")[0] == (3.0, "entropy falls, KL is large")
    assert alarm_marks(series, both, "step", ["policy/kl_reference"]) == [(3.0, "KL is large")]
    assert (
        alarm_marks(series, both, "step", ["reward/mean"]) == []
    )  # nor by the metric that they are told for
    assert len(alarm_marks(series, both, "step", ["reward/mean", "success/rate"])) == 2
    assert alarms(["levels/alert", "watch/alarm", "policy/entropy", "alarming/x"]) == [
        "levels/alert",
        "watch/alarm",
    ]


def test_where_reward_and_watched_scores_part_is_marked_on_both(series: RunSeries):
    found = [Alarm("reward and watched scores part", "watch/alarm", 4, 5, "")]
    marked = [(5.0, "reward and watched scores part")]
    for shown in ("watch/unpaid", "reward/mean", "success/rate"):
        assert marked[0] in alarm_marks(series, found, "step", [shown]), shown
    assert marked[0] not in alarm_marks(series, found, "step", ["reward/std"])
    assert marked[0] not in alarm_marks(series, found[:0], "step", ["reward/mean"])


def test_the_map_of_levels_lies_on_the_axis_that_is_asked_for():
    series = RunSeries()
    levels = {"levels/a/success": 0.5}
    series.add([{"step": n, "time/elapsed": 90 * n, **levels} for n in (1, 2)] + [{"step": 3, **levels}])
    options = level_map(series, "success", "minutes") or {}
    assert options["xAxis"]["name"] == "minutes" and options["xAxis"]["data"] == ["1.5", "3", "?"]
    assert [row["minutes"] for row in map_table("run", series, "success", "minutes")] == [1.5, 3.0, None]
    assert [row["step"] for row in map_table("run", series, "success")] == [1.0, 2.0, 3.0]


def test_levels_are_in_order_and_what_is_half_solved_can_be_learnt_most(series: RunSeries):
    assert level_kinds(series.names) == [BAD, "b=9", "b=10"]
    cells = (level_map(series, "learnability") or {})["series"][0]["data"]
    assert {tuple(cell["value"][1:]) for cell in cells} == {(0, 0.0), (1, 0.0), (2, 0.25)}
    assert {(cell["name"], cell["value"][1]) for cell in cells} == {
        (in_plain(BAD)[:60], 0),
        ("b=9", 1),
        ("b=10", 2),
    }
    assert level_map(RunSeries()) is None
    rows = map_table("run", series, "learnability")
    assert {(row["level"], row["value"]) for row in rows} == {
        (in_plain(BAD)[:60], 0.0),
        ("b=9", 0.0),
        ("b=10", 0.25),
    }
    assert (
        all(row["run"] == "run" and row["step"] > 0 for row in rows)
        and map_table("x", RunSeries(), "success") == []
    )


def test_charts_choose_by_pattern():
    reward = {chart.title: chart for chart in TABS["Reward"]}
    names = [
        "reward_parts/task/weighted",
        "reward_parts/task/raw",
        "reward_parts/a/b/weighted",
        "watch/alarm",
    ]
    assert chosen(reward["Paid by component (weighted)"], names) == names[:1]
    assert chosen(reward["Watched, not paid"], names) == []


def test_labels_lose_what_all_have():
    assert short_labels(["tools/A/calls", "tools/B/calls"]) == ["A", "B"]
    assert short_labels(["turns/mean"]) == ["turns/mean"]
    assert short_labels(["a/x", "b/x", "b/y"]) == ["a/x", "b/x", "b/y"]


def test_the_table_has_the_bounds(series: RunSeries):
    rows = table([("run", "a", series.line("a", window=2))])
    assert len(rows) == 10
    assert rows[1]["mean"] == pytest.approx(0.15)
    assert rows[1]["low"] < rows[1]["mean"] < rows[1]["high"]
