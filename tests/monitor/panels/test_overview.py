"""The table of runs: the settings that most failures come from, as they are in the run's file."""

from __future__ import annotations

from pathlib import Path

from pixelis.monitor.panels.overview import alarm_texts, notes, overview_row, preview_text, settings_text
from pixelis.monitor.reading.folders import Root
from pixelis.monitor.reading.runs import FollowedRun


def test_settings_are_told_in_order_and_what_is_no_plain_value_is_left_out():
    settings = {"beta": 0.04, "lr": "auto", "difficulty": 4, "max_new_tokens": None, "groups": 8}
    assert settings_text(settings) == "difficulty 4, lr auto, beta 0.04"
    assert settings_text({}) == ""


def test_what_a_stranger_wrote_is_short_and_plain():
    told = settings_text({"lr": "\u202e" + "x" * 100})
    assert told.startswith("lr ⟨U+202E⟩") and len(told) <= 43


def test_an_alarm_is_not_still_on_while_later_rows_are_not_read(tmp_path: Path):
    run = FollowedRun("run", Root(tmp_path), ())
    for step in range(1, 40):
        run.watch.note({"step": step, "success/rate": (0.2, 0.9, 0.3)[step // 16]})
    (told,) = alarm_texts(run)
    assert "success fell (step 35, still on)" in told
    run.is_preview = True
    (told,) = alarm_texts(run)
    assert "success fell (step 35)" in told


def test_a_share_of_tokens_is_no_success(tmp_path: Path):
    run = FollowedRun("sft", Root(tmp_path), ())
    run.series.add([{"step": 1, "held_out/accuracy": 0.9676}])
    row = overview_row(run)
    assert (row["success"], row["best"]) == ("–, held-out tokens 0.968", "–")
    run.series.add([{"step": 2, "success/ma10": 0.25}, {"step": 3, "success/ma10": 0.2}])
    assert [overview_row(run)[name] for name in ("success", "best")] == ["0.200", "0.250"]


def test_what_could_not_be_read_is_noted_in_few_lines(tmp_path: Path):
    run = FollowedRun("run", Root(tmp_path), (), problems=tuple("abcdef"))
    assert notes(run) == ["run: a", "run: b", "run: c", "run: d"]
    run.is_preview = True
    assert len(notes(run)) == 5 and "is shown from 0 of its rows" in notes(run)[-1]


def test_a_run_that_is_shown_from_some_rows_says_what_is_otherwise(tmp_path: Path):
    run = FollowedRun("\u202erun", Root(tmp_path), (), is_preview=True)
    run.series.add([{"step": 1}, {"step": 500}])
    told = preview_text(run)
    assert told.startswith("⟨U+202E⟩run is shown from 2 of its rows") and "(0%)" in told
    assert "not of steps" in told and "episodes and tokens" in told
