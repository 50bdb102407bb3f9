"""The table of runs: the settings that most failures come from, as they are in the run's file."""

from __future__ import annotations

from pixelis.monitor.panels.overview import settings_text


def test_settings_are_told_in_order_and_what_is_no_plain_value_is_left_out():
    settings = {"beta": 0.04, "lr": "auto", "difficulty": 4, "max_new_tokens": None, "groups": 8}
    assert settings_text(settings) == "difficulty 4, lr auto, beta 0.04"
    assert settings_text({}) == ""


def test_what_a_stranger_wrote_is_short_and_plain():
    told = settings_text({"lr": "\u202e" + "x" * 100})
    assert told.startswith("lr ⟨U+202E⟩") and len(told) <= 43
